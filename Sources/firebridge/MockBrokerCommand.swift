internal import Kafka

/// The demo's broker: librdkafka's mock cluster, in a process of its own, driven by lines.
enum MockBrokerCommand {
    static let name = "mock-broker"

    static func run() -> Int32 {
        ExitCode.ok
    }
}
