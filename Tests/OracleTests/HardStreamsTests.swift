import Oracle
import Testing

@Suite("Hard streams")
struct HardStreamsTests {
    @Test("The same seed makes the same records, another seed others")
    func seeded() {
        func records(_ seed: UInt64) -> [LogRecord] {
            var streams = HardStreams(seed: seed)
            return streams.records(conversations: 20)
        }
        #expect(records(7) == records(7))
        #expect(records(7) != records(8))
    }

    @Test(
        "Every interleaving of the topics gives the same tree",
        arguments: 1...20 as ClosedRange<UInt64>)
    func interleavings(_ seed: UInt64) {
        var streams = HardStreams(seed: seed)
        let records = streams.records(conversations: 40)
        let tree = expectedTree(of: records)
        #expect(
            tree?["streaming"] != nil && tree?["events"] != nil && tree?["conversations"] != nil)
        for _ in 0..<5 {
            let other = expectedTree(of: streams.interleaved(records))
            #expect(differences(expected: tree, found: other) == [])
        }
    }

    @Test("All times lie between the beginning and the end")
    func times() {
        var streams = HardStreams(seed: 3)
        let bounds = HardStreams.beginning..<HardStreams.end
        #expect(Instant.text(milliseconds: bounds.lowerBound) == "2026-11-01T00:00:00.000Z")
        for record in streams.records(conversations: 200) {
            #expect(bounds.contains(record.timestamp ?? 0))
        }
    }

    @Test("A record's events are those that the tree shows after it alone")
    func eventNodes() {
        var streams = HardStreams(seed: 5)
        for record in streams.records(conversations: 50) {
            for (path, value) in events(of: record) {
                #expect(value != nil)
                #expect(expectedTree(of: [record])?.at(path) == value)
            }
        }
    }
}

@Suite("Instants")
struct InstantTests {
    private func instant(_ text: String) -> Instant? { Instant(Array(text.utf8)) }

    @Test("Offsets and fractions are compared as points of time")
    func equal() {
        let utc = instant("2026-04-23T22:43:44.700Z")
        #expect(utc == instant("2026-04-24T00:43:44.7+02:00"))
        #expect(utc == instant("2026-04-23t21:13:44.700000000-01:30"))
        #expect(utc! < instant("2026-04-23T22:43:44.700000001Z")!)
        #expect(instant("1970-01-01T00:00:00Z")?.seconds == 0)
        #expect(instant("2024-02-29T00:00:00Z")?.seconds == 1_709_164_800)
    }

    @Test(
        "What is no RFC 3339 time is none",
        arguments: ["", "2026", "2026-04-23", "2026-04-23T22:43:44", "2026-04-23T22:43:44.Z", "x"])
    func none(_ text: String) { #expect(instant(text) == nil) }

    @Test(
        "What is written is read again",
        arguments: [0, 951_782_399_999, 951_782_400_000, 1_793_491_200_001, 4_107_542_400_000])
    func roundTrip(_ milliseconds: Int64) {
        let read = instant(Instant.text(milliseconds: milliseconds))
        #expect(read?.seconds == milliseconds / 1_000)
        #expect(Int64(read?.nanoseconds ?? 0) == milliseconds % 1_000 * 1_000_000)
    }
}
