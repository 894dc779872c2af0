internal import Demo
internal import Kafka

/// The demo's broker: librdkafka's mock cluster, in a process of its own, driven by lines. With
/// arguments one of `make chaos`: so many brokers, and topics as `NAME:PARTITIONS`.
enum MockBrokerCommand {
    static let name = DemoBroker.command

    static func run(_ arguments: [String]) -> Int32 {
        let topics = arguments.dropFirst().map { argument in
            let parts = argument.split(separator: ":")
            return (name: String(parts[0]), partitions: Int(parts.last ?? "") ?? 1)
        }
        do throws(KafkaError) {
            try MockCluster.serve(
                brokers: arguments.first.flatMap { Int($0) } ?? 1,
                topics: arguments.isEmpty ? DemoBroker.topics : topics)
            return ExitCode.ok
        } catch {
            return Output.fail("\(name): \(error)", code: ExitCode.unreachable)
        }
    }
}
