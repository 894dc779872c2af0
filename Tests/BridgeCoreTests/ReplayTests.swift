import BridgeCore
import Fuzzing
import Oracle
import Testing

@Suite("A range that is mirrored once more") struct ReplayTests {
    static let topics = [LogRecord.chunks, LogRecord.runs, LogRecord.messages]

    private func place(_ record: LogRecord) -> TopicPartition {
        TopicPartition(record.topic, Int32((record.key ?? []).reduce(0) { $0 &+ Int($1) } % 2))
    }

    /// A bridge has mirrored these records and was stopped.
    private func finished(_ records: [LogRecord], seed: UInt64, plan: MirrorPlan = .standard)
        -> TreeShell
    {
        var settings = Settings()
        settings.lanes = 2
        settings.batchWritesMax = 5
        let shell = TreeShell(plan: plan, settings: settings, seed: seed)
        for topic in plan.topics {
            for partition in 0..<2 {
                for record in records
                where place(record) == TopicPartition(topic, Int32(partition)) {
                    shell.append(
                        Record(
                            offset: 0, timestamp: record.timestamp, key: record.key,
                            value: record.value), to: place(record))
                }
            }
        }
        shell.start()
        shell.settle()
        shell.stop()
        return shell
    }

    private func data(_ shell: TreeShell) -> Node {
        var root = shell.root
        root.set([Array("_firebridge".utf8)], nil)
        return root
    }

    private func watermarks(_ shell: TreeShell) -> Node? {
        shell.root.at(["_firebridge", "watermarks"].map { Array($0.utf8) })
    }

    private func starts(
        of topic: String, in shell: TreeShell, _ random: inout SplitMix64
    ) -> [TopicPartition: Int64] {
        var starts: [TopicPartition: Int64] = [:]
        for source in shell.logs.keys.sorted() where source.topic == topic {
            starts[source] = Int64(random.int(0..<Int(shell.end(of: source)) + 1))
        }
        return starts
    }

    @Test("Any range of any topic leaves the tree, the watermarks and the commits as they were")
    func anyRange() {
        for seed in UInt64(0)..<12 {
            var streams = HardStreams(seed: seed)
            let records = streams.interleaved(streams.records(conversations: 6))
            let shell = finished(records, seed: seed)
            var random = SplitMix64(seed: seed)
            let before = (data(shell), watermarks(shell), shell.commits)
            #expect(differences(expected: expectedTree(of: records), found: before.0) == [])
            for topic in Self.topics {
                shell.replay(
                    Replay(writesEvents: random.chance(0.5)),
                    from: starts(of: topic, in: shell, &random))
                #expect(differences(expected: before.0, found: data(shell)) == [], "seed \(seed)")
            }
            #expect(watermarks(shell) == before.1 && shell.commits == before.2)
            #expect(shell.breaches == [])
        }
    }

    @Test("Interrupted and begun again it ends the same, and the bridge goes on after it")
    func interrupted() {
        for seed in UInt64(20)..<32 {
            var streams = HardStreams(seed: seed)
            let records = streams.interleaved(streams.records(conversations: 6))
            let shell = finished(records, seed: seed)
            var random = SplitMix64(seed: seed)
            let from = starts(of: LogRecord.chunks, in: shell, &random)
            shell.replay(Replay(), from: from, steps: random.int(5..<60))
            // Its fence counts for a minute.
            shell.pass(milliseconds: 61_000)
            #expect(shell.replay(Replay(), from: from) == nil)
            let expected = expectedTree(of: records)
            #expect(differences(expected: expected, found: data(shell)) == [], "seed \(seed)")
            shell.start()
            shell.settle()
            #expect(differences(expected: expected, found: data(shell)) == [], "seed \(seed)")
            #expect(shell.breaches == [])
        }
    }

    @Test("What was removed by hand comes back; event nodes only where they are asked for")
    func restores() {
        var streams = HardStreams(seed: 3)
        let records = streams.records(conversations: 12)
        let shell = finished(records, seed: 3)
        for name in ["streaming", "conversations", "events"] {
            shell.root.set([Array(name.utf8)], nil)
        }
        var expected = expectedTree(of: records)
        func all(_ topic: String) -> [TopicPartition: Int64] {
            Dictionary(
                uniqueKeysWithValues: shell.logs.keys.filter { $0.topic == topic }.map { ($0, 0) })
        }
        for topic in Self.topics { shell.replay(Replay(), from: all(topic)) }
        #expect(shell.root["events"] == nil)
        for topic in Self.topics.dropFirst() {
            shell.replay(Replay(writesEvents: true), from: all(topic))
        }
        #expect(differences(expected: expected, found: data(shell)) == [])
        // One conversation alone.
        let id = records[0].key!
        for name in ["streaming", "conversations"] { shell.root.set([Array(name.utf8)], nil) }
        for topic in Self.topics { shell.replay(Replay(conversation: id), from: all(topic)) }
        for name in ["streaming", "conversations"] {
            let own = expected?[name]?[Key.escape(id)]
            expected?.set([Array(name.utf8)], nil)
            if let own { expected?.set([Array(name.utf8), Key.escape(id)], own) }
        }
        #expect(differences(expected: expected, found: data(shell)) == [])
        #expect(shell.breaches == [])
    }

