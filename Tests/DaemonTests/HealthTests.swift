import BridgeCore
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
}
