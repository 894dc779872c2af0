import BridgeCore
import Kafka
import Testing

@testable import Daemon

@Suite("Why a bridge is not ready, Kafka's side") struct HealthTests {
    private let now = Moment(monotonic: 0, wall: 0)

    @Test("Topics of mappings must exist, the one of dead letters only once there is one")
    func missing() {
        var health = Health()
        #expect(health.reasons(at: now, deadLetters: 0).count == 1, "not joined")
        health.isJoined = true
        health.missingDeadLetterTopic = "dead"
        #expect(health.reasons(at: now, deadLetters: 0) == [])
        #expect(
            health.reasons(at: now, deadLetters: 1)
                == ["the dead-letter topic does not exist: dead"])
        health.missingTopics = ["a", "b"]
        #expect(
            health.reasons(at: now, deadLetters: 0) == ["topics that do not exist: a, b"])
    }

    @Test("The group owes an assignment while one of the topics exists")
    func group() {
        var health = Health()
        #expect(health.awaitsGroup(topics: ["a", "b"]))
        health.missingTopics = ["a"]
        #expect(health.awaitsGroup(topics: ["a", "b"]))
        health.missingTopics = ["a", "b"]
        #expect(!health.awaitsGroup(topics: ["a", "b"]))
        (health.missingTopics, health.isJoined) = ([], true)
        #expect(!health.awaitsGroup(topics: ["a", "b"]))
    }

    private func error(_ code: String, _ action: KafkaError.Action = .note) -> KafkaError {
        KafkaError(code: code, text: "text", action: action)
    }

    private func at(_ seconds: Int64) -> Moment {
        Moment(monotonic: seconds * 1_000_000_000, wall: 0)
    }

    private func joined() -> Health {
        var health = Health()
        health.isJoined = true
        return health
    }

    /// Each kind of failure, and what does not heal it.
    private static let allKinds: [Health.Kind] = [
        .group, .topics, .positions, .commits, .topic("t"), .fetch(TopicPartition("t", 0)),
    ]

    @Test("A failure lasts until the same succeeds, whatever else does", arguments: allKinds)
    func lasting(_ kind: Health.Kind) {
        var health = joined()
        health.kafkaFailed(error("X"), kind, at: at(0))
        for second in 1..<15 as Range<Int64> {
            for other in Self.allKinds + [.connection] where other != kind {
                health.kafkaWorks(other)
            }
            health.kafkaFailed(error("Y"), kind, at: at(second))
            #expect(health.reasons(at: at(second), deadLetters: 0) == [])
        }
        let reasons = health.reasons(at: at(15), deadLetters: 0)
        #expect(reasons.count == 1 && reasons[0].hasPrefix("Kafka: "), "\(reasons)")
        health.kafkaWorks(kind)
        #expect(health.reasons(at: at(15), deadLetters: 0) == [])
    }

    @Test("Any answer says that there is a connection; access rights matter at once")
    func connection() {
        for kind in Self.allKinds {
            var health = joined()
            health.kafkaWorks(kind)
            health.kafkaFailed(error("_TRANSPORT"), .connection, at: at(0))
            #expect(!health.isKafkaWell)
            #expect(health.reasons(at: at(15), deadLetters: 0) == ["Kafka: text (_TRANSPORT)"])
            health.kafkaWorks(kind)
            #expect(health.isKafkaWell)
            #expect(health.reasons(at: at(15), deadLetters: 0) == [])
            health.kafkaFailed(error("X", .alarm), .commits, at: at(1))
            #expect(
                health.reasons(at: at(1), deadLetters: 0) == ["Kafka: commits fail: text (X)"])
            // Who refuses access answers.
            #expect(health.isKafkaWell)
        }
    }

    @Test("What an error is about that comes by itself")
    func kinds() {
        var of = error("TOPIC_AUTHORIZATION_FAILED", .alarm)
        #expect(Health.Kind(of) == .connection)
        of.partition = TopicPartition("t", -1)
        #expect(Health.Kind(of) == .topic("t"))
        of.partition = TopicPartition("t", 3)
        #expect(Health.Kind(of) == .fetch(TopicPartition("t", 3)))
        #expect(Health.Kind(error("GROUP_AUTHORIZATION_FAILED", .alarm)) == .group)
        #expect(Health.Kind(error("_ALL_BROKERS_DOWN")) == .connection)
    }
}
