import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("Recorded and made-up streams, end to end", .serialized, .ownThreads)
struct SampleTests {
    @Test(
        "A sample's tree is the one that the contract demands, whatever the number of partitions",
        arguments: ["fixture", "hard-streams", "recorded-streams"], [1, 4])
    func samples(_ name: String, _ partitions: Int) throws {
        guard let (log, expected) = try sample(name) else { return }
        let world = try World(partitions: partitions)
        try world.log.append(log)
        try world.log.flush()
        let bridge = try world.startBridge()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: expected))
        #expect(try bridge.stop() == .code(0))
    }

    @Test(
        "Every interleaving of the topics gives the same tree", arguments: [1, 2, 3] as [UInt64])
    func interleavings(_ seed: UInt64) throws {
        var streams = HardStreams(seed: seed)
        let records = streams.records(conversations: 150)
        let world = try World()
        let bridge = try world.startBridge()
        // Read as it is written, so that the topics really interleave in the bridge.
        for part in streams.interleaved(records).split(every: 200) {
            try world.log.append(part)
            try world.log.flush()
        }
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(try bridge.stop() == .code(0))
    }

    /// Records and the tree that is written down for them; nil where it is not there.
    private func sample(_ name: String) throws -> (log: [LogRecord], expected: Node?)? {
        let (log, expected) =
            name == "fixture"
            ? (fixture("streams.jsonl"), fixture("streams.expected.json"))
            : ("\(shared)/samples/\(name).jsonl", "\(shared)/samples/\(name).expected.json.gz")
        guard isThere(log) else {
            print("skipped: no \(log)")
            return nil
        }
        return (try records(log), try Node.parse(read(expected)))
    }
}

extension Array {
    func split(every count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map {
            self[$0..<Swift.min($0 + count, self.count)]
        }
    }
}
