import EventLoop
import HTTPClient
import ScriptedServer
import Testing

@Suite(.timeLimit(.minutes(1))) struct RequestTests {
    let client = plainClient()

    @Test func `A request arrives byte by byte as it was given`() throws {
        let server = ScriptedServer { _ in [.answer(200, "{}", headers: ["Date: x"])] }
        let body = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        let result = client.send(
            HTTPRequest(
                "PATCH", "\(server.url)/a/../%2Eb/./.json?print=silent",
                headers: [("Authorization", .secret(Secret("Bearer t"))), ("X-Empty", "")],
                body: body))
        #expect(result.status == 200 && result.body == "{}")
        let request = try #require(server.requests.first)
        #expect(request.method == "PATCH")
        #expect(request.target == "/a/../%2Eb/./.json?print=silent")
        #expect(request.body == body)
        #expect(request.header("authorization") == "Bearer t")
        #expect(request.header("x-empty") == "")
        #expect(request.header("user-agent") == "firebridge")
        #expect(request.header("expect") == nil)
        #expect(request.header("content-type") == nil)
    }

    @Test func `A body over one mebibyte does not wait for 100 Continue`() throws {
        let server = ScriptedServer { _ in [.answer(204)] }
        let before = ContinuousClock.now
        let result = client.send(
            HTTPRequest("PUT", server.url + "/", body: [UInt8](repeating: 0x61, count: 3 << 20)))
        #expect(result.status == 204)
        #expect(ContinuousClock.now - before < .milliseconds(900))
        #expect(server.requests.first?.body.count == 3 << 20)
    }

    @Test(arguments: ["GET", "DELETE", "PUT", "POST"])
    func `A request without body has none`(method: String) throws {
        let server = ScriptedServer { _ in [.answer(200)] }
        #expect(client.send(HTTPRequest(method, server.url + "/")).status == 200)
        #expect(server.requests.first?.method == method)
        #expect(server.requests.first?.header("content-length").map { $0 == "0" } ?? true)
    }

    @Test func `A handle used again keeps nothing of the request before`() throws {
        let server = ScriptedServer { _ in [.answer(200)] }
        _ = client.send(
            HTTPRequest(
                "PATCH", server.url + "/one", secretQuery: Secret("auth=s"),
                headers: [("X-One", "1")], body: [1, 2, 3]))
        _ = client.send(HTTPRequest("GET", server.url + "/two"))
        let (first, second) = (server.requests[0], server.requests[1])
        #expect(first.target == "/one?auth=s")
        #expect(second.method == "GET" && second.target == "/two")
        #expect(second.header("x-one") == nil && second.header("content-length") == nil)
        #expect(second.connection == 0, "the connection was used again")
    }

    @Test(arguments: [
        ("http://h/ b", "GET", "v"), ("http://h/\nb", "GET", "v"), ("http://h/é", "GET", "v"),
        ("http://h/#f", "GET", "v"), ("ftp://h/", "GET", "v"), ("file:///etc/passwd", "GET", "v"),
        ("http://h/", "GET ", "v"), ("http://h/", "", "v"), ("http://h/", "GET", "a\r\nX: b"),
        ("http://h/", "GET", "a\nb"), ("http://h/", "GET", "a\0b"),
        ("http://user:password@127.0.0.1:1/", "GET", "v"),
    ])
    func `A request that would be more than one, or go elsewhere, is not sent`(
        url: String, method: String, value: String
    ) {
        let result = client.send(HTTPRequest(method, url, headers: [("X", .plain(value))]))
        #expect(result.error?.kind == .invalidRequest, "\(result)")
    }

    @Test func `Plain HTTP is refused unless it was allowed`() {
        let result = HTTPClient().send(HTTPRequest("GET", "http://127.0.0.1:1/"))
        #expect(result.error?.kind == .invalidRequest)
    }

    @Test func `A redirect is an answer and is not followed`() throws {
        let server = ScriptedServer { _ in [.answer(307, headers: ["Location: /other"])] }
        let result = client.send(HTTPRequest("GET", server.url + "/"))
        guard case .success(let response) = result else { throw try #require(result.error) }
        #expect(response.status == 307 && response.headers["location"] == "/other")
        #expect(server.requests.count == 1)
    }

    @Test func `Interim answers are passed over`() throws {
        let server = ScriptedServer { _ in
            [.send("HTTP/1.1 103 Early Hints\r\nX-A: interim\r\n\r\n"), .answer(200, "x")]
        }
        let result = client.send(HTTPRequest("GET", server.url + "/"))
        guard case .success(let response) = result else { throw try #require(result.error) }
        #expect(response.status == 200 && response.headers["x-a"] == nil)
    }

    @Test func `Requests run side by side up to the limit, the rest after them in order`() throws {
        let server = ScriptedServer { request in
            [.pause(.milliseconds(30)), .answer(200, request.target)]
        }
        let client = plainClient { $0.requestsMax = 3 }
        let ids = (0..<9).map { client.start(HTTPRequest("GET", "\(server.url)/\($0)")) }
        var answered: [Int] = []
        while answered.count < 9, let event = client.event() {
            guard case .response(let id, let response) = event else { break }
            #expect(response.body == Array("/\(id - ids[0])".utf8))
            answered.append(id)
        }
        #expect(answered.sorted() == ids)
        #expect(Set(server.requests.map(\.connection)) == [0, 1, 2])
        #expect(client.count == 0)
    }

    @Test func `A cancelled request gives no event, waiting or under way`() throws {
        let server = ScriptedServer { request in
            request.target == "/hang" ? [.hang] : [.answer(200)]
        }
        let client = plainClient { $0.requestsMax = 1 }
        let hanging = client.start(HTTPRequest("GET", server.url + "/hang"))
        let waiting = client.start(HTTPRequest("GET", server.url + "/waiting"))
        let last = client.start(HTTPRequest("GET", server.url + "/last"))
        _ = client.wait(timeout: .milliseconds(20))
        client.cancel(waiting)
        client.cancel(hanging)
        client.cancel(99)
        let event = try #require(client.event())
        #expect(event.id == last)
        #expect(client.nextEvent() == nil)
        #expect(!server.requests.contains { $0.target == "/waiting" })
    }

    @Test func `The sleep ends by a descriptor, which is told, and a closed pipe counts`() throws {
        let event = try EventDescriptor()
        var pipe: Pipe? = try Pipe()
        let reading = try #require(pipe).reading
        #expect(
            client.wait(for: [event.number, reading.number], timeout: .zero) == [false, false])
        event.signal()
        #expect(
            client.wait(for: [event.number, reading.number], timeout: nil) == [true, false])
        event.clear()
        pipe = nil
        #expect(
            client.wait(for: [event.number, reading.number], timeout: .seconds(20))
                == [false, true])
        #expect(pipe == nil)
    }

    @Test func `A secret is not printed`() {
        let secret = Secret("canary")
        var dumped = ""
        dump(HTTPRequest("GET", "https://h/", headers: [("A", .secret(secret))]), to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] {
            #expect(!text.contains("canary") && text.contains("<secret>"))
        }
    }
}
