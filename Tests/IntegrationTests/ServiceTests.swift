import EventLoop
import Kafka
import Oracle
import TestSupport
import Testing

@Suite("A bridge under a service manager", .serialized, .ownThreads)
struct ServiceTests {
    /// A manager that listens, and a bridge that it started.
    private final class Service {
        let socket: NotifySocket
        let bridge: BridgeProcess
        private(set) var told: [String] = []

        init(
            _ world: World, _ settings: Settings, watchdog: Duration = .seconds(3),
            _ more: [String: String] = [:]
        ) throws {
            let name = "@" + uniqueName("notify")
            socket = try NotifySocket(name)
            let environment = Environment.all().merging([
                "NOTIFY_SOCKET": name,
                "WATCHDOG_USEC": String(watchdog.components.seconds * 1_000_000),
            ]) { $1 }.merging(more) { $1 }
            bridge = try BridgeProcess(settings, in: world.directory, environment: environment)
        }

        /// Waits for a message that has this line.
        func waitFor(_ line: String) throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < deadline {
                guard let message = socket.next(within: .seconds(1)) else { continue }
                told.append(message)
                if "\n\(message)".contains("\n\(line)") { return }
            }
            throw TimedOut(description: "not told: \(line)\n\(told)\n\(bridge.child.tail)")
        }
    }

    @Test("It tells when it serves, how it is, that it reloads and that it stops")
    func told() throws {
        let world = try World()
        let settings = world.settings()
        let service = try Service(world, settings)
        try service.waitFor("READY=1")
        #expect(service.told.count == 1, "nothing comes before it")
        try service.waitFor("STATUS=mirroring 12 partitions, lag 0.0 s, 0 tokens/s")
        try service.waitFor("WATCHDOG=1")
        try service.bridge.reload(settings.yaml + "surplus: 1\n")
        try service.waitFor("RELOADING=1")
        try service.waitFor("READY=1")
        #expect(service.told.last?.contains("STATUS=reload refused: ") == true)
        #expect(service.told.last?.contains("surplus") == true)
        try service.bridge.reload(settings.yaml)
        try service.waitFor("RELOADING=1")
        try service.waitFor("READY=1")
        try service.waitFor("STATUS=mirroring")
        service.bridge.child.process.send(.terminate)
        try service.waitFor("STOPPING=1")
        #expect(service.told.last?.contains("EXTEND_TIMEOUT_USEC=29000000") == true)
        #expect(try service.bridge.child.exit(within: .seconds(30)) == .code(0))
        try service.waitFor("STATUS=stopped with 0")
    }

    @Test("A database that hangs is told of, and is no reason for the watchdog to bite")
    func databaseHangs() throws {
        let world = try World()
        let settings = world.settings {
            $0.delivery = ["drain: 1s", "request_timeout: 1s", "retry_max: 1s"]
        }
        let service = try Service(world, settings)
        try service.waitFor("STATUS=mirroring")
        world.tree.child.freeze()
        var streams = HardStreams(seed: 90)
        try world.log.append(streams.records(conversations: 5))
        try world.log.flush()
        try service.waitFor("STATUS=not ready: ")
        for _ in 0..<3 { try service.waitFor("WATCHDOG=1") }
        #expect(service.bridge.page("/healthz")?.status == 200)
        world.tree.child.thaw()
        try service.waitFor("STATUS=mirroring")
        #expect(try service.bridge.stop() == .code(0))
    }

    @Test("A Kafka client that owes an answer for too long: no sign of life, until it answers")
    func wedged() throws {
        let cluster = try mock()
        let world = try World(partitions: 1, on: .mock(cluster))
        // Questions are asked every ten seconds, and fail after ten: answers are owed meanwhile.
        let service = try Service(
            world, world.settings(), ["FIREBRIDGE_TEST_ANSWER_LIMIT_MS": "1000"])
        try service.waitFor("STATUS=mirroring")
        try service.waitFor("WATCHDOG=1")
        #expect(service.bridge.page("/healthz")?.status == 200)
        cluster.freeze()
        try service.waitFor("STATUS=wedged: Kafka's client has answered nothing for 1 s")
        #expect(service.told.last?.contains("WATCHDOG=1") == false)
        let health = try #require(service.bridge.page("/healthz"))
        #expect(health.status == 503 && health.body.hasPrefix("wedged: "), "\(health)")
        #expect(service.bridge.child.says("\"event\":\"wedged\""))
        // A sign of life would come each second.
        let message = service.socket.next(within: .milliseconds(2500))
        #expect(message == nil, "\(message ?? "")")
        cluster.thaw()
        try service.waitFor("WATCHDOG=1")
        try eventually("it is healthy again", details: { service.bridge.child.tail }) {
            service.bridge.page("/healthz")?.status == 200
        }
        #expect(try service.bridge.stop() == .code(0))
    }

    @Test("A configuration that is wrong is told before it ends")
    func wrong() throws {
        let world = try World(partitions: nil)
        let service = try Service(world, world.settings { $0.delivery = ["lanes: none"] })
        try service.waitFor("STATUS=")
        #expect(service.told.last?.contains("delivery.lanes") == true)
        #expect(!service.told.contains { $0.contains("READY=1") })
        #expect(try service.bridge.child.exit(within: .seconds(20)) == .code(78))
    }
}
