import BridgeCore
import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("Odd records among good ones", .serialized, .ownThreads)
struct RejectionTests {
    private static let headers = [
        Header(name: "trace", value: [0, 255, 10]), Header(name: "trace", value: nil),
        Header(name: "firebridge.note", value: Array("mine".utf8)),
    ]

    private func goodChunk(_ index: Int) -> [UInt8] {
        Array(
            """
            {"conversation_id":"good","message_sequence":1,"run_id":"r","chunk_index":\(index),\
            "content":"\(index)","timestamp":"2026-11-01T00:00:00Z"}
            """.utf8)
    }

    @Test("Each odd record meets its verdict, and every good one is in the tree")
    func verdicts() throws {
        let world = try World()
        #expect(OddRecord.all.count > 100)
        let bridge = try world.startBridge()
        for (index, odd) in OddRecord.all.enumerated() {
            try world.log.append(
                odd.topic, partition: 0, key: odd.key, value: odd.value, headers: Self.headers,
                timestamp: 1_793_491_200_000 + Int64(index))
            try world.log.append(
                LogRecord.chunks, partition: 0, key: Array("good".utf8), value: goodChunk(index),
                timestamp: 1_793_491_200_000)
        }
        try world.log.flush()
        try world.waitUntilDrained()
        let tree = try #require(try world.tree.node())
        checkTree(tree)
        try checkLetters(in: world)
        let metrics = bridge.metrics
        for (reason, odd) in rejected() {
            for topic in World.defaults {
                let count = odd.count { $0.topic == topic }
                let found = metrics.sum(
                    "firebridge_records_rejected_total", "topic=\"\(world.log.topic(topic))\"",
                    "reason=\"\(reason.rawValue)\"")
                #expect(found == Double(count), "\(topic), \(reason)")
            }
            let letters = metrics.sum(
                "firebridge_dead_letters_total", "reason=\"\(reason.rawValue)\"")
            #expect(letters == Double(odd.count), "\(reason)")
        }
        #expect(bridge.isReady)
        #expect(try bridge.stop() == .code(0))
    }

    private func rejected() -> [Rejection.Reason: [OddRecord]] {
        var found: [Rejection.Reason: [OddRecord]] = [:]
        for odd in OddRecord.all {
            if case .rejected(let reason) = odd.verdict { found[reason, default: []].append(odd) }
        }
        return found
    }

