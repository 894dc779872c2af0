import Kafka

/// A mock cluster in a process of its own, for tests: `mock-broker BROKERS [TOPIC:PARTITIONS]...`.
@main
struct Main {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let topics = arguments.dropFirst().map { argument in
            let parts = argument.split(separator: ":")
            return (name: String(parts[0]), partitions: Int(parts[1]) ?? 1)
        }
        try MockCluster.serve(brokers: arguments.first.flatMap { Int($0) } ?? 1, topics: topics)
    }
}
