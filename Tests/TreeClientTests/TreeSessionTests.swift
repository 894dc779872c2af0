import BridgeCore
import EventLoop
import ScriptedServer
import Testing

@testable import TreeClient

@Suite(.timeLimit(.minutes(1))) struct TreeSessionTests {
    func session(_ server: ScriptedServer, _ credentials: Credentials = .none) throws
        -> TreeSession
    {
        try TreeSession(
            url: DatabaseURL(parsing: server.url + "/?ns=demo"), credentials: credentials,
            timeout: .seconds(5))
    }

    @Test func `Get and set work on a node, slashes around its path do not count`() throws {
        let server = ScriptedServer { request in
            request.method == "GET" ? [.answer(200, "{\"a\":1}")] : [.answer(204)]
        }
        let session = try session(server, .emulator)
        #expect(try session.get(Array("/a/b/".utf8)) == Array("{\"a\":1}".utf8))
        try session.set(Array("a/c".utf8), json: Array("7".utf8))
        #expect(
            server.requests.map { "\($0.method) \($0.target)" } == [
                "GET /a/b.json?ns=demo", "PUT /a/c.json?print=silent&ns=demo",
            ])
        #expect(server.requests.last?.body == Array("7".utf8))
        #expect(session.perform(.patch(Array("{}".utf8))) == .done(body: [], date: nil))
    }

    @Test func `An error names the database and tells service from request`() throws {
        let server = ScriptedServer { request in
            request.target.hasPrefix("/bad")
                ? [.answer(400, #"{"error":"Invalid data"}"#)] : [.answer(503)]
        }
        let session = try session(server)
        let bad = #expect(throws: TreeClientError.self) { try session.get(Array("bad".utf8)) }
        #expect(bad?.description == "\(server.url)/?ns=demo: HTTP 400: Invalid data")
        #expect(bad?.isService == false)
        let down = #expect(throws: TreeClientError.self) { try session.get([]) }
        #expect(down?.isService == true)
    }

    @Test func `A watch delivers the stream's bytes until it ends`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        let server = ScriptedServer { request in
            request.target.hasPrefix("/s.json")
                ? [.answer(307, headers: ["Location: /moved.json?ns=demo"])]
                : [
                    .send(head + "event: put\n"), .pause(.milliseconds(20)), .send("data: 1\n\n"),
                    .close,
                ]
        }
        var text = ""
        let isEnded = try session(server, .emulator).watch(Array("s".utf8)) { bytes in
            text += String(decoding: bytes, as: UTF8.self)
            return true
        }
        #expect(isEnded)
        #expect(text == "event: put\ndata: 1\n\n")
        #expect(server.requests.last?.target == "/moved.json?ns=demo")
        #expect(server.requests.last?.header("accept") == "text/event-stream")
        #expect(server.requests.last?.header("authorization") == "Bearer owner")
    }

    @Test func `A watch ends when its reader has enough, or by a descriptor`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        let server = ScriptedServer { _ in [.send(head + "event: put\n"), .hang] }
        let session = try session(server)
        #expect(try !session.watch([]) { _ in false })
        let stop = try EventDescriptor()
        let isEnded = try session.watch([], stop: stop.number) { _ in
            stop.signal()
            return true
        }
        #expect(!isEnded)
        #expect(server.requests.count == 2)
    }

    @Test func `A watch that is refused says why`() throws {
        let server = ScriptedServer { _ in [.answer(401, #"{"error":"Permission denied"}"#)] }
        let session = try session(server)
        let error = #expect(throws: TreeClientError.self) {
            try session.watch([]) { _ in true }
        }
        #expect(error?.description.hasSuffix("HTTP 401: Permission denied") == true)
    }
}
