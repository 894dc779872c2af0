import Testing
import Tree

@testable import TreeServerCore

@Suite("Long polling") struct LongPollingTests {
    let session = Session()
    private let start = "/.lp?start=t&ser=1&cb=7&v=5&ns=demo"

    /// Starts a session: its name and password.
    private func connect() throws -> (id: String, password: String, text: String) {
        let text = session.send("GET", start)
        let call = try #require(text.firstMatch(of: /pLPCommand\('start','(\d+)','([0-9a-f]+)'\);/))
        return (String(call.1), String(call.2), text)
    }

    /// A poll that says something, in so many pieces from a number on.
    private func target(
        _ poll: (id: String, password: String, text: String), _ messages: [(Int, String)] = [],
        pieces: Int = 1, only: Int? = nil
    ) -> String {
        var target = "/.lp?id=\(poll.id)&pw=\(poll.password)&ser=2&ns=demo"
        var index = 0
        for (first, message) in messages {
            let text = base64URL(message)
            let size = (text.utf8.count + pieces - 1) / pieces
            for piece in 0..<pieces where only == nil || only == piece {
                let part = text.dropFirst(piece * size).prefix(size)
                target += "&seg\(index)=\(first + piece)&ts\(index)=\(pieces)&d\(index)=\(part)"
                index += 1
            }
        }
        return target
    }

    private func request(_ action: String, _ body: String) -> String {
        #"{"t":"d","d":{"r":1,"a":"\#(action)","b":\#(body)}}"#
    }

    /// Opens a poll that waits.
    private func wait(_ target: String) -> StreamID? {
        guard case .stream(let id, let head) = session.answer("GET", target) else { return nil }
        #expect(head.header("Content-Type") == "application/javascript; charset=utf-8")
        return id
    }

