import EventLoop
import HTTPServer
import Testing

@Suite struct ListenAddressTests {
    @Test(
        arguments: [
            ("127.0.0.1:9000", "127.0.0.1", 9000), ("[::1]:0", "::1", 0),
            ("localhost:65535", "localhost", 65535),
        ] as [(String, String, UInt16)])
    func anAddressIsReadAndWrittenAlike(text: String, host: String, port: UInt16) throws {
        let address = try #require(ListenAddress(text))
        #expect(address == ListenAddress(host: host, port: port))
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", "9000", ":9000", "::1:9000", "h:65536", "h:-1", "h:", "h:9x", "[]:1", "h:+1",
    ])
    func otherTextsAreRefused(_ text: String) { #expect(ListenAddress(text) == nil) }

    @Test func aTakenPortIsAnErrorThatSaysWhereAndWhy() throws {
        let wire = try Wire()
        #expect(wire.server.address.port != 0)
        #expect {
            try HTTPServer(listen: wire.server.address) { _ in HTTPServerResponse(status: 200) }
        } throws: {
            "\($0)" == "cannot listen on \(wire.server.address): Address already in use"
        }
    }

    @Test func anAddressThatIsNotOursIsRefused() throws {
        #expect(throws: HTTPServerError.self) { try Wire(listen: "192.0.2.1:0") }
        #expect(throws: HTTPServerError.self) { try Wire(listen: "no.such.host.invalid:0") }
    }

    @Test func ipv6IsServed() throws {
        let wire = try Wire(listen: "[::1]:0")
        let client = try Client(wire.server.address)
        try client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "answer", clients: [client]) { client.text.hasSuffix("0;/a") }
    }
}

