import BridgeCore
import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("Erasing, end to end", .serialized, .ownThreads)
struct EraseTests {
    @Test("An erased conversation does not come back with a new group, later records of it do")
    func erased() throws {
        let world = try World()
        var streams = HardStreams(seed: 70)
        let records = streams.records(conversations: 30)
        let bridge = try world.startBridge()
        try world.log.append(records)
        try world.log.flush()
        try world.waitUntilDrained()
        #expect(try bridge.stop() == .code(0))
        let id = try #require(records[0].key)
        let name = String(decoding: id, as: UTF8.self)
        let kept = expectedTree(of: records.filter { $0.key != id })

        let dry = try world.command(["erase", "--conversation", name, "--dry-run"])
        #expect(
            dry.exit == .code(0) && dry.lines.contains { $0.hasPrefix("would remove streaming/") })
        expectNone(try world.tree.differences(from: records))
        let done = try world.command(["erase", "--conversation", name])
        #expect(done.exit == .code(0), "\(done.lines)")
        #expect(done.lines.first?.hasPrefix("removed ") == true, "\(done.lines)")
        expectNone(try world.tree.differences(from: kept))
        let again = try world.command(["erase", "--conversation=\(name)"])
        #expect(again.exit == .code(0))
        #expect(again.lines.first == "nothing was there to remove: it was erased before")

        // The whole log again, by another group, which need not wait.
        let group = "\(world.name)-again"
        let next = try world.startBridge(world.settings(group: group))
        try world.waitUntilDrained(group: group)
        expectNone(try world.tree.differences(from: kept))
        let count = records.count { $0.key == id }
        #expect(next.metrics.sum("firebridge_erased_total") == Double(count))
        let value = #"{"message_sequence":1,"run_id":"later","content":"new"}"#
        try world.log.append(
            LogRecord.chunks, key: id, value: Array(value.utf8),
            timestamp: ContinuousTime.wall + 60_000)
        try world.log.flush()
        try world.waitUntilDrained(group: group)
        let path = [
            "streaming", String(decoding: Key.escape(id), as: UTF8.self), "1", "chunks", "0",
        ]
        #expect(
            try world.tree.node()?.at(path.map { Array($0.utf8) })?["content"] == .text("new"))
        #expect(try next.stop() == .code(0))
    }

    @Test("A conversation that was never seen gets its mark, and says so")
    func unseen() throws {
        let world = try World()
        let done = try world.command(["erase", "--conversation", "nobody"])
        #expect(done.exit == .code(0))
        #expect(done.lines.first == "nothing was there to remove; records may still be in the log")
        let bridge = try world.startBridge()
        let value = #"{"message_sequence":1,"run_id":"r","content":"old"}"#
        try world.log.append(
            LogRecord.chunks, key: Array("nobody".utf8), value: Array(value.utf8),
            timestamp: ContinuousTime.wall - 60_000)
        try world.log.flush()
        try world.waitUntilDrained()
        #expect(try world.tree.node("streaming") == nil)
        #expect(bridge.metrics.sum("firebridge_erased_total") == 1)
        #expect(try bridge.stop() == .code(0))
    }
}

/// This machine's clock.
private enum ContinuousTime {
    /// Milliseconds since 1970.
    static var wall: Int64 { Clock.now().wall }
}
