import EventLoop
import HTTPClient
import ScriptedServer
import Testing

@Suite(.timeLimit(.minutes(1))) struct StreamTests {
    let client = plainClient()
    let opening = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    @Test func `A stream is told as head, pieces and end`() throws {
        let server = ScriptedServer { [opening] _ in
            [
                .send(opening), .pause(.milliseconds(30)), .send("event: put\n"),
                .pause(.milliseconds(30)), .send("data: null\n\n"), .close,
            ]
        }
        let id = client.start(HTTPRequest("GET", server.url + "/", timeout: nil, isStream: true))
        guard case .head(id, 200, let headers) = client.event() else {
            Issue.record("expected a head")
            return
        }
        #expect(headers["content-type"] == "text/event-stream")
        var pieces: [String] = []
        while let event = client.event() {
            guard case .data(id, let bytes) = event else {
                guard case .response(id, let response) = event else { break }
                #expect(response.body.isEmpty)
                break
            }
            pieces.append(String(decoding: bytes, as: UTF8.self))
        }
        #expect(pieces == ["event: put\n", "data: null\n\n"])
        #expect(client.count == 0)
    }

    @Test func `A stream is not bound by the size of an answer`() throws {
        let client = plainClient { $0.responseBytesMax = 10 }
        let server = ScriptedServer { [opening] _ in
            [.send(opening + String(repeating: "x", count: 1000)), .close]
        }
        let id = client.start(HTTPRequest("GET", server.url + "/", timeout: nil, isStream: true))
        var count = 0
        while let event = client.event() {
            if case .data(id, let bytes) = event { count += bytes.count }
            if case .response(id, _) = event { break }
        }
        #expect(count == 1000)
    }

    @Test func `A stream that falls silent ends by its silence`() throws {
        let server = ScriptedServer { [opening] _ in [.send(opening + "x"), .hang] }
        let id = client.start(
            HTTPRequest(
                "GET", server.url + "/", timeout: nil, silenceMax: .seconds(1), isStream: true))
        var last: HTTPEvent?
        while let event = client.event(), event.id == id {
            last = event
            if case .failed = event { break }
        }
        guard case .failed(id, let error) = last else {
            Issue.record("expected a failure, found \(last as Any)")
            return
        }
        #expect(error.kind == .timeout)
    }

    @Test func `A stream takes no slot of the requests`() throws {
        let client = plainClient { $0.requestsMax = 1 }
        let server = ScriptedServer { [opening] request in
            request.target == "/stream" ? [.send(opening), .hang] : [.answer(200)]
        }
        let stream = client.start(
            HTTPRequest("GET", server.url + "/stream", timeout: nil, isStream: true))
        #expect(client.send(HTTPRequest("GET", server.url + "/one")).status == 200)
        #expect(client.count == 1)
        client.cancel(stream)
        #expect(client.count == 0)
    }
}
