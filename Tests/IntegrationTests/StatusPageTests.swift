import EventLoop
import HTTPClient
import Kafka
import Oracle
import TestSupport
import Testing

@Suite("What a running bridge tells of itself", .serialized, .ownThreads)
struct StatusPageTests {
    private static let families: Set<String> = [
        "records_consumed_total", "records_rejected_total", "writes_total", "status_stale_total",
        "chunks_late_total", "requests_total", "request_seconds", "delivery_seconds",
        "write_bytes_total", "retries_total", "lag_records", "lag_seconds", "unsettled_seconds",
        "in_flight_bytes", "streams_open", "streams_stalled_total", "dead_letters_total",
        "log_gaps_total", "chunk_gaps_total", "fenced_total", "erased_total",
        "assigned_partitions", "build_info",
    ]

    @Test("Every metric is there, the lag goes to 0, and a partition's series go with it")
    func metrics() throws {
        let world = try World()
        var streams = HardStreams(seed: 70)
        let records = streams.records(conversations: 60)
        let bridge = try world.startBridge()
        try world.log.append(records)
        try world.log.flush()
        try world.waitUntilDrained()
        try eventually("the lag is 0 in all partitions", details: { bridge.child.tail }) {
            let metrics = bridge.metrics
            let lags = metrics.samples("firebridge_lag_records").map(\.value)
            let ages = metrics.samples("firebridge_lag_seconds").map(\.value)
            return lags == Array(repeating: 0, count: 12) && ages == lags
        }
        let metrics = bridge.metrics
        let wanted = Set(Self.families.map { "firebridge_" + $0 })
        #expect(metrics.families.isSuperset(of: wanted), "\(wanted.subtracting(metrics.families))")
        #expect(metrics.sum("firebridge_records_consumed_total") == Double(records.count))
        for topic in World.defaults {
            let count = records.count { $0.topic == topic }
            let label = "topic=\"\(world.log.topic(topic))\""
            #expect(
                metrics.sum("firebridge_records_consumed_total", label) == Double(count))
        }
        #expect(metrics.sum("firebridge_assigned_partitions") == 12)
        #expect(metrics.sum("firebridge_build_info", "version=\"") == 1)
        #expect(metrics.sum("firebridge_in_flight_bytes") == 0)
        #expect(metrics.sum("firebridge_writes_total", "kind=\"chunk\"") > 0)
        #expect(metrics.sum("firebridge_requests_total", "code=\"20") > 0)
        #expect(metrics.sum("firebridge_write_bytes_total") > 0)
        #expect(metrics.sum("firebridge_delivery_seconds_count") > 0)
        #expect(metrics.sum("firebridge_request_seconds_count") > 0)
        #expect(metrics.samples("firebridge_unsettled_seconds").count == 4)

        let second = try world.startBridge()
        func hasHalf(_ bridge: BridgeProcess) -> Bool {
            let metrics = bridge.metrics
            let lags = ["firebridge_lag_records", "firebridge_lag_seconds"].map {
                metrics.samples($0).count
            }
            return metrics.sum("firebridge_assigned_partitions") == 6 && lags == [6, 6]
        }
        try eventually("each has half", details: { second.child.tail }) {
            hasHalf(bridge) && hasHalf(second)
        }
        func partitions(_ bridge: BridgeProcess) -> Set<String> {
            Set(bridge.metrics.samples("firebridge_lag_records").map(\.labels))
        }
        #expect(partitions(bridge).isDisjoint(with: partitions(second)))
        #expect(try second.stop() == .code(0))
        try eventually("the first has all again", details: { bridge.child.tail }) {
            bridge.metrics.samples("firebridge_lag_records").count == 12
        }
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Its log begins with the versions of itself and of the libraries that were loaded")
    func versions() throws {
        let world = try World(partitions: nil)
        let bridge = try world.startBridge()
        try eventually("it starts", details: { bridge.child.tail }) { bridge.base != nil }
        let line = try #require(bridge.child.lines.first { $0.contains(#""event":"started""#) })
        let event = try #require(try Node.parse(Array(line.utf8)))
        let libraries = HTTPClient.loadedVersions
        let expected = [
            "librdkafka": KafkaLibrary.version, "curl": libraries.curl,
            "openssl": libraries.openSSL,
        ]
        for (name, version) in expected {
            #expect(event[name]?.text.map { String(decoding: $0, as: UTF8.self) } == version)
            #expect(try #/[0-9]+\.[0-9]+\.[0-9]+/#.wholeMatch(in: version) != nil, "\(version)")
        }
        #expect(event["version"]?.text != nil)
        #expect(try bridge.stop() == .code(0))
    }

