import BridgeCore
import EventLoop
import HTTPClient
import Oracle
import TestSupport
import Testing

@Suite("Signals, exit codes and what keeps a bridge from being ready", .serialized, .ownThreads)
struct SignalTests {
    private func records(_ seed: UInt64, _ conversations: Int = 60) -> [LogRecord] {
        var streams = HardStreams(seed: seed)
        return streams.records(conversations: conversations)
    }

    @Test("SIGTERM delivers what was read, commits it and exits 0")
    func drained() throws {
        let world = try World()
        let records = records(60, 200)
        let bridge = try world.startBridge(
            world.settings { $0.delivery = ["batch_writes_max: 5", "lanes: 2"] })
        try world.log.append(records)
        try world.log.flush()
        try eventually("it has begun", details: { bridge.child.tail }) {
            bridge.metrics.sum("firebridge_records_consumed_total") > 0
        }
        #expect(try bridge.stop() == .code(0))
        // Everything that was read is committed, and the rest is read by the next one.
        let positions = try world.offsets().positions()
        let committed = positions.values.reduce(0) { $0 + ($1.committed ?? 0) }
        #expect(committed > 0)
        let next = try world.startBridge()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(try next.stop() == .code(0))
        #expect(try world.offsets().isDrained())
    }

    /// The tree falls silent, and the bridge has read records that it cannot deliver.
    private func silence(_ world: World, _ records: [LogRecord], _ bridge: BridgeProcess) throws {
        world.tree.child.freeze()
        try world.log.append(records)
        try world.log.flush()
        try eventually("records are read", details: { bridge.child.tail }) {
            bridge.metrics.sum("firebridge_records_consumed_total") > 0
        }
    }

    @Test("SIGTERM while the tree is silent exits 75 within its time, and nothing is lost")
    func undelivered() throws {
        let world = try World()
        let records = records(61)
        let settings = world.settings { $0.delivery = ["drain: 2s", "request_timeout: 1s"] }
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        try silence(world, records, bridge)
        let began = ContinuousClock.now
        let exit = try bridge.stop()
        #expect(exit == .code(75), "\(bridge.child.tail)")
        #expect(ContinuousClock.now - began < .seconds(12))
        world.tree.child.thaw()
        let next = try world.startBridge(settings)
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(try next.stop() == .code(0))
    }

    @Test("A second SIGTERM exits at once with 75")
    func twice() throws {
        let world = try World()
        let bridge = try world.startBridge(world.settings { $0.delivery = ["drain: 60s"] })
        try bridge.waitUntilReady()
        try silence(world, records(62), bridge)
        bridge.child.process.send(.terminate)
        try eventually("it is stopping", details: { bridge.child.tail }) {
            bridge.child.says("\"event\":\"stopping\"")
        }
        let began = ContinuousClock.now
        #expect(try bridge.stop() == .code(75))
        #expect(ContinuousClock.now - began < .seconds(5))
    }