    @Test("It waits for no bridge: while one is live, of any group, it gives up")
    func givesUp() {
        let record = LogRecord(
            topic: LogRecord.chunks, key: [99],
            value: Array(
                #"{"conversation_id":"c","message_sequence":"1","run_id":"r","content":"x"}"#.utf8),
            timestamp: HardStreams.beginning)
        let shell = finished([record], seed: 1)
        shell.start()
        for _ in 0..<100 { shell.step() }
        let before = shell.root
        let from = [place(record): Int64(0)]
        let why = shell.replay(Replay(), from: from)
        #expect(why?.contains("group 'firebridge' is live") == true)
        #expect(shell.root == before)
        shell.pass(milliseconds: 61_000)
        #expect(shell.replay(Replay(), from: from) == nil)
        #expect(shell.breaches == [])
    }
}

@Suite("Rules of a replay") struct ReplayRuleTests {
    private func plan(_ value: Mapping.ValueMapping) throws -> MirrorPlan {
        try MirrorPlan(mappings: [Mapping(topic: "t", form: .value(value))])
    }

    private let source = TopicPartition("t", 0)

    /// A stopped bridge that has mirrored these values, all under one key.
    private func finished(_ plan: MirrorPlan, _ values: [String?]) -> TreeShell {
        // Each write is seen by itself.
        var settings = Settings()
        settings.batchWritesMax = 1
        let shell = TreeShell(plan: plan, settings: settings, seed: 1)
        for value in values {
            shell.append(
                Record(
                    offset: 0, timestamp: HardStreams.beginning, key: Array("k".utf8),
                    value: value.map { Array($0.utf8) }), to: source)
        }
        shell.start()
        shell.settle()
        shell.stop()
        shell.keepsBodies = true
        return shell
    }

    private func node(_ shell: TreeShell) -> String? {
        shell.root.at([Array("n".utf8), Array("k".utf8)]).map {
            String(decoding: $0.json, as: UTF8.self)
        }
    }

