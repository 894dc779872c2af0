import BridgeCore
import Configuration
import EventLoop
import HTTPClient
import ScriptedServer
import Testing
import TreeClient

@testable import Daemon

@Suite("The client of the database") struct DatabaseTests {
    @Test("All lanes and all reads of the core are on their way at once, however slow the database")
    func allAtOnce() throws {
        let server = ScriptedServer { _ in [.hang] }
        let text = "database: {url: \"\(server.url)/?ns=demo\"}"
        let database = try Database(
            Configuration(Array(text.utf8), file: "test", overrides: ["delivery.lanes=64"]))
        let count = 64 + 32
        for id in 1...count {
            database.tree.send(.patch(Array("{}".utf8)), requestID: id, now: .now)
        }
        let deadline = Clock.monotonic() + 9_000_000_000
        while server.requests.count < count, Clock.monotonic() < deadline {
            _ = database.http.wait(timeout: .milliseconds(50))
        }
        #expect(server.requests.count == count)
    }
}
