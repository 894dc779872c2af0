import EventLoop
import HTTPClient
import ScriptedServer
import Testing

@Suite(.timeLimit(.minutes(1))) struct FailureTests {
    let client = plainClient()

    func failure(
        _ steps: [Step], by client: HTTPClient? = nil, timeout: Duration = .seconds(10)
    ) -> HTTPError? {
        let server = ScriptedServer { _ in steps }
        let request = HTTPRequest(
            "PATCH", server.url + "/.json", body: Array("{}".utf8), timeout: timeout)
        return (client ?? self.client).send(request).error
    }

    @Test func `A request that waits for its turn is not past its time`() {
        let server = ScriptedServer { _ in [.hang] }
        let client = plainClient { $0.requestsMax = 1 }
        _ = client.start(HTTPRequest("GET", server.url + "/", timeout: .seconds(900)))
        _ = client.start(HTTPRequest("GET", server.url + "/", timeout: .seconds(1)))
        let now = Clock.monotonic()
        #expect(client.overdue(at: now + 500_000_000_000) == nil)
        let late = client.overdue(at: now + 1_000_000_000_000)
        #expect(late.map { $0 > .seconds(99) && $0 < .seconds(101) } == true, "\(late)")
    }

    @Test func `Nobody listens`() {
        let result = client.send(HTTPRequest("GET", "http://127.0.0.1:\(unusedPort())/"))
        #expect(result.error?.kind == .connect)
    }

    @Test func `The name has no address`() {
        let result = client.send(HTTPRequest("GET", "http://no-such-host.invalid/"))
        #expect(result.error?.kind == .dns)
    }

    @Test func `No answer in time`() {
        #expect(failure([.hang], timeout: .milliseconds(100))?.kind == .timeout)
    }

    @Test func `An answer that trickles is ended by the same limit`() {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"
        let steps: [Step] = [
            .send(answer), .trickle(String(repeating: "x", count: 99), every: .milliseconds(20)),
        ]
        #expect(failure(steps, timeout: .milliseconds(200))?.kind == .timeout)
    }

    @Test(arguments: [
        [Step.close], [.reset], [.send("HTTP/1.1 200 OK\r\nContent-"), .reset],
        [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), .close],
        [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), .reset],
        [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"), .close],
    ])
    func `The connection ends before the answer does`(steps: [Step]) {
        #expect(failure(steps)?.kind == .reset)
    }

    @Test(arguments: [
        [Step.send("SSH-2.0-OpenSSH_9.2\r\n"), .hang], [.send("<html>\r\n\r\n"), .close],
        [.send("HTTP/1.1 abc\r\n\r\n"), .close],
    ])
    func `What comes is not HTTP`(steps: [Step]) {
        #expect(failure(steps)?.kind == .malformed)
    }

    @Test func `Endless headers end at the limit`() {
        let error = failure([
            .send("HTTP/1.1 200 OK\r\n"),
            .sendForever("X-Filler: \(String(repeating: "x", count: 1000))\r\n"),
        ])
        #expect(error == HTTPError(.tooLarge, "more than 65536 bytes of headers"))
        let interim = failure([.sendForever("HTTP/1.1 100 Continue\r\n\r\n")])
        #expect(interim == HTTPError(.tooLarge, "more than 65536 bytes of headers"))
    }

    @Test func `An endless body ends at the limit, with and without a length`() {
        let small = plainClient { $0.responseBytesMax = 1000 }
        let chunk = "64\r\n\(String(repeating: "x", count: 100))\r\n"
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let endless = failure([.send(chunked), .sendForever(chunk)], by: small)
        #expect(endless == HTTPError(.tooLarge, "a body of more than 1000 bytes"))
        let long = "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"
        #expect(failure([.send(long), .hang], by: small)?.kind == .tooLarge)
        let fitting = Step.answer(200, String(repeating: "x", count: 1000))
        #expect(failure([fitting], by: small) == nil)
    }

    @Test func `An answer before the body was sent counts`() throws {
        let early = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = ScriptedServer(head: { _ in [.send(early), .pause(.milliseconds(200))] }) {
            _ in [.close]
        }
        let result = client.send(
            HTTPRequest(
                "PATCH", server.url + "/", body: [UInt8](repeating: 0x61, count: 8 << 20)))
        #expect(result.status == 413)
    }

    @Test func `No connection that stood at a time-out is used again`() throws {
        let server = ScriptedServer { request in
            request.target == "/hang" ? [.hang] : [.pause(.milliseconds(50)), .answer(200)]
        }
        let pair =
            [client.start(HTTPRequest("GET", server.url + "/a"))]
            + [client.start(HTTPRequest("GET", server.url + "/b"))]
        for _ in pair { #expect(client.event() != nil) }
        let hang = HTTPRequest("GET", server.url + "/hang", timeout: .milliseconds(50))
        #expect(client.send(hang).error?.kind == .timeout)
        #expect(client.send(HTTPRequest("GET", server.url + "/c")).status == 200)
        #expect(server.requests.last?.connection == 2)
    }

    @Test func `A request on a kept connection that proves dead is sent again, unseen`() throws {
        // curl's own doing, told in HTTPClient's documentation: writes must be idempotent.
        let server = ScriptedServer { request in
            request.connection == 0 && request.target == "/second"
                ? [.close] : [.answer(200)]
        }
        #expect(client.send(HTTPRequest("PATCH", server.url + "/first", body: [1])).status == 200)
        #expect(client.send(HTTPRequest("PATCH", server.url + "/second", body: [2])).status == 200)
        #expect(server.requests.map(\.target) == ["/first", "/second", "/second"])
        #expect(server.requests[2].body == [2])
    }
}
