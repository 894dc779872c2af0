import BridgeCore
import EventLoop
import Kafka
import Oracle
import TestSupport
import Testing

@Suite("Replay, end to end", .serialized, .ownThreads)
struct ReplayTests {
    private let beginning = ["--since", "1970-01-01T00:00:00Z"]

    /// The default mappings, with a producer's field that is not there.
    private func wrong(_ world: World) -> Settings {
        world.settings {
            $0.mappings = $0.defaultMappings.replacing(
                "node: streaming/{conversation_id}/{message_sequence}",
                with: "node: streaming/{conversation_id}/{message_sequence}\n"
                    + "    fields: {message_sequence: /no/such}")
        }
    }

    private func text(_ record: Record, _ header: String) -> String? {
        record.headers.last { $0.name == header }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    private func all(_ topic: String, count: Int, in world: World) throws -> [Record] {
        let reader = try TopicReader(world.broker, topic: world.log.topic(topic))
        try eventually("\(count) records of \(topic)", details: { "\(reader.records.count)" }) {
            try reader.step()
            return reader.records.count >= count
        }
        return reader.records.map { partition, record in
            var record = record
            record.headers.append(Header(name: "at", value: Array("\(partition)".utf8)))
            return record
        }
    }

    @Test("Records that a wrong mapping rejected go into their topic again, and the tree is right")
    func deadLetters() throws {
        let world = try World()
        var streams = HardStreams(seed: 60)
        let records = streams.records(conversations: 60)
        let first = try world.startBridge(wrong(world))
        try world.log.append(records)
        try world.log.flush()
        try world.waitUntilDrained()
        #expect(try first.stop() == .code(0))
        let count = records.count { $0.topic == LogRecord.chunks }
        #expect(try !world.tree.differences(from: records).isEmpty)

        let dry = try world.command(["replay", "--from-dead-letters", "--dry-run"])
        #expect(dry.exit == .code(0))
        #expect(dry.lines.last == "would replay \(count) dead letters")
        #expect(dry.lines.count == count + 1)
        // The bridge may run meanwhile.
        let second = try world.startBridge()
        let done = try world.command(["replay", "--from-dead-letters"])
        #expect(done.exit == .code(0))
        #expect(done.lines.last == "replayed \(count) dead letters", "\(done.lines)")
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(try second.stop() == .code(0))

        let again = try world.command(["replay", "--from-dead-letters"])
        #expect(again.exit == .code(0))
        #expect(again.lines.last == "replayed 0 dead letters", "\(again.lines)")
        let chunks = try all(LogRecord.chunks, count: 2 * count, in: world)
        #expect(chunks.count == 2 * count)
        var seen: [Record: Int] = [:]
        for record in chunks {
            var record = record
            record.offset = 0
            seen[record, default: 0] += 1
        }
        // Key, value, headers, time and partition are the same.
        #expect(seen.values.allSatisfy { $0 % 2 == 0 })
    }

    @Test("Reason, time and conversation choose letters; whatever was chosen, each goes once")
    func chosenLetters() throws {
        let world = try World()
        let bridge = try world.startBridge()
        let own = [
            Header(name: "trace", value: [0, 255]), Header(name: "trace", value: nil),
            Header(name: "firebridge.note", value: Array("mine".utf8)),
        ]
        func append(_ key: String, _ value: String?, _ partition: Int32) throws {
            try world.log.append(
                LogRecord.chunks, partition: partition, key: Array(key.utf8),
                value: value.map { Array($0.utf8) }, headers: own,
                timestamp: 1_793_491_200_000 + Int64(partition))
        }
        for index in 0..<4 {
            try append("c\(index)", "{", Int32(index))
            try append("c\(index)", #"{"conversation_id":"x\#(index)"}"#, Int32(index))
            try append("c\(index)", nil, Int32(index))
        }
        try world.log.flush()
        try world.waitUntilDrained()
        #expect(try bridge.stop() == .code(0))
        func replay(_ arguments: String...) throws -> [String] {
            let found = try world.command(["replay", "--from-dead-letters"] + arguments)
            #expect(found.exit == .code(0), "\(found.lines)")
            return found.lines
        }
        #expect(try replay("--reason", "malformed_json").contains("replayed 4 dead letters"))
        #expect(try replay("--reason", "malformed_json").contains("replayed 0 dead letters"))
        #expect(try replay("--conversation", "x1").contains("replayed 1 dead letters"))
        #expect(try replay("--conversation", "c1").contains("replayed 1 dead letters"))
        #expect(try replay("--since", "2100-01-01T00:00:00Z").contains("replayed 0 dead letters"))
        #expect(try replay("--since", "2026-11-01T00:00:00Z").contains("replayed 6 dead letters"))
        #expect(try replay().contains("replayed 0 dead letters"))
        let found = try all(LogRecord.chunks, count: 24, in: world)
        #expect(found.count == 24)
        for record in found {
            #expect(Array(record.headers.dropLast()) == own)
            #expect(
                text(record, "at")
                    == record.key.map { String(decoding: $0.dropFirst(), as: UTF8.self) })
            #expect(record.timestamp == 1_793_491_200_000 + Int64(text(record, "at") ?? "")!)
        }
        #expect(found.count { $0.value == nil } == 8)
    }

    @Test("Letters of topics that no mapping has, and what is no letter, are passed over and told")
    func strangers() throws {
        let world = try World()
        func append(_ topic: String?, _ more: [Header] = []) throws {
            try appendLetter(of: topic, "7", more, to: world)
        }
        try append(nil)
        try append("elsewhere")
        try append(world.log.topic("dead-letters"))
        try append(world.log.topic(LogRecord.chunks))
        try append(
            world.log.topic(LogRecord.chunks),
            [Header(name: LetterHeader.valueOmitted, value: Array("true".utf8))])
        try world.log.flush()
        let found = try world.command(["replay", "--from-dead-letters"])
        #expect(found.exit == .code(0))
        #expect(found.lines.contains("replayed 1 dead letters"), "\(found.lines)")
        #expect(found.lines.contains("passed over 1: their values were omitted"))
        #expect(found.lines.contains("passed over 1: no dead letters of a bridge"))
        #expect(found.lines.count { $0.contains("no mapping has their topic") } == 2)
    }

    /// Appends a letter as a bridge writes it; one without topic is no letter.
    private func appendLetter(
        of topic: String?, _ value: String, reason: String = "missing_field",
        _ more: [Header] = [], to world: World
    ) throws {
        var headers = more
        if let topic {
            for (name, value) in [
                (LetterHeader.reason, reason), (LetterHeader.topic, topic),
                (LetterHeader.partition, "0"),
            ] { headers.append(Header(name: name, value: Array(value.utf8))) }
        }
        try world.log.append(
            "dead-letters", partition: 0, key: [1], value: Array(value.utf8), headers: headers)
    }

    /// So many ranges are too many for a commit.
    private static let alternations = 2500

    @Test("Bridges that share a topic of dead letters replay their own, however these alternate")
    func shared() throws {
        let world = try World()
        let count = Self.alternations
        try world.touch(["elsewhere"])
        for index in 0..<count {
            try appendLetter(of: world.log.topic(LogRecord.chunks), "\(index)", to: world)
            try appendLetter(of: world.log.topic("elsewhere"), "\(index)", to: world)
            if index % 3 == 0 { try appendLetter(of: nil, "\(index)", to: world) }
        }
        try world.log.flush()
        let both = world.settings {
            $0.mappings =
                $0.defaultMappings
                + "\n  - topic: \(world.log.topic("elsewhere"))\n    as: value\n    node: x/{key}"
        }
        for (settings, expected) in [(nil, count), (nil, 0), (both, count), (both, 0), (nil, 0)] {
            let found = try world.command(["replay", "--from-dead-letters"], settings)
            #expect(found.exit == .code(0), "\(found.lines)")
            #expect(found.lines.contains("replayed \(expected) dead letters"), "\(found.lines)")
        }
        for topic in [LogRecord.chunks, "elsewhere"] {
            let values = try all(topic, count: count, in: world).map(\.value)
            #expect(values.count == count && Set(values).count == count, "\(topic)")
        }
    }

    @Test("Where more was passed over than can be remembered, it says where, and what to do")
    func tooManyPassedOver() throws {
        let world = try World()
        let count = Self.alternations
        for index in 0..<count {
            for reason in ["missing_field", "refused"] {
                try appendLetter(
                    of: world.log.topic(LogRecord.chunks), "\(reason) \(index)", reason: reason,
                    to: world)
            }
        }
        try world.log.flush()
        let chosen = ["replay", "--from-dead-letters", "--reason", "refused"]
        for _ in 0..<2 {
            let found = try world.command(chosen)
            #expect(found.exit == .code(75), "\(found.lines)")
            let place = "at \(world.log.topic("dead-letters"))/0@"
            #expect(found.lines.last?.contains(place) == true, "\(found.lines)")
            #expect(found.lines.last?.contains("without --reason") == true, "\(found.lines)")
        }
        #expect(try world.command(["replay", "--from-dead-letters"]).exit == .code(0))
        let again = try world.command(chosen)
        #expect(again.exit == .code(0) && again.lines.contains("replayed 0 dead letters"))
        let values = try all(LogRecord.chunks, count: 2 * count, in: world).map(\.value)
        #expect(values.count == 2 * count && Set(values).count == 2 * count)
    }

    @Test("What was on its way when a partition stood still is awaited and remembered")
    func halted() throws {
        let cluster = try mock()
        let world = try World(partitions: 2, on: .mock(cluster))
        for index in 0..<10 {
            try appendLetter(of: world.log.topic(LogRecord.chunks), "\(index)", to: world)
        }
        try world.log.flush()
        // Letters take three seconds to be acknowledged; what is fetched next is out of range.
        for _ in 0..<5 { try cluster.send("late-error 1 0 0 3000") }
        try cluster.send("errors 1 0 " + Array(repeating: "1", count: 50).joined(separator: " "))
        let found = try world.command(["replay", "--from-dead-letters"])
        #expect(found.exit == .code(69), "\(found.lines)")
        #expect(found.lines.contains { $0.hasSuffix("replayed 10 dead letters") })
        #expect(found.lines.last?.contains("_AUTO_OFFSET_RESET") == true, "\(found.lines)")
        try cluster.send("clear 1")
        let again = try world.command(["replay", "--from-dead-letters"])
        #expect(again.exit == .code(0), "\(again.lines)")
        #expect(again.lines.contains("replayed 0 dead letters"), "\(again.lines)")
        let chunks = try world.offsets(topics: [LogRecord.chunks]).positions().values
        #expect(chunks.reduce(0) { $0 + $1.high } == 10)
    }

    @Test("A range restores what was removed and changes nothing else, least of all event nodes")
    func range() throws {
        let world = try World()
        var streams = HardStreams(seed: 61)
        let records = streams.records(conversations: 60)
        let bridge = try world.startBridge()
        try world.log.append(records)
        try world.log.flush()
        try world.waitUntilDrained()
        #expect(try bridge.stop() == .code(0))
        let before = try world.offsets().positions()
        let marks = try world.tree.json("_firebridge/watermarks")
        for place in ["streaming", "conversations"] {
            let keys = try world.tree.node(place)?.children.map(\.key) ?? []
            for key in keys.prefix(25) { try world.tree.remove([Array(place.utf8), key]) }
        }
        let events = try world.tree.node("events")?.children.map(\.key) ?? []
        try world.tree.remove([Array("events".utf8), events[0]])
        func replay(_ topic: String, _ more: String...) throws {
            let found = try world.command(
                ["replay", "--topic", world.log.topic(topic)] + beginning + more)
            #expect(found.exit == .code(0), "\(found.lines)")
            // "mirrored 7 records …", "passed over 2 of …": together they are all.
            let counts = found.lines.filter { $0.hasPrefix("mirrored ") || $0.hasPrefix("passed ") }
                .compactMap { $0.split(separator: " ").lazy.compactMap { Int($0) }.first }
            let all = records.count { $0.topic == topic }
            #expect(counts.reduce(0, +) == all, "\(found.lines)")
            let isLeftOut = topic == LogRecord.messages && more.isEmpty
            #expect((counts.first == 0) == isLeftOut, "\(found.lines)")
        }
        try replay(LogRecord.chunks)
        try replay(LogRecord.runs)
        try replay(LogRecord.messages)
        #expect(try world.tree.node("events")?[events[0]] == nil)
        try replay(LogRecord.runs, "--events")
        try replay(LogRecord.messages, "--events")
        expectNone(try world.tree.differences(from: records))
        let after = try world.offsets().positions()
        #expect(after == before)
        #expect(try world.tree.json("_firebridge/watermarks") == marks)
        let dry = try world.command(
            ["replay", "--topic", world.log.topic(LogRecord.chunks), "--dry-run"] + beginning)
        #expect(dry.exit == .code(0) && dry.lines.contains { $0.contains("of kind chunk") })
        // The bridge goes on where it was, at once.
        let next = try world.startBridge()
        try next.waitUntilReady()
        #expect(next.metrics.sum("firebridge_records_consumed_total") == 0)
        #expect(try next.stop() == .code(0))
    }

    @Test(
        "A range begins at its time", .enabled(if: RealKafka.isThere, "skipped: needs Apache Kafka")
    )
    func since() throws {
        let world = try World()
        let topic = world.log.topic(LogRecord.chunks)
        for index in 0..<10 {
            try world.log.append(
                LogRecord.chunks, partition: 0, key: Array("c".utf8),
                value: Array(
                    #"{"message_sequence":1,"run_id":"r","chunk_index":\#(index),"content":"x"}"#
                        .utf8),
                timestamp: 1_793_491_200_000 + Int64(index) * 1000)
        }
        try world.log.flush()
        let found = try world.command(
            ["replay", "--topic", topic, "--since", "2026-11-01T00:00:06.5Z", "--dry-run"])
        #expect(found.lines.first?.hasPrefix("3 records") == true, "\(found.lines)")
        let done = try world.command(
            ["replay", "--topic", topic, "--since", "2026-11-01T00:00:06.5Z"])
        #expect(done.exit == .code(0), "\(done.lines)")
        #expect(try world.tree.node("streaming/c/1/chunks")?.children.count == 3)
    }

    @Test(
        "While a bridge is live a range is refused, as after a kill for a minute; nothing is written"
    )
    func refused() throws {
        let world = try World()
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        let before = try world.tree.json("_firebridge/fences")
        let arguments = ["--topic", world.log.topic(LogRecord.chunks)] + beginning
        for more in [[], ["--conversation", "c"]] {
            let found = try world.command(["replay"] + arguments + more)
            #expect(found.exit == .code(69))
            #expect(found.lines.contains { $0.contains("group '\(world.name)' is live") })
        }
        let erased = try world.command(["erase", "--conversation", "c"])
        #expect(erased.exit == .code(69))
        #expect(erased.lines.contains { $0.contains("group '\(world.name)' is live") })
        #expect(try world.tree.json("_firebridge/fences") == before)
        // Looking is not forbidden.
        #expect(try world.command(["replay", "--dry-run"] + arguments).exit == .code(0))
        #expect(try world.command(["erase", "--dry-run", "--conversation", "c"]).exit == .code(0))
        #expect(bridge.isReady)
        try bridge.child.kill()
        #expect(try world.command(["replay"] + arguments).exit == .code(69))
    }

    @Test("A command line that cannot be meant, and services that are not there")
    func wrongUse() throws {
        let world = try World(letters: false)
        func exit(_ arguments: [String], _ settings: Settings? = nil) throws -> Subprocess.Exit {
            try world.command(arguments, settings).exit
        }
        let topic = world.log.topic(LogRecord.chunks)
        for arguments in [
            ["replay"], ["replay", "--topic", topic],
            ["replay", "--from-dead-letters", "--events"],
            ["replay", "--topic", topic, "--reason", "refused"] + beginning,
            ["replay", "--topic", topic, "--since", "yesterday"],
            ["replay", "--topic", "unmapped"] + beginning,
            ["replay", "--from-dead-letters", "--topic", topic],
            ["replay", "--from-dead-letters", "--reason", "bad_luck"],
            ["erase"], ["erase", "--conversation", ""],
        ] { #expect(try exit(arguments) == .code(64), "\(arguments)") }
        // No dead-letter topic.
        if world.broker.isReal {
            #expect(try exit(["replay", "--from-dead-letters"]) == .code(69))
        }
        let nowhere = world.settings { $0.url = "http://127.0.0.1:1/?ns=x" }
        #expect(try exit(["erase", "--conversation", "c"], nowhere) == .code(69))
    }

    @Test("A signal ends a replay that waits for a service")
    func signalled() throws {
        let world = try World()
        for settings in [
            world.settings { $0.url = "http://127.0.0.1:1/?ns=x" },
            world.settings { $0.brokers = ["127.0.0.1:1"] },
        ] {
            let file = "\(world.directory)/\(uniqueName("signal")).yaml"
            try File.write(file, Array(settings.yaml.utf8))
            let child = try Child(
                "replay",
                ["replay", "--config", file, "--topic", world.log.topic(LogRecord.chunks)]
                    + beginning, in: world.directory)
            // SIGTERM would simply kill it before it takes care of signals.
            try eventually("it takes signals", within: .seconds(15)) { child.takesSignals }
            child.process.send(.terminate)
            let exit = try child.exit(within: .seconds(15))
            #expect(exit == .code(75), "\(exit) \(child.lines)")
            #expect(!child.says("eras"), "\(child.lines)")
        }
    }
}