    @Test("A reload that could not deliver what was read says so, and reads it again")
    func reloadedInSilence() throws {
        let world = try World()
        let records = records(68, 20)
        let settings = world.settings { $0.delivery = ["drain: 1s", "request_timeout: 1s"] }
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        try silence(world, records, bridge)
        bridge.child.process.send(.hangUp)
        try eventually("it tells", details: { bridge.child.tail }) {
            bridge.child.says("stopped_undelivered")
        }
        world.tree.child.thaw()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A bad configuration at SIGHUP is refused with its errors, a good one is taken")
    func reloaded() throws {
        let world = try World()
        let (first, second, third) = (records(63, 20), records(64, 20), records(65, 20))
        let settings = world.settings()
        let bridge = try world.startBridge(settings)
        func mirror(_ part: [LogRecord]) throws {
            try world.log.append(part)
            try world.log.flush()
            try world.waitUntilDrained()
        }
        // Conversations of the same numbers are the same ones: only the last word counts.
        try mirror(first)
        try bridge.reload(settings.yaml + "surplus: 1\n")
        try eventually("it refuses", details: { bridge.child.tail }) {
            bridge.child.says("reload_refused") && bridge.child.says("surplus")
        }
        try mirror(second)
        #expect(bridge.isReady)
        let consumed = bridge.metrics.sum("firebridge_records_consumed_total")
        #expect(consumed == Double(first.count + second.count))
        var changed = settings
        changed.delivery = ["lanes: 1"]
        try bridge.reload(changed.yaml)
        try eventually("it starts anew", details: { bridge.child.tail }) {
            bridge.child.lines.count { $0.contains("\"event\":\"started\"") } == 2
        }
        try bridge.waitUntilReady()
        try mirror(third)
        expectNone(try world.tree.differences(from: first + second + third))
        #expect(
            bridge.metrics.sum("firebridge_records_consumed_total") != consumed,
            "counters go on after a reload")
        #expect(bridge.status?["lanes"]?.children.count == 1)
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A new configuration that cannot be listened to is refused like a bad one")
    func reloadedOntoTakenPort() throws {
        let world = try World()
        let settings = world.settings()
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        var changed = settings
        changed.listen = String(world.tree.base.dropFirst("http://".count))
        try bridge.reload(changed.yaml)
        try eventually("it says so", details: { bridge.child.tail }) {
            bridge.child.says("Address already in use")
        }
        try bridge.waitUntilReady()
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A certificate of Kafka's that is replaced is read again without a word from anybody")
    func certificateRenewed() throws {
        let world = try World()
        let file = world.directory + "/ca.pem"
        try File.write(file, Array("one".utf8))
        var settings = world.settings()
        settings.properties = ["ssl.ca.location: \(file)"]
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        #expect(!bridge.child.says("kafka_files_changed"))
        try File.write(file, Array("another".utf8))
        try eventually("it begins anew", details: { bridge.child.tail }) {
            bridge.child.says("kafka_files_changed")
                && bridge.child.lines.count { $0.contains("\"event\":\"started\"") } == 2
        }
        try bridge.waitUntilReady()
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Properties that are good one by one and bad together are refused before anything moves")
    func reloadedTorn() throws {
        let world = try World()
        let settings = world.settings()
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        var torn = settings
        torn.listen = "127.0.0.2:0"
        torn.properties = ["session.timeout.ms: 400000", "max.poll.interval.ms: 1000"]
        try bridge.reload(torn.yaml)
        try eventually("it refuses", details: { bridge.child.tail }) {
            bridge.child.says("reload_refused")
        }
        #expect(bridge.isReady, "\(bridge.child.tail)")
        #expect(!bridge.child.says("\"event\":\"reloading\""))
        #expect(!bridge.child.says("\"event\":\"revoked\""))
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A configuration that turns bad while what was read is delivered leaves the old address")
    func reloadedTooLate() throws {
        let world = try World()
        let settings = world.settings { $0.delivery = ["drain: 60s", "request_timeout: 1s"] }
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        let authority = "\(world.directory)/ca.pem"
        #expect(
            shell(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a"
                    + " -keyout /dev/null -out '\(authority)' 2> /dev/null") == 0)
        let records = records(69, 20)
        try silence(world, records, bridge)
        var next = settings
        next.listen = "127.0.0.2:0"
        next.properties = ["security.protocol: ssl", "ssl.ca.location: \(authority)"]
        try bridge.reload(next.yaml)
        try eventually("it drains", details: { bridge.child.tail }) {
            bridge.child.says("\"event\":\"reloading\"")
        }
        #expect(shell("rm '\(authority)'") == 0)
        world.tree.child.thaw()
        try eventually("it refuses", details: { bridge.child.tail }) {
            bridge.child.says("reload_refused")
        }
        // Asked at the address that it told at its start.
        try bridge.waitUntilReady()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        // And a good one is taken after it.
        var moved = settings
        moved.listen = "127.0.0.2:0"
        try bridge.reload(moved.yaml)
        try eventually("it moves", details: { bridge.child.tail }) {
            bridge.child.says("http://127.0.0.2:")
        }
        try eventually("nobody answers at the old address") { bridge.page("/healthz") == nil }
        #expect(try bridge.stop() == .code(0))
    }

    @Test("A SIGHUP while what was read is delivered counts: the last configuration takes effect")
    func reloadedTwice() throws {
        let world = try World()
        let settings = world.settings { $0.delivery = ["drain: 60s", "request_timeout: 1s"] }
        let bridge = try world.startBridge(settings)
        try bridge.waitUntilReady()
        try silence(world, records(70, 20), bridge)
        func reload(lanes: Int) throws {
            var next = settings
            next.listen = "127.0.0.2:0"
            next.delivery += ["lanes: \(lanes)"]
            let told = bridge.child.lines.count
            try bridge.reload(next.yaml)
            try eventually("it tells", details: { bridge.child.tail }) {
                bridge.child.lines.dropFirst(told).contains {
                    $0.contains("\"event\":\"reloading\"")
                }
            }
        }
        try reload(lanes: 2)
        try reload(lanes: 3)
        // What cannot be used changes nothing of what is to come.
        try bridge.reload(settings.yaml + "surplus: 1\n")
        try eventually("it refuses", details: { bridge.child.tail }) {
            bridge.child.says("surplus")
        }
        world.tree.child.thaw()
        try eventually("it starts anew", details: { bridge.child.tail }) {
            bridge.child.lines.count { $0.contains("\"event\":\"started\"") } == 2
        }
        let moved = try #require(bridge.child.lines.last { $0.contains("http://127.0.0.2:") })
        let rest = try #require(moved.firstRange(of: "http://127.0.0.2:"))
        let base = moved[rest.lowerBound...].prefix { $0 != "\"" }
        let web = Web()
        try eventually("three lanes", details: { bridge.child.tail }) {
            let body = web.get(base + "/status", within: .seconds(5))?.body ?? []
            return try Node.parse(body)?["lanes"]?.children.count == 3
        }
        #expect(try bridge.stop() == .code(0))
    }

    @Test("What `run` has against a database's URL, `check` says at its place")
    func urlChecked() throws {
        let world = try World(partitions: nil)
        for url in ["http://tree.example.com/?ns=demo", "http://[fd00::1]:9000", "https://a/a%2Eb"]
        {
            let settings = world.settings {
                $0.url = url
                $0.credentials = ["type: none"]
            }
            let checked = try world.command(["check"], settings)
            #expect(checked.exit == .code(78), "\(url)")
            #expect(
                checked.lines.contains { $0.contains(": database.url: expected ") },
                "\(checked.lines)")
        }
    }

    @Test("A bad configuration, or an address that is taken, exits 78 and says why")
    func configuration() throws {
        let world = try World(partitions: nil)
        let bad = try world.startBridge(world.settings { $0.delivery = ["lanes: none"] })
        #expect(try bad.child.exit(within: .seconds(20)) == .code(78))
        #expect(bad.child.says("lanes"))
        // Good one by one, bad together: `check` says so too.
        let torn = world.settings {
            $0.properties = ["session.timeout.ms: 400000", "max.poll.interval.ms: 1000"]
        }
        let checked = try world.command(["check"], torn)
        #expect(checked.exit == .code(78))
        #expect(checked.lines.contains { $0.contains("max.poll.interval.ms") })
        // Bad only for the producer of dead letters, which begins with the first one.
        for (reject, exit) in [("dead_letter", Int32(78)), ("skip", 0)] {
            let hasty = world.settings {
                $0.properties = ["max.in.flight: 10"]
                $0.delivery = ["reject: \(reject)"]
            }
            let checked = try world.command(["check"], hasty)
            #expect(checked.exit == .code(exit), "\(checked.lines)")
            #expect(exit == 0 || checked.lines.contains { $0.contains("max.in.flight") })
        }
        let taken = String(world.tree.base.dropFirst("http://".count))
        let deaf = try world.startBridge(world.settings { $0.listen = taken })
        #expect(try deaf.child.exit(within: .seconds(20)) == .code(78))
        #expect(deaf.child.says("Address already in use"))
    }

    @Test(
        "Topics that are missing make it not ready, and are mirrored once they exist",
        .enabled(if: RealKafka.isThere, "skipped: the mock broker makes what it is asked for"))
    func missingTopics() throws {
        let world = try World(partitions: nil)
        let bridge = try world.startBridge()
        try bridge.waitUntilNotReady(
            "topics that do not exist: \(world.log.topic(LogRecord.messages))")
        #expect(bridge.page("/healthz")?.status == 200)
        let told = bridge.child.lines.filter { $0.contains("\"event\":\"topic_missing\"") }
        for topic in World.defaults.map(world.log.topic) + ["\(world.name).dead-letters"] {
            #expect(told.contains { $0.contains("\"topic\":\"\(topic)\"") }, "\(topic)")
        }
        let records = records(66)
        try world.touch(World.defaults)
        try world.log.append(records)
        try world.log.flush()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        try bridge.waitUntilReady()
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Topics of one stream with unequal partitions are not consumed, the others are")
    func unequalPartitions() throws {
        let world = try World(partitions: nil)
        try world.touch([LogRecord.chunks, LogRecord.messages])
        try world.create(LogRecord.runs, partitions: 3)
        let records = records(67)
        try world.log.append(records)
        try world.log.flush()
        let bridge = try world.startBridge()
        try bridge.waitUntilNotReady("differ in their number of partitions")
        try world.waitUntilDrained(topics: [LogRecord.messages])
        let messages = records.filter { $0.topic == LogRecord.messages }
        #expect(!messages.isEmpty)
        expectNone(try world.tree.differences(from: messages))
        #expect(
            bridge.notReady?.contains {
                $0.contains(world.log.topic(LogRecord.chunks))
                    && $0.contains(world.log.topic(LogRecord.runs))
            } == true)
        let positions = try world.offsets(topics: [LogRecord.chunks, LogRecord.runs]).positions()
        #expect(positions.values.allSatisfy { ($0.committed ?? 0) == 0 })
        #expect(try bridge.stop() == .code(0))
    }
}
