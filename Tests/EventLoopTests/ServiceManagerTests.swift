import EventLoop
import Glibc
import TestSupport
import Testing

@Suite("The service manager: sd_notify without its library") struct ServiceManagerTests {
    @Test("Without a socket in the environment there is nobody to tell")
    func nobody() {
        #expect(ServiceManager([:]) == nil)
        #expect(ServiceManager(["NOTIFY_SOCKET": ""]) == nil)
        #expect(ServiceManager(["NOTIFY_SOCKET": "relative"]) == nil)
    }

    @Test("A watchdog counts where it is meant for this process, or for nobody by name")
    func watchdog() throws {
        func watchdog(_ more: [String: String]) -> Duration? {
            let environment = ["NOTIFY_SOCKET": "/run/x"].merging(more) { $1 }
            return ServiceManager(environment, process: 7)?.watchdog
        }
        #expect(watchdog([:]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(watchdog(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == .seconds(30))
        #expect(watchdog(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "0"]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "soon"]) == nil)
    }

    @Test(
        "What is told arrives as one datagram, at a path or an abstract name", arguments: ["", "@"])
    func told(_ prefix: String) throws {
        let name = "\(prefix)/tmp/firebridge-notify-\(getpid())-\(prefix.count)"
        let listener = try NotifySocket(name)
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": name]))
        #expect(manager.tell(["READY=1", "STATUS=mirroring"]))
        #expect(listener.next(within: .seconds(5)) == "READY=1\nSTATUS=mirroring")
    }

    @Test("Where nobody listens it was not taken, and nothing else happens")
    func gone() throws {
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": "/tmp/nobody-\(getpid())"]))
        #expect(!manager.tell(["READY=1"]))
        let long = try #require(
            ServiceManager(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]))
        #expect(!long.tell(["READY=1"]))
    }
}
