import BridgeCore
import EventLoop
import TestSupport
import Testing

@testable import Daemon
@testable import Kafka

@Suite("What a one-shot command asks Kafka", .serialized, .ownThreads)
struct OneShotTests {
    private func positions(
        of partitions: [TopicPartition], in cluster: MockClusterProcess, patience: Duration
    ) throws -> [TopicPartition: PartitionPositions] {
        let consumer = try Consumer(brokers: cluster.bootstrap, group: "g", topics: [])
        defer { consumer.close(within: .seconds(1)) }
        let questions = KafkaQuestions(
            consumer: consumer, signals: try SignalDescriptor([.user2]), patience: patience)
        return try questions.positions(of: partitions)
    }

    @Test("Questions about many partitions may take longer than one answer may")
    func many() throws {
        let cluster = try mock("t:24")
        // 24 answers, one after the other: five seconds.
        try cluster.send("rtt -1 200")
        let partitions = (0..<24).map { TopicPartition("t", $0) }
        let found = try positions(of: partitions, in: cluster, patience: .seconds(2))
        #expect(found.count == 24 && found.values.allSatisfy { $0.high == 0 })
    }

    @Test("Whoever asks one thing over and over, and is refused, gives up")
    func refused() throws {
        let cluster = try mock("t:3", "u:1")
        try cluster.send("topic-error u 29")
        let partitions = (0..<3).map { TopicPartition("t", $0) } + [TopicPartition("u", 0)]
        let began = ContinuousClock.now
        #expect {
            try positions(of: partitions, in: cluster, patience: .seconds(2))
        } throws: { error in
            (error as? OneShotFailure)?.kind == .unreachable
                && "\(error)".contains("u/0")
        }
        #expect(ContinuousClock.now - began < .seconds(20))
    }
}
