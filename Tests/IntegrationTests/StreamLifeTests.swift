import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("A stream from its first token until it is cleaned up", .serialized, .ownThreads)
struct StreamLifeTests {
    private static let keep = Duration.seconds(10)

    private func chunk(_ index: Int, isFinal: Bool = false) -> LogRecord {
        let value = """
            {"conversation_id":"quiet","message_sequence":1,"run_id":"r","chunk_index":\(index),\
            "content":"\(index)","is_final":\(isFinal),"timestamp":"2026-11-01T00:00:0\(index)Z"}
            """
        return LogRecord(
            topic: LogRecord.chunks, key: Array("quiet".utf8), value: Array(value.utf8),
            timestamp: nil)
    }

    @Test("It falls silent and is stalled, revives, ends, and goes when it has been kept")
    func life() throws {
        let world = try World()
        let keep = "keep: \(Self.keep.components.seconds)s"
        let bridge = try world.startBridge(
            world.settings { $0.streams = ["stall_after: 3s", keep] })
        func say(_ record: LogRecord) throws {
            try world.log.append([record])
            try world.log.flush()
        }
        func stream() throws -> Node? { try world.tree.node("streaming/quiet/1") }
        func wait(for status: String, chunks: Int, error: String? = nil) throws {
            var found: Node?
            try eventually(
                "it is \(status)", details: { "\(String(describing: found))\n\(bridge.child.tail)" }
            ) {
                found = try stream()
                let meta = found?["meta"]
                return meta?["status"] == .text(status)
                    && meta?["error_message"] == error.map { .text($0) }
                    && found?["chunks"]?.children.count == chunks
            }
        }
        try say(chunk(0))
        try wait(for: "streaming", chunks: 1)
        try wait(for: "error", chunks: 1, error: "stalled")
        #expect(bridge.metrics.sum("firebridge_streams_stalled_total") == 1)
        try say(chunk(1))
        try wait(for: "streaming", chunks: 2)
        let began = ContinuousClock.now
        try say(chunk(2, isFinal: true))
        try wait(for: "complete", chunks: 3)
        try eventually("it is removed", details: { bridge.child.tail }) { try stream() == nil }
        #expect(ContinuousClock.now - began >= Self.keep)
        // What still comes of it is late.
        try say(chunk(1))
        try world.waitUntilDrained()
        #expect(try stream() == nil)
        #expect(bridge.metrics.sum("firebridge_chunks_late_total") >= 1)
        #expect(bridge.isReady)
        #expect(try bridge.stop() == .code(0))
    }
}
