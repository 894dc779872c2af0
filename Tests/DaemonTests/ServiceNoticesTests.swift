import BridgeCore
import EventLoop
import TestSupport
import Testing

@testable import Daemon

@Suite("What a service manager is told", .ownThreads) struct ServiceNoticesTests {
    private func at(_ seconds: Int64) -> Moment {
        Moment(monotonic: seconds * 1_000_000_000, wall: 0)
    }

    /// A socket, and notices that go there.
    private func listened(_ more: [String: String] = [:]) throws -> (NotifySocket, ServiceNotices) {
        let name = "@" + uniqueName("notices")
        let socket = try NotifySocket(name)
        let environment = ["NOTIFY_SOCKET": name].merging(more) { $1 }
        return (socket, ServiceNotices(ServiceManager(environment)))
    }

    @Test("A sign of life goes with each tick while all parts move, and with none while one hangs")
    func signs() throws {
        let (socket, fresh) = try listened(["WATCHDOG_USEC": "3000000"])
        var notices = fresh
        func next() -> String? { socket.next(within: .zero) }
        notices.ready("well", at: at(0))
        #expect(next() == "READY=1\nSTATUS=well")
        notices.tick(at: at(1), isAlive: { true }, status: { "well" })
        #expect(next() == "WATCHDOG=1")
        notices.tick(at: at(2), isAlive: { false }, status: { "wedged" })
        #expect(next() == "STATUS=wedged")
        notices.tick(at: at(3), isAlive: { false }, status: { "wedged" })
        #expect(next() == nil)
        // Nor is one made good later.
        notices.tick(at: at(4), isAlive: { true }, status: { "well" })
        #expect(next() == "WATCHDOG=1\nSTATUS=well")
        #expect(next() == nil)
    }

    @Test("Three ticks fit into the watchdog's time, and none comes before its own")
    func rhythm() throws {
        let (socket, fresh) = try listened(["WATCHDOG_USEC": "3000000"])
        var notices = fresh
        notices.ready("well", at: at(0))
        #expect(socket.next(within: .zero) != nil)
        #expect(notices.nextTick == at(1).monotonic)
        notices.tick(
            at: Moment(monotonic: 999_999_999, wall: 0), isAlive: { true }, status: { "well" })
        #expect(socket.next(within: .zero) == nil)
    }

    @Test("Without a watchdog nobody is told of life, only of what is new")
    func noWatchdog() throws {
        let (socket, fresh) = try listened()
        var notices = fresh
        notices.ready("well", at: at(0))
        #expect(socket.next(within: .zero) == "READY=1\nSTATUS=well")
        notices.tick(at: at(5), isAlive: { true }, status: { "well" })
        #expect(socket.next(within: .zero) == nil)
        notices.tick(at: at(10), isAlive: { true }, status: { "late" })
        #expect(socket.next(within: .zero) == "STATUS=late")
    }
}
