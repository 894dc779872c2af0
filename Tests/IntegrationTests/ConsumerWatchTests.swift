import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("A Kafka client that stands still is replaced", .serialized, .ownThreads)
struct ConsumerWatchTests {
    @Test(
        "The new client joins beside what is left of the old one, and everything is mirrored once")
    func replaced() throws {
        let world = try World()
        var streams = HardStreams(seed: 91)
        let records = streams.records(conversations: 20)
        // While the tree is silent the first one does not give its partitions back: it has to
        // deliver what it has read.
        let first = try world.startBridge(world.settings { $0.delivery = ["drain: 30s"] })
        try first.waitUntilReady()
        world.tree.child.freeze()
        try world.log.append(records)
        try world.log.flush()
        try eventually("it reads", details: { first.child.tail }) {
            first.metrics.sum("firebridge_in_flight_bytes") > 0
        }
        var environment = Environment.all()
        environment["FIREBRIDGE_TEST_CONSUMER_PATIENCE_MS"] = "1000"
        let bridge = try BridgeProcess(
            world.settings(), in: world.directory, name: "impatient", environment: environment)
        defer { bridge.child.process.send(.kill) }
        try eventually("it is given up", within: .seconds(60), details: { bridge.child.tail }) {
            bridge.child.says("consumer_stuck")
        }
        world.tree.child.thaw()
        try world.waitUntilDrained()
        expectNone(try world.tree.differences(from: records))
        try bridge.waitUntilReady()
        #expect(try first.stop() == .code(0))
        #expect(bridge.page("/healthz")?.status == 200)
        #expect(try bridge.stop() == .code(0))
    }
}
