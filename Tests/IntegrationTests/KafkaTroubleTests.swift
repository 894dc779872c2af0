import BridgeCore
import EventLoop
import Kafka
import Oracle
import TestSupport
import Testing

@Suite("A bridge and a Kafka that is out of reach in part", .serialized, .ownThreads)
struct KafkaTroubleTests {
    private let cluster: MockClusterProcess
    private let world: World

    init() throws {
        cluster = try mock()
        world = try World(partitions: 2, on: .mock(cluster))
    }

    private func append(
        _ conversation: String, partition: Int32, waits: Bool = true
    ) throws {
        let value = """
            {"conversation_id":"\(conversation)","message_sequence":1,"run_id":"r",\
            "chunk_index":0,"content":"c","timestamp":"2026-11-01T00:00:00Z"}
            """
        try world.log.append(
            LogRecord.chunks, partition: partition, key: Array(conversation.utf8),
            value: Array(value.utf8))
        try world.log.flush()
        if waits { try world.waitUntilDrained() }
    }

    private func isStalled(_ conversation: String) throws -> Bool {
        let meta = try world.tree.node()?["streaming"]?[conversation]?["1"]?["meta"]
        return meta?["error_message"] == .text("stalled")
    }

    @Test("A run is not called stalled while the leader of its partition is gone")
    func stall() throws {
        let bridge = try world.startBridge(
            world.settings { $0.streams = ["keep: 0", "stall_after: 6s"] })
        try bridge.waitUntilReady()
        try append("hidden", partition: 0)
        try cluster.send("leader \(world.log.topic(LogRecord.chunks)) 0 -1")
        // Three that fall silent after it, one after the other, are called stalled before it.
        for (number, name) in ["first", "second", "third"].enumerated() {
            try append(name, partition: 1, waits: false)
            try eventually("the \(name) is stalled", details: { bridge.child.tail }) {
                try isStalled(name)
            }
            #expect(try !isStalled("hidden"))
            #expect(
                bridge.metrics.sum("firebridge_streams_stalled_total") == Double(number + 1))
        }
        #expect(bridge.isReady)
        try cluster.send("leader \(world.log.topic(LogRecord.chunks)) 0 1")
        try eventually("what is silent is stalled", details: { bridge.child.tail }) {
            try isStalled("hidden")
        }
        #expect(try bridge.stop() == .code(0))
    }

    /// The next requests of a kind are refused, so many that `clear` ends it.
    private func refuse(_ apiKey: Int, _ code: Int) throws {
        let codes = Array(repeating: "\(code)", count: 2000).joined(separator: " ")
        try cluster.send("errors \(apiKey) \(codes)")
    }

    @Test("Not ready for as long as a topic may not be read, although it may be described")
    func readRevoked() throws {
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        try refuse(1, 29)
        try bridge.waitUntilNotReady("TOPIC_AUTHORIZATION_FAILED")
        // Meanwhile questions about topics are answered, every ten seconds.
        let deadline = ContinuousClock.now + .seconds(12)
        while ContinuousClock.now < deadline {
            let reasons = try #require(bridge.notReady)
            try #require(reasons.contains { $0.contains("TOPIC_AUTHORIZATION_FAILED") })
            pause(.milliseconds(100))
        }
        try cluster.send("clear 1")
        try bridge.waitUntilReady()
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A partition of which no record may be read tells all the same how far it is behind")
    func lagUnread() throws {
        for _ in 0..<3 { try append("a", partition: 0, waits: false) }
        try refuse(1, 29)
        let bridge = try world.startBridge()
        let zero = TopicPartition(world.log.topic(LogRecord.chunks), 0)
        try eventually(
            "its lag is told", within: .seconds(30), details: { bridge.child.tail }
        ) { bridge.lag(of: zero) == 3 }
        try cluster.send("clear 1")
        try world.waitUntilDrained()
        #expect(bridge.lag(of: zero) == 0)
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Not ready while commits are refused")
    func commitsRefused() throws {
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        try refuse(8, 30)
        try append("a", partition: 0, waits: false)
        try bridge.waitUntilNotReady("commits fail: ")
        try cluster.send("clear 8")
        try world.waitUntilDrained()
        try bridge.waitUntilReady()
        #expect(try bridge.stop() == .code(0))
    }

    /// How a broker goes, and comes back.
    enum Outage: CaseIterable { case silent, refusing }

    @Test("Not ready while the broker is away, and ready again with it", arguments: Outage.allCases)
    func brokerAway(_ outage: Outage) throws {
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        try append("before", partition: 0)
        switch outage {
        case .silent: cluster.freeze()
        case .refusing: try cluster.send("down -1")
        }
        // A session is six seconds here, and an error may last for fifteen.
        try eventually(
            "it is not ready and says why", within: .seconds(21), details: { bridge.child.tail }
        ) {
            bridge.notReady?.contains {
                $0 == "the consumer group is not joined yet" || $0.hasPrefix("Kafka: ")
            } ?? false
        }
        #expect(bridge.page("/readyz")?.status == 503)
        #expect(bridge.page("/healthz")?.status == 200)
        switch outage {
        case .silent: cluster.thaw()
        case .refusing: try cluster.send("up -1")
        }
        try bridge.waitUntilReady()
        try append("after", partition: 0)
        #expect(try bridge.stop() == .code(0))
    }

    private func spoil(_ text: String) throws {
        try world.log.append(
            LogRecord.chunks, partition: 0, key: [1], value: Array(text.utf8))
        try world.log.flush()
    }

    private func waitForLetter(_ bridge: BridgeProcess) throws {
        try eventually("the dead letter is there", details: { bridge.child.tail }) {
            bridge.metrics.sum("firebridge_dead_letters_total") == 1
        }
        try world.waitUntilDrained()
        try eventually("nothing is left of it", details: { bridge.child.tail }) {
            bridge.isReady
        }
    }

    @Test("A dead-letter producer that died gives way to another")
    func deadProducer() throws {
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        try append("a", partition: 0)
        // Who may not write idempotently gets no producer id, and librdkafka's handle dies of it.
        try cluster.send("errors 22 31")
        try spoil("no JSON")
        try waitForLetter(bridge)
        #expect(bridge.child.says("\"event\":\"dead_letter_failed\""))
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Dead letters without a leader make not ready, hold the commit, and go when it is back")
    func deadLettersStuck() throws {
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        for partition in 0..<4 {
            try cluster.send("leader \(world.log.topic("dead-letters")) \(partition) -1")
        }
        try spoil("no JSON")
        try append("a", partition: 0, waits: false)
        // Without a limit of ours librdkafka waits for five minutes.
        try bridge.waitUntilNotReady("dead letters cannot be appended: ")
        #expect(bridge.child.says("\"event\":\"dead_letter_failed\""))
        // What lies behind it is written, and not committed.
        #expect(try world.tree.node("streaming/a/1/chunks")?.children.count == 1)
        let zero = TopicPartition(world.log.topic(LogRecord.chunks), 0)
        #expect(try world.offsets().positions()[zero]?.committed ?? 0 == 0)
        for partition in 0..<4 {
            try cluster.send("leader \(world.log.topic("dead-letters")) \(partition) 1")
        }
        try waitForLetter(bridge)
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A dead letter that no segment holds goes without its value")
    func recordListTooLarge() throws {
        try spoil("no JSON")
        // From now on the bridge alone produces.
        try cluster.send("errors 0 18")
        let bridge = try world.startBridge()
        try waitForLetter(bridge)
        #expect(!bridge.child.says("\"event\":\"dead_letter_failed\""))
        #expect(try bridge.stop() == .code(0))
    }

    @Test("After a reload no series tells of partitions and lanes that are gone")
    func series() throws {
        var settings = world.settings { $0.delivery = ["lanes: 4"] }
        let bridge = try world.startBridge(settings)
        func counts() -> [Int] {
            let metrics = bridge.metrics
            return ["lag_records", "lag_seconds", "unsettled_seconds"].map {
                metrics.samples("firebridge_" + $0).count
            }
        }
        try eventually("all partitions, all lanes", details: { bridge.child.tail }) {
            counts() == [6, 6, 4]
        }
        settings.delivery = ["lanes: 2"]
        settings.mappings = """
              - topic: \(world.log.topic(LogRecord.chunks))
                as: chunk
                node: streaming/{conversation_id}/{message_sequence}
            """
        try bridge.reload(settings.yaml)
        try eventually("one topic, two lanes", details: { bridge.child.tail }) {
            counts() == [2, 2, 2]
        }
        #expect(try bridge.stop() == .code(0))
    }
}
