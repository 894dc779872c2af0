import Oracle
import Testing

@Suite("Orders that the oracle sees")
struct RunOrderTests {
    private func chunk(_ run: String, _ second: Int, _ content: String = "") -> LogRecord {
        let value =
            #"{"message_sequence":1,"run_id":"\#(run)","content":"\#(content)","#
            + #""timestamp":"2026-11-01T00:00:0\#(second)Z"}"#
        return LogRecord(
            topic: LogRecord.chunks, key: Array("c".utf8), value: Array(value.utf8), timestamp: 0)
    }

    @Test("Chunks by arrival are numbered as they stand in the topic, each run by itself")
    func arrival() {
        let records = [
            chunk("a", 1, "x"), chunk("b", 2, "y"), chunk("b", 2, "y"), chunk("a", 3, "z"),
            chunk("b", 3, "w"),
        ]
        let tree = expectedTree(of: records, byArrival: true)
        let chunks = tree?["streaming"]?["c"]?["1"]?["chunks"]
        #expect(
            chunks?.children.map { [$0.key, $0.node["content"]?.text ?? []] }
                == [
                    ["0", "y"], ["1", "y"], ["2", "w"],
                ].map { $0.map { Array($0.utf8) } })
    }

    @Test("Hard streams keep the promise that every interleaving gives one tree")
    func promise() {
        for seed: UInt64 in 1...20 {
            var streams = HardStreams(seed: seed)
            #expect(RunOrder(of: streams.records(conversations: 20)).keepsPromise)
        }
    }

    @Test("A run that is first met after a newer one was born breaks it")
    func broken() {
        let kept = [chunk("a", 1), chunk("a", 3), chunk("b", 2)]
        #expect(RunOrder(of: kept).keepsPromise)
        let started =
            #"{"message_sequence":1,"run_id":"a","status":"started","#
            + #""event_context":{"event_name":"e","emitted_at":"2026-11-01T00:00:01Z"}}"#
        let marker = LogRecord(
            topic: LogRecord.runs, key: Array("c".utf8), value: Array(started.utf8), timestamp: 0)
        #expect(!RunOrder(of: [marker] + kept.dropFirst()).keepsPromise)
    }

    @Test("What was left out may change who is the older one")
    func parts() {
        let whole = [chunk("a", 1), chunk("a", 3), chunk("b", 2)]
        #expect(RunOrder(of: whole.dropLast()).isPart(of: RunOrder(of: whole)))
        #expect(!RunOrder(of: whole.dropFirst()).isPart(of: RunOrder(of: whole)))
        let late = [chunk("a", 3)]
        #expect(!RunOrder(of: late).isPart(of: RunOrder(of: whole)))
    }
}
