import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("Memory and processor time", .serialized)
struct ResourceTests {
    private static let count =
        Environment.value("FIREBRIDGE_RECORDS").flatMap { Int($0) } ?? 200_000
    private static let megabyte = 1 << 20

    /// A chunk of 235 bytes.
    private func chunk(_ number: Int) -> (key: [UInt8], value: [UInt8]) {
        let id = "conversation-\(1000 + number % 1000)"
        let head = """
            {"conversation_id":"\(id)","message_sequence":"1","run_id":"run-1","chunk_index":\
            \(number / 1000),"type":"STREAM_CHUNK_TYPE_TEXT","timestamp":"2026-11-01T00:00:00Z",\
            "is_final":false,"content":"
            """
        let padding = max(0, 233 - head.utf8.count)
        return (Array(id.utf8), Array((head + String(repeating: "w", count: padding) + "\"}").utf8))
    }

    @Test("With a tree that is silent and many records waiting, memory stays under 150 MB")
    func memory() throws {
        let world = try World()
        let bridge = try world.startBridge(
            world.settings { $0.delivery = ["request_timeout: 2s", "retry_max: 1s", "drain: 2s"] })
        try bridge.waitUntilReady()
        world.tree.child.freeze()
        for number in 0..<Self.count {
            let (key, value) = chunk(number)
            try world.log.append(LogRecord.chunks, key: key, value: value)
        }
        try world.log.flush()
        try eventually("all of it waits", details: { bridge.child.tail }) {
            let consumed = bridge.metrics.sum("firebridge_records_consumed_total")
            let lag = bridge.metrics.sum("firebridge_lag_records")
            return consumed > 0 && lag + consumed >= Double(Self.count)
        }
        var last = -1.0
        var unchanged = 0
        try eventually("it reads no more", details: { bridge.child.tail }) {
            let consumed = bridge.metrics.sum("firebridge_records_consumed_total")
            unchanged = consumed == last ? unchanged + 1 : 0
            last = consumed
            pause(.milliseconds(200))
            return unchanged > 10
        }
        let peak = bridge.child.peakBytes
        print("ResourceTests: \(Self.count) records wait, peak memory \(peak / Self.megabyte) MB")
        #expect(peak > 0 && peak < 150 * Self.megabyte)
        #expect(bridge.metrics.sum("firebridge_in_flight_bytes") <= Double(17 * Self.megabyte))
        #expect(bridge.page("/healthz")?.status == 200)
        #expect(try bridge.stop() == .code(75))
    }

    @Test("Idle, it takes less than a hundredth of a processor")
    func idle() throws {
        let world = try World()
        var streams = HardStreams(seed: 91)
        // Kafka's client as users have it, without the haste of the other tests.
        let bridge = try world.startBridge(
            world.settings {
                $0.properties = [
                    "session.timeout.ms: 30000", "heartbeat.interval.ms: 3000",
                    "fetch.wait.max.ms: 50", "topic.metadata.refresh.interval.ms: 10000",
                ]
                $0.streams = []
            })
        try world.log.append(streams.records(conversations: 30))
        try world.log.flush()
        try world.waitUntilDrained()
        let before = (bridge.child.processorSeconds, ContinuousClock.now)
        pause(.seconds(5))
        let used = bridge.child.processorSeconds - before.0
        let length = (ContinuousClock.now - before.1) / .seconds(1)
        print("ResourceTests: idle processor time \(used / length * 100) %")
        #expect(before.0 > 0)
        #expect(used / length < 0.01)
        #expect(try bridge.stop() == .code(0))
    }
}
