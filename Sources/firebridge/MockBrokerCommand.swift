internal import Demo
internal import Kafka

/// The demo's broker: librdkafka's mock cluster, in a process of its own, driven by lines.
enum MockBrokerCommand {
    static let name = DemoBroker.command

    static func run() -> Int32 {
        do throws(KafkaError) {
            try MockCluster.serve(brokers: 1, topics: DemoBroker.topics)
            return ExitCode.ok
        } catch {
            return Output.fail("\(name): \(error)", code: ExitCode.unreachable)
        }
    }
}