    /// Keeps so many connections open, each with a head that never ends; whoever is hung up on
    /// comes again.
    private func dawdlers(_ count: Int, at base: String) -> String {
        let place = base.replacing("http://", with: "/dev/tcp/").replacing(":", with: "/")
        return """
            trap '' PIPE
            fds=()
            while :; do
              for ((i = 0; i < \(count); i++)); do
                if [ -z "${fds[i]}" ]; then
                  exec {fd}<>\(place) && fds[i]=$fd && printf 'GET /healthz HTTP/1.1\\r\\nX: ' >&$fd
                elif ! printf x >&"${fds[i]}"; then
                  exec {fds[i]}>&- && fds[i]=
                fi
              done
              [ -e begun ] || touch begun
              sleep 0.1
            done 2> /dev/null

            """
    }

    @Test("Health is told while hundreds of clients send their requests byte by byte")
    func dawdled() throws {
        let world = try World()
        let bridge = try world.startBridge()
        try bridge.waitUntilReady()
        try File.write(
            world.directory + "/dawdle", Array(dawdlers(300, at: bridge.base ?? "").utf8))
        let crowd = try Subprocess(["bash", "dawdle"], directory: world.directory)
        defer { crowd.send(.kill) }
        try eventually("all have come", details: { bridge.child.tail }) {
            isThere("\(world.directory)/begun")
        }
        let began = ContinuousClock.now
        for _ in 0..<20 {
            // Each by a connection of its own.
            #expect(Web().get("\(bridge.base ?? "")/healthz", within: .seconds(5))?.status == 200)
        }
        #expect(ContinuousClock.now - began < .seconds(10))
        #expect(bridge.isReady)
        crowd.send(.kill)
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Health, readiness and status answer, also while the tree is silent")
    func pages() throws {
        let world = try World()
        var streams = HardStreams(seed: 71)
        let records = streams.records(conversations: 40)
        let bridge = try world.startBridge(
            world.settings { $0.delivery = ["request_timeout: 1s", "retry_max: 1s"] })
        try bridge.waitUntilReady()
        world.tree.child.freeze()
        try world.log.append(records)
        try world.log.flush()
        try bridge.waitUntilNotReady("lane")
        #expect(bridge.page("/healthz")?.status == 200)
        let status = try #require(bridge.status)
        for name in ["version", "uptime_seconds", "config_hash", "partitions", "lanes"] {
            #expect(status[name] != nil, "\(name)")
        }
        let partitions = try #require(status["partitions"]).children
        #expect(partitions.count == 12)
        for name in ["topic", "partition", "position", "committed", "lag"] {
            #expect(partitions.allSatisfy { $0.node[name] != nil }, "\(name)")
        }
        let lanes = try #require(status["lanes"]).children
        #expect(lanes.count == 4)
        #expect(
            lanes.contains { $0.node["oldest_unsettled_ms"] != nil && $0.node["reason"] != nil })
        #expect(lanes.contains { $0.node["last_error"] != nil })
        #expect(bridge.metrics.sum("firebridge_retries_total", "unavailable") > 0)
        #expect(bridge.metrics.sum("firebridge_unsettled_seconds") > 0)
        #expect(bridge.metrics.sum("firebridge_in_flight_bytes") > 0)
        world.tree.child.thaw()
        try bridge.waitUntilReady()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        #expect(bridge.page("/nothing")?.status == 404)
        #expect(try bridge.stop() == .code(0))
    }
}