@Suite struct HTTPServerTests {
    @Test func aRequestArrivesWholeAndUndecoded() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(
            "PATCH /a%20b%2F?x=%22+1&&y HTTP/1.1\r\nHost: x:1\r\nx-Own: some value\r\nContent-Le")
        wire.wait(for: "nothing", clients: [client]) { wire.server.connectionCount == 1 }
        try client.send("ngth: 5\r\n\r\nhel")
        for _ in 0..<5 { wire.server.run() }
        #expect(wire.requests.isEmpty)
        try client.send("lo")
        wire.wait(for: "answer", clients: [client]) {
            client.text.hasSuffix("5;/a%20b%2F?x=%22+1&&y")
        }
        let request = try #require(wire.requests.first)
        #expect(request.method == "PATCH")
        #expect(request.path == "/a%20b%2F")
        #expect(request.header("X-OWN") == "some value")
        #expect(request.header("missing") == nil)
        #expect(request.body == Array("hello".utf8))
        #expect(client.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(client.text.contains("X-Method: PATCH\r\n"))
        #expect(client.text.contains("Date: "))
    }

    @Test(arguments: ["", "Host: x\r\nHost: x\r\n", "Host: x\r\nhost: y\r\n"])
    func aRequestNamesItsHostOnce(hosts: String) throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send("PUT /a HTTP/1.1\r\n\(hosts)Content-Length: 1\r\n\r\nx")
        wire.wait(for: "400", clients: [client]) { client.isAtEnd }
        #expect(client.text.hasPrefix("HTTP/1.1 400 "))
        #expect(client.text.contains("expected one Host header"))
        #expect(wire.requests.isEmpty)
    }

    @Test func aRequestOfHTTP10NeedsNoHost() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send("GET /a HTTP/1.0\r\n\r\n")
        wire.wait(for: "answer", clients: [client]) { client.isAtEnd }
        #expect(client.text.hasSuffix("0;/a"))
    }

    @Test func aConnectionServesRequestAfterRequest() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        for number in 0..<3 {
            try client.send("PUT /\(number) HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
            wire.wait(for: "answer \(number)", clients: [client]) {
                client.text.hasSuffix("1;/\(number)")
            }
        }
        try client.send("GET /empty HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "204", clients: [client]) { client.text.contains("HTTP/1.1 204") }
        #expect(wire.server.connectionCount == 1)
        #expect(!client.isAtEnd)
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        let requests = (0..<50).map {
            "PUT /p\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxy"
        }
        try client.send(requests.joined())
        wire.wait(for: "answers", clients: [client]) { client.text.hasSuffix("2;/p49") }
        #expect(wire.requests.map(\.path) == (0..<50).map { "/p\($0)" })
        let order = client.text.split(separator: "2;/p").dropFirst().map {
            $0.prefix { $0.isNumber }
        }
        #expect(order.map(String.init) == (0..<50).map(String.init))
    }

    @Test func aBodyInChunksIsPutTogether() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(
            "PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        for _ in 0..<5 { wire.server.run() }
        try client.send("2\r\nde\r\n0\r\n\r\n")
        wire.wait(for: "answer", clients: [client]) { client.text.hasSuffix("5;/c") }
        #expect(wire.requests[0].body == Array("abcde".utf8))
    }

    @Test func aClientThatAsksIsToldToGoOn() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(
            "PUT /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        wire.wait(for: "100", clients: [client]) {
            client.text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\n")
        }
        try client.send("ok")
        wire.wait(for: "answer", clients: [client]) { client.text.hasSuffix("2;/e") }
    }

    @Test func bytesThatAreNoHTTPAreAnsweredWith400() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send("this is no request\r\n\r\n")
        wire.wait(for: "end", clients: [client]) { client.isAtEnd }
        #expect(client.received.isEmpty || client.text.contains(" 400 "))
        #expect(wire.requests.isEmpty)
    }

    @Test(arguments: ["Content-Length: 43", "Transfer-Encoding: chunked"])
    func aRequestThatSaysItsLengthTwiceIsRefusedAndEndsTheConnection(_ second: String) throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(
            "PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\(second)\r\n\r\n1"
                + "DELETE /y HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "400", clients: [client]) { client.text.contains("HTTP/1.1 400 ") }
        wire.wait(for: "end", clients: [client]) { client.isAtEnd }
        #expect(wire.requests.isEmpty)
    }

    @Test func aBodyAnnouncedTooLongIsRefusedAtOnce() throws {
        let wire = try Wire { $0.bodyBytesMax = 100 }
        let client = try Client(wire.server.address)
        try client.send("PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n")
        wire.wait(for: "413", clients: [client]) { client.text.contains("HTTP/1.1 413 ") }
        wire.wait(for: "end", clients: [client]) { client.isAtEnd }
        #expect(wire.requests.isEmpty)
    }

    @Test func aBodyThatGrowsTooLongIsRefusedAtItsEnd() throws {
        let wire = try Wire { $0.bodyBytesMax = 100 }
        let client = try Client(wire.server.address)
        let part = "3C\r\n" + String(repeating: "x", count: 60) + "\r\n"
        try client.send(
            "PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + part + part)
        try client.send("0\r\n\r\n")
        wire.wait(for: "413", clients: [client]) { client.text.contains("HTTP/1.1 413 ") }
        #expect(wire.requests.isEmpty)
    }

    @Test func aBodyWithoutEndIsCutOff() throws {
        let wire = try Wire { $0.bodyBytesMax = 100 }
        let client = try Client(wire.server.address)
        let part = "3C\r\n" + String(repeating: "x", count: 60) + "\r\n"
        var rest = Array(
            ("PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: part, count: 10_000)).utf8)[...]
        wire.wait(for: "end", clients: [client]) {
            client.send(rest: &rest)
            return client.isAtEnd
        }
        #expect(wire.requests.isEmpty)
    }

    @Test func longBodiesAndAnswersPass() throws {
        let wire = try Wire { $0.bodyBytesMax = 4_000_000 }
        let client = try Client(wire.server.address)
        var rest = Array(
            ("PUT /l HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"
                + String(repeating: "0123456789", count: 300_000)).utf8)[...]
        wire.wait(for: "answer", clients: [client]) {
            client.send(rest: &rest)
            return client.text.hasSuffix("3000000;/l")
        }
        #expect(wire.requests[0].body.suffix(10) == Array("0123456789".utf8)[...])
        client.forget()
        try client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "answer", clients: [client]) { client.received.count > 5_000_000 }
    }

    @Test func aConnectionOnWhichNothingMovesIsClosed() throws {
        let wire = try Wire { $0.idleSeconds = 1 }
        let idle = try Client(wire.server.address)
        let half = try Client(wire.server.address)
        try half.send("GET /a HTTP/1.1\r\nHo")
        wire.wait(for: "end", clients: [idle, half]) { idle.isAtEnd && half.isAtEnd }
        #expect(wire.requests.isEmpty)
    }

    @Test func aRequestThatComesDripByDripIsCutOffInTime() throws {
        let wire = try Wire { $0.requestTimeMax = .milliseconds(300) }
        let silent = try Client(wire.server.address)
        let dripping = try Client(wire.server.address)
        let streaming = try Client(wire.server.address)
        let polite = try Client(wire.server.address)
        let clients = [silent, dripping, streaming, polite]
        let start = Clock.monotonic()
        try streaming.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        try polite.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        dripping.send(bytes: Array("GET /b HTTP/1.1\r\nHost: x\r\nX: ".utf8))
        wire.wait(for: "end", clients: clients) {
            dripping.send(bytes: [UInt8(ascii: "x")])
            return silent.isAtEnd && dripping.isAtEnd && polite.isAtEnd
        }
        #expect(Clock.monotonic() - start >= 300_000_000)
        #expect(polite.text.hasSuffix("0;/a") && dripping.text.isEmpty)
        // An answer may take its time.
        wire.streams[0].send(Array("second;".utf8))
        wire.wait(for: "stream", clients: [streaming]) { streaming.text.contains("second;") }
        #expect(wire.requests.map(\.path).sorted() == ["/a", "/stream"])
    }

    @Test func aBodyThatComesDripByDripIsCutOffInTime() throws {
        let wire = try Wire { $0.requestTimeMax = .milliseconds(300) }
        let client = try Client(wire.server.address)
        try client.send("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
        wire.wait(for: "end", clients: [client]) {
            client.send(bytes: [UInt8(ascii: "x")])
            return client.isAtEnd
        }
        #expect(wire.requests.isEmpty)
    }

    @Test func whoHasTakenLongestOverARequestMakesRoomForOthers() throws {
        let wire = try Wire {
            $0.connectionsMax = 4
            $0.requestTimeMax = .seconds(60)
        }
        let crowd = try (0..<40).map { _ in try Client(wire.server.address) }
        for client in crowd { try client.send("GET /crowd HTTP/1.1\r\nX: ") }
        let client = try Client(wire.server.address)
        try client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "answer", clients: [client]) { client.text.hasSuffix("0;/a") }
        #expect(wire.server.connectionCount <= 4)
        wire.wait(for: "end of the first", clients: crowd) { crowd[0].isAtEnd }
    }

    @Test func connectionsBeyondTheLimitWaitTheirTurn() throws {
        let wire = try Wire { $0.connectionsMax = 2 }
        var clients = try (0..<4).map { _ in try Client(wire.server.address) }
        for client in clients { try client.send("GET /n HTTP/1.1\r\nHost: x\r\n\r\n") }
        wire.wait(for: "two answers", clients: clients) {
            clients.count { $0.text.hasSuffix("0;/n") } == 2
        }
        for _ in 0..<20 { wire.server.run() }
        for client in clients { client.read() }
        #expect(clients.count { $0.text.hasSuffix("0;/n") } == 2)
        clients.removeAll { $0.text.hasSuffix("0;/n") }
        wire.wait(for: "the others", clients: clients) {
            clients.allSatisfy { $0.text.hasSuffix("0;/n") }
        }
    }
}

@Suite struct HTTPServerStreamTests {
    private let get = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func aStreamIsFedLater() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(get)
        wire.wait(for: "first", clients: [client]) { client.text.contains("first;") }
        #expect(client.text.contains("X-Kind: stream\r\n"))
        for number in 0..<5 {
            #expect(wire.streams[0].send(Array("event \(number);".utf8)))
            #expect(wire.server.nextTimeout == .zero)
            wire.wait(for: "event", clients: [client]) { client.text.contains("event \(number);") }
        }
        #expect(wire.streams[0].bytesWaiting == 0)
        wire.streams[0].send(Array("one;".utf8))
        wire.streams[0].send(Array("two;".utf8))
        wire.streams[0].end()
        #expect(!wire.streams[0].send([1]))
        wire.wait(for: "the last chunk", clients: [client]) { client.text.hasSuffix("0\r\n\r\n") }
        #expect(client.text.contains("one;two;"))
        #expect(wire.closed == 1)
        #expect(!wire.streams[0].isOpen)
    }

    @Test func theConnectionServesOnAfterAStreamHasEnded() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(get)
        wire.wait(for: "first", clients: [client]) { client.text.contains("first;") }
        wire.streams[0].end()
        wire.wait(for: "end", clients: [client]) { wire.closed == 1 }
        try client.send("GET /after HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "answer", clients: [client]) { client.text.hasSuffix("0;/after") }
    }

    /// Found by `fuzz --target rest`: the end of a body came without the body.
    @Test func whoAsksForTheHeadOfAStreamGetsNoMore() throws {
        let wire = try Wire()
        let client = try Client(wire.server.address)
        try client.send(
            "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.wait(for: "answers", clients: [client]) { client.text.contains("0;/next") }
        let parts = client.text.split(separator: "\r\n\r\n").map { $0.prefix(15) }
        #expect(parts == ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "0;/next"])
        #expect(client.text.contains("X-Kind: stream"))
        #expect(wire.closed == 1)
    }

    @Test func anIdleStreamStaysOpen() throws {
        let wire = try Wire { $0.idleSeconds = 1 }
        let client = try Client(wire.server.address)
        let idle = try Client(wire.server.address)
        try client.send(get)
        wire.wait(for: "the end of a plain connection", clients: [client, idle]) { idle.isAtEnd }
        wire.streams[0].send(Array("still here;".utf8))
        wire.wait(for: "event", clients: [client]) { client.text.contains("still here;") }
    }

    @Test func whoGoesInMidStreamIsNoticedAtTheNextEvents() throws {
        let wire = try Wire()
        var client: Client? = try Client(wire.server.address)
        try client!.send(get)
        wire.wait(for: "first", clients: [client!]) { client!.text.contains("first;") }
        client = nil
        wire.wait(for: "close") {
            wire.streams[0].send(Array("event;".utf8))
            return wire.closed == 1
        }
        #expect(wire.server.connectionCount == 0)
        #expect(!wire.streams[0].send([1]))
    }

    @Test func whoReadsTooSlowlyIsCutOffAndCostsNoMemory() throws {
        let wire = try Wire { $0.idleSeconds = 1 }
        let client = try Client(wire.server.address)
        try client.send(get)
        wire.wait(for: "first", clients: [client]) { client.text.contains("first;") }
        let event = [UInt8](repeating: 0x65, count: 100_000)
        var sent = 0
        // The kernel's buffers take some; then they wait here, and one event more than fits is the
        // end.
        wire.wait(for: "cut") {
            sent += 1
            return !wire.streams[0].send(event)
        }
        #expect(sent < 200)
        #expect(wire.streams[0].bytesWaiting == 0)
        wire.wait(for: "close") { wire.closed == 1 }
    }

    @Test func aServerThatGoesEndsItsStreams() throws {
        var wire: Wire? = try Wire()
        let client = try Client(wire!.server.address)
        try client.send(get)
        wire!.wait(for: "first", clients: [client]) { client.text.contains("first;") }
        let stream = wire!.streams[0]
        wire = nil
        #expect(!stream.isOpen)
        client.read()
        #expect(client.isAtEnd)
    }
}
