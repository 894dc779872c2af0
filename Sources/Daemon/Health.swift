internal import BridgeCore
internal import Kafka

/// What the shell knows of its own health beside the core's report.
struct Health {
    /// The group has given an assignment, be it an empty one.
    var isJoined = false
    var missingTopics: [String] = []
    /// The topic of dead letters, where it does not exist: of no account until there is one.
    var missingDeadLetterTopic: String?
    /// Partitions that Kafka's client cannot read on.
    var halted: [TopicPartition: String] = [:]
    /// The last failure since Kafka last answered.
    private var kafkaError: String?
    private var hasAnswered = false
    private var failingSince: Int64?

    /// A failure that lasts so long makes the bridge not ready, in nanoseconds.
    private static let patience: Int64 = 15_000_000_000

    /// Kafka has answered, and nothing has failed since.
    var isKafkaWell: Bool { hasAnswered && kafkaError == nil }

    mutating func kafkaWorks() {
        hasAnswered = true
        kafkaError = nil
        failingSince = nil
    }

    mutating func kafkaFailed(_ error: KafkaError, at now: Moment) {
        kafkaError = error.description
        if failingSince == nil { failingSince = now.monotonic }
        if error.action == .alarm { failingSince = now.monotonic - Self.patience }
    }

    /// Why the bridge is not ready, Kafka's side.
    ///
    /// - Parameter deadLetters: how many wait to be acknowledged.
    func reasons(at now: Moment, deadLetters: Int) -> [String] {
        var reasons: [String] = []
        if deadLetters > 0, let topic = missingDeadLetterTopic {
            reasons.append("the dead-letter topic does not exist: \(topic)")
        }
        if !isJoined { reasons.append("the consumer group is not joined yet") }
        if !missingTopics.isEmpty {
            reasons.append("topics that do not exist: " + missingTopics.joined(separator: ", "))
        }
        for (_, reason) in halted.sorted(by: { $0.key < $1.key }) {
            reasons.append("halted: \(reason)")
        }
        if let kafkaError, let since = failingSince, now.monotonic - since >= Self.patience {
            reasons.append("Kafka: \(kafkaError)")
        }
        return reasons
    }
}
