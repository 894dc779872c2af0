import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("Crashes, replays and removals", .serialized, .ownThreads)
struct CrashTests {
    /// Small batches, so that there is always something under way.
    private let small = ["lanes: 2", "batch_writes_max: 3"]

    @Test("Killed at twenty moments, the bridge leaves the tree as the log says")
    func killedOften() throws {
        let world = try World()
        var streams = HardStreams(seed: 20)
        var random = SplitMix64(seed: 21)
        let records = streams.interleaved(streams.records(conversations: 200))
        let settings = world.statically(world.settings { $0.delivery = small }, "only")
        let listener = StatusListener(world.tree)
        // Without static membership each restart waits for the end of the dead member's session.
        let kills = world.broker.isReal ? 20 : 4
        var interrupted = 0
        for part in records.split(every: records.count / kills + 1) {
            try world.log.append(part)
            try world.log.flush()
            let bridge = try world.startBridge(settings)
            try eventually("a bridge reads", details: { bridge.child.tail }) {
                try listener.step()
                return bridge.child.says("\"event\":\"reading\"")
            }
            let moment = ContinuousClock.now + .milliseconds(random.int(0..<250))
            while ContinuousClock.now < moment {
                try listener.step()
                pause(.milliseconds(2))
            }
            try bridge.child.kill()
            if try !world.offsets().isDrained() { interrupted += 1 }
        }
        let bridge = try world.startBridge(settings)
        try world.waitUntilDrained { try listener.step() }
        expectNone(try world.tree.differences(from: records))
        #expect(interrupted > kills / 2, "kills that met something under way")
        #expect(try bridge.stop() == .code(0))
        try listener.step()
        #expect(listener.falls == [])
        #expect(listener.changes > 20 && listener.connections == 1)
    }

    @Test("When one of two instances is killed half-way, the other one mirrors the rest")
    func oneOfTwo() throws {
        let world = try World()
        var streams = HardStreams(seed: 30)
        let records = streams.records(conversations: 200)
        let settings = world.settings { $0.delivery = small }
        let first = try world.startBridge(settings)
        let second = try world.startBridge(settings)
        try eventually("both have partitions", details: { second.child.tail }) {
            [first, second].allSatisfy { bridge in
                bridge.isReady && bridge.metrics.sum("firebridge_assigned_partitions") == 6
            }
        }
        try world.log.append(records)
        try world.log.flush()
        try eventually("half of it is mirrored", details: { second.child.tail }) {
            let consumed = [first, second].map {
                $0.metrics.sum("firebridge_records_consumed_total")
            }
            return consumed.allSatisfy { $0 > 0 }
                && consumed.reduce(0, +) >= Double(records.count / 3)
        }
        try second.child.kill()
        try world.waitUntilDrained()
        #expect(first.metrics.sum("firebridge_assigned_partitions") == 12)
        expectNone(try world.tree.differences(from: records))
        #expect(try first.stop() == .code(0))
    }

    @Test("A new group waits while another one is live, then restores what was removed by hand")
    func replayed() throws {
        let world = try World()
        var streams = HardStreams(seed: 40)
        let records = streams.records(conversations: 80)
        let first = try world.startBridge()
        try world.log.append(records)
        try world.log.flush()
        try world.waitUntilDrained()
        let second = try world.startBridge(world.settings(group: "\(world.name)-again"))
        try second.waitUntilNotReady("group '\(world.name)' mirrors into this tree")
        #expect(second.page("/healthz")?.status == 200)
        #expect(first.isReady)
        #expect(second.metrics.sum("firebridge_records_consumed_total") == 0)
        #expect(try second.stop() == .code(0))
        #expect(try first.stop() == .code(0))

        let listener = StatusListener(world.tree)
        let gone = try remove(every: 3, of: "streaming", in: world)
        #expect(gone > 10)
        #expect(try !world.tree.differences(from: records).isEmpty)
        let third = try world.startBridge(world.settings(group: "\(world.name)-again"))
        try world.waitUntilDrained(group: "\(world.name)-again") { try listener.step() }
        expectNone(try world.tree.differences(from: records))
        #expect(third.isReady)
        #expect(try third.stop() == .code(0))
        try listener.step()
        #expect(listener.falls == [])
    }

    @Test("Status and event nodes that were removed by hand come back as well")
    func restoredStatus() throws {
        let world = try World()
        var streams = HardStreams(seed: 41)
        let records = streams.records(conversations: 60)
        try world.log.append(records)
        try world.log.flush()
        let first = try world.startBridge()
        try world.waitUntilDrained()
        #expect(try first.stop() == .code(0))
        #expect(try remove(every: 2, of: "conversations", in: world) > 5)
        #expect(try remove(every: 2, of: "events", in: world) > 0)
        let second = try world.startBridge(world.settings(group: "\(world.name)-again"))
        try world.waitUntilDrained(group: "\(world.name)-again")
        expectNone(try world.tree.differences(from: records))
        #expect(try second.stop() == .code(0))
    }

    @Test("A listener never sees a status fall back, whatever is shuffled, doubled and replayed")
    func statusNeverFalls() throws {
        let world = try World()
        let listener = StatusListener(world.tree)
        var streams = HardStreams(seed: 50)
        let records = streams.records(conversations: 250).filter { $0.topic == LogRecord.runs }
        let bridge = try world.startBridge()
        for part in (records + records).split(every: 40) {
            try world.log.append(part)
            try world.log.flush()
            try listener.step()
        }
        try world.waitUntilDrained { try listener.step() }
        #expect(try bridge.stop() == .code(0))
        let again = try world.startBridge(world.settings(group: "\(world.name)-again"))
        try world.waitUntilDrained(group: "\(world.name)-again") { try listener.step() }
        #expect(again.metrics.sum("firebridge_status_stale_total") > 0)
        #expect(try again.stop() == .code(0))
        try listener.step()
        #expect(listener.falls == [])
        #expect(listener.changes > 50)
        let status = try #require(try world.tree.node("conversations"))
        #expect(status == expectedTree(of: records + records)?["conversations"])
    }

    /// Removes every n-th child of a place, as an operator would.
    private func remove(every step: Int, of place: String, in world: World) throws -> Int {
        let keys = try world.tree.node(place)?.children.map(\.key) ?? []
        let chosen = stride(from: 0, to: keys.count, by: step).map { keys[$0] }
        for key in chosen { try world.tree.remove([Array(place.utf8), key]) }
        return chosen.count
    }
}
