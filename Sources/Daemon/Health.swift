internal import BridgeCore
internal import Kafka

/// What the shell knows of its own health beside the core's report.
struct Health {
    /// What can fail by itself. Only a success of the same kind says that it has passed: who may no
    /// longer read a topic may still ask about it.
    enum Kind: Hashable, Comparable {
        /// Any answer at all.
        case connection
        case group
        case topics
        case positions
        case commits
        case topic(String)
        case fetch(TopicPartition)
    }

    /// A failure that has not passed.
    private struct Failure {
        var text: String
        var since: Int64
    }

    /// The group has given an assignment, be it an empty one.
    var isJoined = false
    var missingTopics: [String] = []
    /// The topic of dead letters, where it does not exist: of no account until there is one.
    var missingDeadLetterTopic: String?
    /// Partitions that Kafka's client cannot read on.
    var halted: [TopicPartition: String] = [:]
    private var failures: [Kind: Failure] = [:]
    private var hasAnswered = false

    /// A failure that lasts so long makes the bridge not ready, in nanoseconds.
    private static let patience: Int64 = 15_000_000_000

    /// Kafka has answered, and answers still. Access that it refuses is an answer.
    var isKafkaWell: Bool {
        hasAnswered && failures[.connection] == nil && failures[.topics] == nil
    }

    /// Whether the group owes an assignment: where none of the topics exists there is none to give.
    func awaitsGroup(topics: [String]) -> Bool {
        !isJoined && !topics.allSatisfy(missingTopics.contains)
    }

    /// Partitions whose fetches failed, and nothing has come since.
    var unfetched: [TopicPartition] {
        failures.keys.compactMap { if case .fetch(let partition) = $0 { partition } else { nil } }
    }

    /// Kafka has done what was asked for.
    mutating func kafkaWorks(_ kind: Kind) {
        hasAnswered = true
        failures[.connection] = nil
        failures[kind] = nil
    }

    /// What failed is not asked for any more.
    mutating func forget(_ kind: Kind) { failures[kind] = nil }

    mutating func kafkaFailed(_ error: KafkaError, _ kind: Kind, at now: Moment) {
        var since = failures[kind]?.since ?? now.monotonic
        if error.action == .alarm { since = min(since, now.monotonic - Self.patience) }
        failures[kind] = Failure(text: error.description, since: since)
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
        for (kind, failure) in failures.sorted(by: { $0.key < $1.key })
        where now.monotonic - failure.since >= Self.patience {
            reasons.append("Kafka: \(kind == .commits ? "commits fail: " : "")\(failure.text)")
        }
        return reasons
    }
}

extension Health.Kind {
    /// What an error is about that came by itself.
    init(_ error: KafkaError) {
        if let place = error.partition {
            // Of a topic that was subscribed to no partition is known.
            self = place.partition < 0 ? .topic(place.topic) : .fetch(place)
        } else {
            self = error.isOfGroup ? .group : .connection
        }
    }
}