    /// Opens the socket to which a session is to change.
    private func openSocket(_ name: String) -> SessionID? {
        let handshake = [
            "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ]
        let answer = session.answer("GET", "/.ws?v=5&s=\(name)&ns=demo", [], handshake)
        guard case .session(let socket, _) = answer else { return nil }
        return socket
    }

    private func outputs() -> [String] {
        var seen: [String] = []
        while let output = session.server.nextOutput() {
            switch output {
            case .send(let id, let bytes):
                seen.append("\(id.number) \(String(decoding: bytes, as: UTF8.self))")
            case .end(let id): seen.append("\(id.number) end")
            case .message(let id, let bytes):
                seen.append("socket \(id.number) \(String(decoding: bytes, as: UTF8.self))")
            case .close(let id): seen.append("socket \(id.number) closed")
            }
        }
        return seen
    }

    @Test("The first answer names the session and greets, to the page's own functions")
    func hello() throws {
        let poll = try connect()
        #expect(poll.text.contains(#"parent["pLPCommand7"]"#))
        #expect(poll.text.contains(#"parent["pRTLPCB7"]"#))
        #expect(poll.text.contains(#"pRTLPCB(0,[{"t":"c","d":{"t":"h","#))
        #expect(session.server.sessionCount == 1)
        let odd = session.send("GET", "/.lp?start=t&cb=%22);alert(1)")
        #expect(odd.contains(#"parent["pRTLPCBalert1"]"#))
    }

    @Test("What a poll says is answered by it; one that says nothing waits for news")
    func polls() throws {
        let poll = try connect()
        #expect(
            session.send(
                "GET",
                target(
                    poll,
                    [
                        (0, request("q", #"{"p":"/a","h":""}"#)),
                        (1, request("p", #"{"p":"/a","d":1}"#)),
                    ]))
                == #"200 pRTLPCB(1,[{"t":"d","d":{"a":"d","b":{"p":"a","d":null}}},"#
                + #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}},"#
                + #"{"t":"d","d":{"a":"d","b":{"p":"a","d":1}}},"#
                + #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}]);"#)
        let id = try #require(wait(target(poll)))
        session.send("PUT", "/a.json", "2")
        #expect(
            outputs() == [
                #"\#(id.number) pRTLPCB(2,[{"t":"d","d":{"a":"d","b":{"p":"a","d":2}}}]);"#,
                "\(id.number) end",
            ])
    }

    @Test("Of the sessions whose client has not asked yet, the oldest end beyond a number")
    func unasked() throws {
        let session = Session { $0.unaskedSessionsMax = 3 }
        func connect() throws -> String {
            let text = session.send("GET", start)
            let call = try #require(
                text.firstMatch(of: /pLPCommand\('start','(\d+)','([0-9a-f]+)'\);/))
            return "/.lp?id=\(call.1)&pw=\(call.2)&ser=2&ns=demo"
        }
        let asking = try connect()
        guard case .stream = session.answer("GET", asking) else {
            Issue.record("no poll")
            return
        }
        let oldest = try connect()
        let others = try (0..<3).map { _ in try connect() }
        #expect(session.server.sessionCount == 4)
        #expect(session.send("GET", oldest).contains("close"))
        for other in others {
            guard case .stream = session.answer("GET", other) else {
                Issue.record("ended")
                return
            }
        }
    }

    @Test("News between two polls waits for the next")
    func between() throws {
        let poll = try connect()
        session.send("GET", target(poll, [(0, request("q", #"{"p":"/a","h":""}"#))]))
        session.send("PUT", "/a.json", "1")
        session.send("PUT", "/a.json", "2")
        #expect(outputs() == [])
        let next = session.send("GET", target(poll))
        #expect(next.contains(#""d":1"#) && next.contains(#""d":2"#))
    }

    @Test("A new poll releases the one that waits, which is answered first")
    func two() throws {
        let poll = try connect()
        let first = try #require(wait(target(poll)))
        #expect(try #require(wait(target(poll))) != first)
        #expect(outputs() == ["\(first.number) pRTLPCB(1,[]);", "\(first.number) end"])
    }

    @Test("A poll that waits long is answered with nothing")
    func patience() throws {
        let poll = try connect()
        let id = try #require(wait(target(poll)))
        session.now += 19_999
        session.server.tick(at: session.now)
        #expect(outputs() == [])
        session.now += 1
        session.server.tick(at: session.now)
        #expect(outputs() == ["\(id.number) pRTLPCB(1,[]);", "\(id.number) end"])
    }

    @Test("Pieces are joined in their order, whatever order they come in")
    func pieces() throws {
        let poll = try connect()
        let message = request("p", #"{"p":"/a","d":"\#(String(repeating: "é", count: 100))"}"#)
        for piece in [2, 0, 0] {
            #expect(wait(target(poll, [(0, message)], pieces: 3, only: piece)) != nil)
        }
        #expect(
            session.send("GET", target(poll, [(0, message)], pieces: 3, only: 1)).contains("ok"))
        #expect(session.send("GET", "/a.json").utf8.count > 200)
        #expect(
            session.send("GET", target(poll, [(3, request("p", #"{"p":"/a","d":1}"#))])).contains(
                "ok"))
    }

    @Test("Nobody else gets in, and a session that is gone is closed")
    func stranger() throws {
        let poll = try connect()
        for target in [
            "/.lp?id=\(poll.id)&pw=wrong", "/.lp?id=77&pw=\(poll.password)", "/.lp?id=x", "/.lp",
        ] {
            #expect(session.send("GET", target) == "200 pLPCommand('close');")
        }
        session.send("GET", "/.lp?disconn=t&id=\(poll.id)&pw=\(poll.password)")
        #expect(session.server.sessionCount == 0)
        #expect(session.send("GET", target(poll)) == "200 pLPCommand('close');")
    }

    @Test(
        "Nonsense ends the session and not the server",
        arguments: [
            "&seg0=0&ts0=0&d0=e30.", "&seg0=0&ts0=1", "&seg0=0&ts0=1&d0=%25%25",
            "&seg0=99999999&ts0=1&d0=e30.", "&seg0=0&ts0=1&d0=e30.", "&seg0=0&ts0=1&d0=",
        ])
    func nonsense(pieces: String) throws {
        let poll = try connect()
        session.send("GET", target(poll) + pieces)
        #expect(session.server.sessionCount == 0)
        #expect(session.send("PUT", "/a.json", "1") == "200 1")
    }

    @Test("Who no longer polls is gone, soon where he dropped his poll")
    func silence() throws {
        let poll = try connect()
        session.send(
            "GET", target(poll, [(0, request("o", #"{"p":"/left","d":1}"#))]))
        session.now += 59_999
        session.server.tick(at: session.now)
        #expect(session.server.sessionCount == 1)
        session.now += 1
        session.server.tick(at: session.now)
        #expect(session.server.sessionCount == 0)
        #expect(session.send("GET", "/left.json") == "200 1")
        let other = try connect()
        let id = try #require(wait(target(other)))
        session.server.closed(id)
        session.server.tick(at: session.now)
        session.now += 5_000
        session.server.tick(at: session.now)
        #expect(session.server.sessionCount == 0)
    }

    @Test("Who leaves too much waiting is ended")
    func overfull() throws {
        let session = Session { $0.pollBytesMax = 1000 }
        let text = session.send("GET", start)
        let call = try #require(text.firstMatch(of: /pLPCommand\('start','(\d+)','([0-9a-f]+)'\);/))
        session.send(
            "GET",
            target(
                (String(call.1), String(call.2), ""), [(0, request("q", #"{"p":"/a","h":""}"#))]))
        for _ in 0..<50 { session.send("PUT", "/a.json", #""0123456789""#) }
        session.server.tick(at: session.now)
        #expect(session.server.sessionCount == 0)
    }

    @Test("A client changes from polls to a socket without losing or repeating anything")
    func upgrade() throws {
        let poll = try connect()
        session.send("GET", target(poll, [(0, request("q", #"{"p":"/a","h":""}"#))]))
        let name = try #require(poll.text.firstMatch(of: /"s":"([0-9a-f]+)"/)).1
        let socket = try #require(openSocket(String(name)))
        let tag = "socket \(socket.number)"
        #expect(outputs() == [#"\#(tag) {"t":"c","d":{"t":"a","d":{}}}"#])
        func send(_ text: String) {
            session.server.received(Array(text.utf8), from: socket, at: session.now)
        }
        send(#"{"t":"c","d":{"t":"p","d":{}}}"#)
        #expect(outputs() == [#"\#(tag) {"t":"c","d":{"t":"o","d":{}}}"#])
        send(#"{"t":"c","d":{"t":"a","d":{}}}"#)
        send(request("p", #"{"p":"/a","d":2}"#))
        #expect(outputs() == [], "it waits for the last poll")
        session.send("PUT", "/a.json", "1")
        #expect(
            session.send("GET", target(poll, [(1, #"{"t":"c","d":{"t":"n","d":{}}}"#)]))
                == #"200 pRTLPCB(2,[{"t":"d","d":{"a":"d","b":{"p":"a","d":1}}},"#
                + #"{"t":"c","d":{"t":"n","d":{}}}]);pLPCommand('close',2);"#)
        #expect(
            outputs() == [
                #"\#(tag) {"t":"d","d":{"a":"d","b":{"p":"a","d":2}}}"#,
                #"\#(tag) {"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#,
            ])
        #expect(session.send("GET", target(poll)) == "200 pLPCommand('close');")
        session.server.disconnected(socket, at: session.now)
        #expect(session.server.sessionCount == 0)
    }

    @Test("A change that fails leaves the client with its polls; an unknown session is not changed")
    func failedUpgrade() throws {
        let poll = try connect()
        let name = try #require(poll.text.firstMatch(of: /"s":"([0-9a-f]+)"/)).1
        for _ in 0..<2 {
            let socket = try #require(openSocket(String(name)))
            session.server.disconnected(socket, at: session.now)
        }
        #expect(session.server.sessionCount == 1)
        #expect(
            session.send("GET", target(poll, [(0, request("p", #"{"p":"/a","d":1}"#))])).contains(
                "ok"))
        _ = outputs()
        #expect(openSocket("unknown") != nil)
        let said = outputs()
        #expect(said.count == 2 && said[0].contains(#""t":"r""#) && said[1].hasSuffix("closed"))
    }
}