    private func written(_ shell: TreeShell) -> [String] {
        shell.bodies.map { String(decoding: $0, as: UTF8.self) }.filter { $0.contains(#""n/k"#) }
    }

    @Test("A value node without guard is written once, with its last value")
    func unguarded() throws {
        let shell = finished(try plan(.init(node: try Template("n/{key}"))), ["1", "2", nil, "3"])
        shell.root.set([Array("n".utf8)], nil)
        shell.replay(Replay(), from: [source: 0])
        #expect(node(shell) == "3")
        #expect(written(shell).count == 1)
    }

    @Test("Of merged values each child is written once")
    func merged() throws {
        let plan = try plan(.init(node: try Template("n/{key}"), write: .merge))
        let shell = finished(plan, [#"{"a":1,"b":1}"#, #"{"a":2}"#, #"{"c":3}"#])
        let before = node(shell)
        shell.replay(Replay(), from: [source: 0])
        #expect(node(shell) == before)
        #expect(!written(shell).joined().contains(#""n/k/a":1"#))
        shell.root.set([Array("n".utf8)], nil)
        shell.replay(Replay(), from: [source: 0])
        #expect(node(shell) == #"{"a":2,"b":1,"c":3}"#)
    }

    @Test("A guarded node that was removed comes back; where it stands, its guard holds")
    func guarded() throws {
        let plan = try plan(
            .init(node: try Template("n/{key}"), guardedBy: [try #require(JSONPointer("/v"))]))
        let values = [
            #"{"v":9}"#, nil, #"{"v":1}"#, #"{"v":3,"n":1}"#, #"{"v":3,"n":2}"#, #"{"v":2}"#,
        ]
        let shell = finished(plan, values)
        let before = node(shell)
        #expect(before?.contains(#""n":1"#) == true)
        for start in 0..<values.count {
            shell.replay(Replay(), from: [source: Int64(start)])
            #expect(node(shell) == before, "from \(start)")
        }
        #expect(!written(shell).joined().contains(#"{"v":9}"#))
        shell.root.set([Array("n".utf8)], nil)
        shell.replay(Replay(), from: [source: 0])
        #expect(node(shell) == before)
    }

    @Test("Records that write nothing are counted apart, and once, whatever was refused meanwhile")
    func passedOver() throws {
        let shell = TreeShell(plan: .standard, settings: Settings(), seed: 1)
        let source = TopicPartition(LogRecord.runs, 0)
        for seq in 1...5 {
            let value =
                #"{"run_id":"r","state":"CONVERSATION_ACTIVITY_STATE_QUEUED","seq":\#(seq)}"#
            shell.append(
                Record(
                    offset: 0, timestamp: HardStreams.beginning, key: Array("k".utf8),
                    value: Array(value.utf8)), to: source)
        }
        shell.start()
        shell.settle()
        shell.stop()
        // The first PATCH with data is refused: what was planned is planned once more.
        var refusals = 1
        shell.verdict = { body in
            let text = String(decoding: body, as: UTF8.self)
            guard refusals > 0, text.contains("conversations/k/status") else { return nil }
            refusals -= 1
            return .refused(status: 403, "no")
        }
        shell.replay(Replay(), from: [source: 0])
        #expect(shell.bridge.counters.passedOver == [.known: 5])
        shell.replay(Replay(conversation: Array("other".utf8)), from: [source: 2])
        #expect(shell.bridge.counters.passedOver == [.leftOut: 3])
        shell.root.set([Array("conversations".utf8)], nil)
        shell.replay(Replay(), from: [source: 2])
        #expect(refusals == 0)
        #expect(shell.bridge.counters.passedOver == [:])
    }

    private func chunk(_ index: Int, _ more: String = "") -> String {
        #"{"message_sequence":1,"run_id":"r","chunk_index":\#(index),"content":"\#(index)""#
            + #","timestamp":"2026-01-01T00:00:00Z"\#(more)}"#
    }

    @Test("A run that has stalled is not revived by what is there, but by what is new")
    func stalled() throws {
        let shell = TreeShell(plan: .standard, settings: Settings(), seed: 1)
        let source = TopicPartition(LogRecord.chunks, 0)
        func append(_ index: Int) {
            shell.append(
                Record(
                    offset: 0, timestamp: HardStreams.beginning, key: Array("k".utf8),
                    value: Array(chunk(index).utf8)), to: source)
        }
        append(0)
        append(1)
        shell.start()
        shell.settle()
        for _ in 0..<700 {
            shell.pass(milliseconds: 1000)
            for _ in 0..<8 { shell.step() }
        }
        shell.stop()
        func status() -> Node? {
            shell.root.at(["streaming", "k", "1", "meta", "status"].map { Array($0.utf8) })
        }
        try #require(status() == .text("error"))
        shell.replay(Replay(), from: [source: 0])
        #expect(status() == .text("error"))
        shell.root.set(["streaming", "k", "1", "chunks", "1"].map { Array($0.utf8) }, nil)
        shell.replay(Replay(), from: [source: 0])
        #expect(status() == .text("streaming"))
        #expect(shell.breaches == [])
    }

    @Test("Chunks by arrival keep their numbers")
    func arrival() throws {
        let stream = try Template("streaming/{conversation_id}/{message_sequence}")
        let plan = try MirrorPlan(mappings: [
            Mapping(topic: "t", form: .chunk(node: stream, index: .arrival))
        ])
        let values = (0..<6).map { index in
            #"{"message_sequence":1,"run_id":"r","content":"\#(index)","timestamp":"2026-01-01T00:00:00Z"}"#
        }
        let shell = finished(plan, values)
        let before = shell.root["streaming"]
        for start in 0..<6 {
            shell.replay(Replay(), from: [source: Int64(start)], steps: start * 3)
            shell.pass(milliseconds: 61_000)
        }
        shell.replay(Replay(), from: [source: 0])
        #expect(shell.root["streaming"] == before)
        shell.root.set([Array("streaming".utf8)], nil)
        shell.replay(Replay(), from: [source: 0])
        #expect(shell.root["streaming"] == before)
        #expect(shell.breaches == [])
    }

    @Test("Chunks numbered by arrival are replayed from the watermark at the latest")
    func latestStarts() throws {
        let partition = TopicPartition("llm.token-chunks", 3)
        func starts(_ plan: MirrorPlan) throws -> [TopicPartition: Int64] {
            try Replay.latestStarts(of: [partition], plan: plan, group: "g.1") { methods in
                methods.map { method in
                    guard case .get(let path, _) = method else { return .tooBig("") }
                    let wanted = "_firebridge/watermarks/g%2E1/llm%2Etoken-chunks/3"
                    return .done(
                        body: Array((path == Array(wanted.utf8) ? #"{"next":7}"# : "null").utf8),
                        date: nil)
                }
            }
        }
        #expect(try starts(Plans.byArrival) == [partition: 7])
        #expect(try starts(.standard) == [:])
    }
}
