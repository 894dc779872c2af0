import EventLoop
import Oracle
import TestSupport
import Testing

/// Contract section 7 in the real bridge: what lies in the tree and what Kafka has may disagree.
@Suite("State beside the data", .serialized, .ownThreads)
struct StateTests {
    private let world: World
    private let records: [LogRecord]
    private var half: Int { records.count / 2 }
    private var marks: String { "_firebridge/watermarks/\(world.name)" }

    init() throws {
        world = try World()
        var streams = HardStreams(seed: 70)
        records = streams.records(conversations: 60)
    }

    private func append(_ records: some Sequence<LogRecord>) throws {
        try world.log.append(records)
        try world.log.flush()
    }

    /// Mirrors what is in the log, and stops.
    private func mirrorAll() throws {
        let bridge = try world.startBridge()
        try world.waitUntilDrained()
        #expect(try bridge.stop() == .code(0))
    }

    /// Mirrors what is in the log by a bridge that complains.
    private func mirrorAll(saying event: String) throws {
        let bridge = try world.startBridge()
        try eventually("it says \(event)", details: { bridge.child.tail }) {
            bridge.child.says("\"event\":\"\(event)\"")
        }
        try world.waitUntilDrained()
        #expect(bridge.isReady)
        #expect(try bridge.stop() == .code(0))
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try world.tree.json(path), as: UTF8.self)
    }

    @Test("A database that was set back to a backup is brought up to the log's end again")
    func setBack() throws {
        try append(records.prefix(half))
        try mirrorAll()
        let backup = try text("")
        try append(records.dropFirst(half))
        try mirrorAll()
        try world.tree.put("", backup)
        try mirrorAll(saying: "database_set_back")
        expectNone(try world.tree.differences(from: records))
    }

    @Test("A database that was emptied is an alarm; what is committed is not read again by itself")
    func emptied() throws {
        try append(records)
        try mirrorAll()
        try world.tree.put("", "null")
        var streams = HardStreams(seed: 71)
        let later = streams.records(conversations: 20)
        try append(later)
        try mirrorAll(saying: "watermark_missing")
        expectNone(try world.tree.differences(from: later))
        // A new group brings the rest back.
        let again = "\(world.name)-again"
        let bridge = try world.startBridge(world.settings(group: again))
        try world.waitUntilDrained(group: again)
        expectNone(try world.tree.differences(from: records + later))
        #expect(try bridge.stop() == .code(0))
    }

    @Test("The watermark of another cluster's log counts for nothing")
    func anotherCluster() throws {
        try append(records.prefix(half))
        try mirrorAll()
        let own = try text(marks)
        let parts = own.split(separator: "\"cluster\":\"", omittingEmptySubsequences: false)
        try #require(parts.count > 1)
        let changed = parts.joined(separator: "\"cluster\":\"elsewhere")
        try world.tree.put(marks, changed)
        try append(records.dropFirst(half))
        try mirrorAll(saying: "watermark_of_another_cluster")
        expectNone(try world.tree.differences(from: records))
        #expect(try !text(marks).contains("elsewhere"))
    }

    @Test("A watermark beyond the log's end, as of a topic that was made anew, counts for nothing")
    func beyondEnd() throws {
        try append(records.prefix(half))
        try mirrorAll()
        let parts = try text(marks).split(separator: "\"next\":", omittingEmptySubsequences: false)
        try #require(parts.count > 1)
        try world.tree.put(marks, parts.joined(separator: "\"next\":9999"))
        try append(records.dropFirst(half))
        try mirrorAll(saying: "watermark_beyond_end")
        expectNone(try world.tree.differences(from: records))
    }

    @Test("State of a newer version is left alone, and told of, until it is gone")
    func newerVersion() throws {
        try append(records.prefix(half))
        try mirrorAll()
        let version = try text("_firebridge/version")
        try world.tree.put("_firebridge/version", "99")
        let before = try text("")
        try append(records.dropFirst(half))
        let bridge = try world.startBridge(world.settings { $0.delivery = ["retry_max: 1s"] })
        try eventually("it says so", details: { bridge.child.tail }) {
            bridge.child.says("\"event\":\"state_too_new\"")
        }
        #expect(!bridge.isReady)
        #expect(try text("") == before)
        try world.tree.put("_firebridge/version", version)
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(try bridge.stop() == .code(0))
    }
}