    private func checkTree(_ tree: Node) {
        for index in OddRecord.all.indices {
            let path = ["streaming", "good", "1", "chunks", "\(index)", "content"]
            #expect(tree.at(path.map { Array($0.utf8) }) == .text("\(index)"))
        }
        for odd in OddRecord.all {
            guard case .written(let path, let json) = odd.verdict else { continue }
            let keys = path.split(separator: "/").map { Array($0.utf8) }
            let expected = try? Node.parse(Array(json.utf8))
            #expect(
                told(Oracle.differences(expected: expected ?? nil, found: tree.at(keys))) == "",
                "\(odd.name)")
        }
        for id in ["bad-run", "bad-message", "big", "int", "wrong", "less", "text", "deep"] {
            for place in ["streaming", "conversations", "events/e"] {
                let keys = (place.split(separator: "/") + [Substring(id)]).map { Array($0.utf8) }
                #expect(tree.at(keys) == nil, "\(place)/\(id)")
            }
        }
    }

    private func checkLetters(in world: World) throws {
        let reader = try TopicReader(world.broker, topic: "\(world.name).dead-letters")
        var expected: [TopicPartition: [(offset: Int64, odd: OddRecord)]] = [:]
        var next: [String: Int64] = [:]
        for odd in OddRecord.all {
            let offset = next[odd.topic, default: 0]
            next[odd.topic] = offset + 1
            // A good chunk follows each odd record.
            next[LogRecord.chunks, default: 0] += 1
            guard case .rejected = odd.verdict else { continue }
            expected[TopicPartition(world.log.topic(odd.topic), 0), default: []].append(
                (offset, odd))
        }
        let count = expected.values.reduce(0) { $0 + $1.count }
        try eventually("all dead letters are there", details: { "\(reader.records.count)" }) {
            try reader.step()
            return reader.records.count >= count
        }
        #expect(reader.records.count == count)
        var letters: [String: [Int64: Record]] = [:]
        for (_, letter) in reader.records {
            let topic = text(letter, "firebridge.topic") ?? ""
            letters[topic, default: [:]][Int64(text(letter, "firebridge.offset") ?? "") ?? -1] =
                letter
        }
        for (source, entries) in expected {
            for (offset, odd) in entries {
                guard let letter = letters[source.topic]?[offset],
                    case .rejected(let reason) = odd.verdict
                else {
                    Issue.record("no dead letter for \(odd.name)")
                    continue
                }
                check(letter, of: odd, reason)
            }
        }
    }

    private func check(_ letter: Record, of odd: OddRecord, _ reason: Rejection.Reason) {
        #expect(text(letter, "firebridge.reason") == reason.rawValue, "\(odd.name)")
        #expect(text(letter, "firebridge.partition") == "0", "\(odd.name)")
        #expect(text(letter, "firebridge.message")?.isEmpty == false, "\(odd.name)")
        #expect(text(letter, "firebridge.time")?.hasSuffix("Z") == true, "\(odd.name)")
        #expect(letter.key == odd.key, "\(odd.name)")
        // Compared without printing eleven megabytes.
        let isSame = letter.value == odd.value
        #expect(isSame || text(letter, "firebridge.value_omitted") == "true", "\(odd.name)")
        #expect(Array(letter.headers.prefix(Self.headers.count)) == Self.headers, "\(odd.name)")
        #expect(letter.headers.count >= Self.headers.count + 6, "\(odd.name)")
    }

    private func text(_ record: Record, _ header: String) -> String? {
        record.headers.last { $0.name == header }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("With reject: skip nothing goes to the dead letters, and the good ones are written")
    func skipped() throws {
        let world = try World(letters: false)
        let bridge = try world.startBridge(world.settings { $0.delivery = ["reject: skip"] })
        for index in 0..<20 {
            try world.log.append(
                LogRecord.chunks, partition: 0, key: nil, value: Array("no JSON".utf8))
            try world.log.append(LogRecord.chunks, partition: 0, key: nil, value: goodChunk(index))
        }
        try world.log.flush()
        try world.waitUntilDrained()
        #expect(try world.tree.node("streaming/good/1/chunks")?.children.count == 20)
        #expect(bridge.metrics.sum("firebridge_records_rejected_total", "malformed_json") == 20)
        #expect(bridge.metrics.sum("firebridge_dead_letters_total") == 0)
        let letters = try world.offsets(topics: ["dead-letters"])
        #expect(try letters.counts().values.allSatisfy { $0 == 0 } || !world.broker.isReal)
        #expect(bridge.isReady)
        #expect(try bridge.stop() == .code(0))
    }

    @Test("With reject: stop that partition stands still and says so, the others go on")
    func stopped() throws {
        let world = try World()
        let settings = world.settings { $0.delivery = ["reject: stop", "drain: 3s"] }
        let bridge = try world.startBridge(settings)
        func append(_ partition: Int32, _ id: String, _ index: Int) throws {
            let text = String(decoding: goodChunk(index), as: UTF8.self)
                .split(separator: "good").joined(separator: "\(id)")
            try world.log.append(
                LogRecord.chunks, partition: partition, key: nil, value: Array(text.utf8))
        }
        try append(0, "stands", 0)
        try world.log.append(LogRecord.chunks, partition: 0, key: nil, value: Array("{".utf8))
        try append(0, "stands", 1)
        try world.log.flush()
        try bridge.waitUntilNotReady("\(world.log.topic(LogRecord.chunks))/0 stands still")
        for index in 0..<5 { try append(1, "goes", index) }
        try append(0, "stands", 2)
        try world.log.flush()
        try eventually("the other partition goes on", details: { bridge.child.tail }) {
            try world.tree.node("streaming/goes/1/chunks")?.children.count == 5
        }
        #expect(try world.tree.node("streaming/stands/1/chunks")?.children.count == 1)
        #expect(bridge.page("/healthz")?.status == 200)
        // The one at which it stands and the two behind it, and what comes meanwhile.
        let zero = TopicPartition(world.log.topic(LogRecord.chunks), 0)
        try eventually("its lag counts from where it stands", within: .seconds(30)) {
            bridge.lag(of: zero) == 3
        }
        try append(0, "stands", 3)
        try world.log.flush()
        try eventually("its lag grows", within: .seconds(30)) { bridge.lag(of: zero) == 4 }
        try eventually("what came before is committed", details: { bridge.child.tail }) {
            try world.offsets().positions()[zero]?.committed == 1
        }
        #expect(try bridge.stop() == .code(75))
        let next = try world.startBridge()
        try world.waitUntilDrained()
        #expect(try world.tree.node("streaming/stands/1/chunks")?.children.count == 4)
        #expect(next.metrics.sum("firebridge_dead_letters_total", "malformed_json") == 1)
        #expect(try next.stop() == .code(0))
    }

    @Test("A partition at which nothing was ever read tells how much it leaves, as that changes")
    func neverRead() throws {
        let world = try World()
        let settings = world.settings { $0.start = "error" }
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilNotReady("no offset and no watermark")
        let zero = TopicPartition(world.log.topic(LogRecord.chunks), 0)
        for count in 1...2 {
            try world.log.append(
                LogRecord.chunks, partition: 0, key: nil, value: goodChunk(0))
            try world.log.flush()
            try eventually("its lag is \(count)", within: .seconds(30)) {
                bridge.lag(of: zero) == Double(count)
            }
        }
        // What retention removes is not behind it any more.
        if case .real(let kafka) = world.broker {
            let file = "\(world.directory)/removed.json"
            let place = #"{"topic":"\#(zero.topic)","partition":0,"offset":1}"#
            try File.write(file, Array(#"{"version":1,"partitions":[\#(place)]}"#.utf8))
            try kafka.tool("records --offset-json-file \(file)")
            try eventually("its lag is 1 again", within: .seconds(30)) {
                bridge.lag(of: zero) == 1
            }
        }
        #expect(try bridge.stop() == .code(0))
    }

    @Test(
        "A missing topic of dead letters is not created, also where the broker would; they wait for it",
        .enabled(if: RealKafka.isThere, "skipped: the mock broker makes what it is asked for"))
    func missingTopic() throws {
        let world = try World(letters: false)
        let settings = world.settings {
            $0.properties.append("topic.metadata.propagation.max.ms: 1000")
        }
        let bridge = try world.startBridge(settings)
        try world.log.append(LogRecord.chunks, partition: 0, key: nil, value: Array("{".utf8))
        try world.log.flush()
        try bridge.waitUntilNotReady("the dead-letter topic does not exist")
        try eventually("it was tried", details: { bridge.child.tail }) {
            bridge.child.says("\"event\":\"dead_letter_failed\"")
        }
        let letters = try world.offsets(topics: ["dead-letters"])
        #expect(try letters.counts().values.allSatisfy { $0 == 0 })
        try world.touch(["dead-letters"])
        try eventually("the letter is there", details: { bridge.child.tail }) {
            bridge.metrics.sum("firebridge_dead_letters_total") == 1
        }
        try world.waitUntilDrained()
        try bridge.waitUntilReady()
        #expect(try bridge.stop() == .code(0))
    }

    @Test(
        "A dead letter that the broker refuses as too large goes without its value, and says so",
        .enabled(if: RealKafka.isThere, "skipped: the mock broker has no limit"))
    func valueOmitted() throws {
        let world = try World(partitions: nil)
        try world.create(LogRecord.chunks, partitions: 4, config: "max.message.bytes=20000000")
        try world.touch([LogRecord.runs, LogRecord.messages, "dead-letters"])
        let bridge = try world.startBridge()
        // What does not shrink: the broker counts what it gets.
        var random = SplitMix64(seed: 90)
        let noise = (0..<(2 << 20)).map { _ in UInt8(32 + random.int(0..<90)) }
        try world.log.append(
            LogRecord.chunks, partition: 0, key: [1], value: noise, headers: Self.headers)
        try world.log.append(LogRecord.chunks, partition: 0, key: nil, value: goodChunk(0))
        try world.log.flush()
        try world.waitUntilDrained()
        let reader = try TopicReader(world.broker, topic: "\(world.name).dead-letters")
        try eventually("the dead letter is there") {
            try reader.step()
            return !reader.records.isEmpty
        }
        let letter = reader.records[0].record
        #expect(letter.key == [1] && letter.value == nil)
        #expect(text(letter, "firebridge.value_omitted") == "true")
        #expect(text(letter, "firebridge.reason") == "malformed_json")
        #expect(Array(letter.headers.prefix(3)) == Self.headers)
        #expect(try world.tree.node("streaming/good/1/chunks/0/content") == .text("0"))
        #expect(try bridge.stop() == .code(0))
    }
}
