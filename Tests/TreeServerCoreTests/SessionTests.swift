import Testing
import Tree

@testable import TreeServerCore

/// What is said in sessions with one server, as a transcript.
final class Conversation {
    let http: Session
    private var names: [SessionID: String] = [:]
    private var ids: [String: SessionID] = [:]

    init(_ change: (inout TreeServer.Options) -> Void = { _ in }) { http = Session(change) }

    var server: TreeServer { http.server }

    /// Opens a session: the greeting.
    @discardableResult
    func connect(_ name: String, _ target: String = "/.ws?v=5&ns=demo") -> String {
        let answer = http.answer(
            "GET", target, [],
            [
                "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Host": "h:9",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            ])
        guard case .session(let id, let head) = answer else { return "\(answer)" }
        #expect(head.status == 101)
        #expect(head.header("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        names[id] = name
        ids[name] = id
        return hear().first ?? ""
    }

    /// Sends one request; what is said then, in order, as `name: message`, without the envelope.
    @discardableResult
    func say(_ name: String, _ action: String, _ body: String, r: Int = 1) -> [String] {
        send(name, #"{"t":"d","d":{"r":\#(r),"a":"\#(action)","b":\#(body)}}"#)
    }

    @discardableResult
    func send(_ name: String, _ frame: String) -> [String] {
        server.received(Array(frame.utf8), from: ids[name]!, at: http.now)
        return hear()
    }

    func leave(_ name: String) -> [String] {
        server.disconnected(ids[name]!, at: http.now)
        return hear()
    }

    func rest(_ method: String, _ target: String, _ body: String = "") -> [String] {
        http.send(method, target, body)
        return hear()
    }

    func hear() -> [String] {
        var heard: [String] = []
        while let output = server.nextOutput() {
            switch output {
            case .message(let id, let bytes):
                var text = String(decoding: bytes, as: UTF8.self)
                if text.hasPrefix(#"{"t":"d","d":"#) {
                    text = String(text.dropFirst(#"{"t":"d","d":"#.count).dropLast())
                }
                heard.append("\(names[id] ?? "?"): \(text)")
            case .close(let id): heard.append("\(names[id] ?? "?"): closed")
            case .send, .end: break
            }
        }
        return heard
    }
}

/// An acknowledgement as the transcript shows it.
func ok(_ name: String, _ data: String = #""""#) -> String {
    #"\#(name): {"r":1,"b":{"s":"ok","d":\#(data)}}"#
}

@Suite("Sessions") struct SessionTests {
    let talk = Conversation()

    @Test("The server speaks first, and calls itself what the client called it")
    func hello() {
        let greeting = talk.connect("a")
        #expect(
            greeting.hasPrefix(
                #"a: {"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"h:9","s":""#))
        #expect(talk.server.sessionCount == 1)
    }

    @Test("What is no opening of a WebSocket is refused")
    func noUpgrade() {
        #expect(talk.http.response("GET", "/.ws?v=5", []).status == 400)
        let old = talk.http.response(
            "GET", "/.ws", [],
            [
                "Upgrade": "websocket", "Sec-WebSocket-Version": "8",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            ])
        #expect(old.status == 426)
        #expect(old.header("Sec-WebSocket-Version") == "13")
        #expect(talk.server.sessionCount == 0)
    }

    @Test("The exchange of the protocol's reference, word for word")
    func reference() {
        talk.connect("c")
        #expect(
            talk.say("c", "q", #"{"p":"/a","h":""}"#) == [
                #"c: {"a":"d","b":{"p":"a","d":null}}"#, ok("c", "{}"),
            ])
        #expect(
            talk.say("c", "m", #"{"p":"/a","d":{"x/y":1}}"#) == [
                #"c: {"a":"m","b":{"p":"a","d":{"x/y":1}}}"#, ok("c"),
            ])
    }

    @Test("A write is pushed to every listen it touches, the writer's own too, then acked")
    func pushesBeforeAck() {
        for name in ["a", "b"] { talk.connect(name) }
        talk.say("b", "q", #"{"p":"/x","h":""}"#)
        talk.say("a", "q", #"{"p":"/","h":""}"#)
        #expect(
            talk.say("a", "p", #"{"p":"/x/y","d":{"z":[1]}}"#) == [
                #"b: {"a":"d","b":{"p":"x/y","d":{"z":{"0":1}}}}"#,
                #"a: {"a":"d","b":{"p":"x/y","d":{"z":{"0":1}}}}"#, ok("a"),
            ])
        #expect(
            talk.rest("PUT", "/x.json", "7").sorted() == [
                #"a: {"a":"d","b":{"p":"x","d":7}}"#, #"b: {"a":"d","b":{"p":"x","d":7}}"#,
            ])
    }

    @Test("A write above a listen is told from its place; one that leaves it as it was is not")
    func clipped() {
        talk.connect("a")
        talk.say("a", "q", #"{"p":"/l/m","h":""}"#)
        #expect(
            talk.rest("PUT", "/l.json", #"{"m":5,"n":6}"#) == [
                #"a: {"a":"d","b":{"p":"l/m","d":5}}"#
            ])
        #expect(talk.rest("PUT", "/l.json", #"{"m":5}"#) == [])
        #expect(
            talk.rest("PATCH", "/.json", #"{"l/m/v":2,"l/m/w/x":3,"n":4}"#) == [
                #"a: {"a":"m","b":{"p":"l/m","d":{"v":2,"w/x":3}}}"#
            ])
    }

    @Test("A client that shows the hash of what it has is not told it again")
    func hash() {
        talk.connect("a")
        _ = talk.rest("PUT", "/a.json", "true")
        #expect(
            talk.say("a", "q", #"{"p":"/a","h":"E5z61QM0lN/U2WsOnusszCTkR8M="}"#) == [
                ok("a", "{}")
            ])
        #expect(talk.say("a", "q", #"{"p":"/a","h":"other"}"#).count == 2)
    }

    @Test("Who has unlistened or left is told nothing")
    func unlisten() {
        for name in ["a", "b"] { talk.connect(name) }
        talk.say("a", "q", #"{"p":"/a","h":""}"#)
        talk.say("b", "q", #"{"p":"/a","h":""}"#)
        #expect(talk.say("a", "n", #"{"p":"/a"}"#) == [ok("a")])
        #expect(talk.leave("b") == [])
        #expect(talk.rest("PUT", "/a.json", "1") == [])
        #expect(talk.server.sessionCount == 1)
        talk.server.disconnected(SessionID(number: 2), at: 0)
    }

    @Test("A get is answered with the export form")
    func get() {
        talk.connect("a")
        _ = talk.rest("PUT", "/a.json", #"{"0":{".value":1,".priority":2},"1":9007199254740993}"#)
        #expect(
            talk.say("a", "g", #"{"p":"/a","q":{}}"#) == [
                ok("a", #"{"0":{".value":1,".priority":2},"1":9007199254740993}"#)
            ])
        #expect(
            talk.say("a", "g", #"{"p":"/a","q":{"l":1,"vf":"l"}}"#) == [
                ok("a", #"{"1":9007199254740993}"#)
            ])
    }

    @Test("A put with a hash applies only where that is what stands there")
    func transaction() {
        talk.connect("a")
        #expect(talk.say("a", "p", #"{"p":"/n","d":true,"h":""}"#) == [ok("a")])
        #expect(
            talk.say("a", "p", #"{"p":"/n","d":5,"h":""}"#) == [
                #"a: {"r":1,"b":{"s":"datastale","d":"Transaction hash does not match"}}"#
            ])
        #expect(
            talk.say("a", "p", #"{"p":"/n","d":5,"h":"E5z61QM0lN/U2WsOnusszCTkR8M="}"#) == [
                ok("a")
            ])
        #expect(talk.http.send("GET", "/n.json") == "200 5")
    }

    @Test("A priority is written at its place, pushed so, and counts in the window")
    func priority() {
        talk.connect("a")
        _ = talk.rest("PUT", "/p.json", #"{"a":1,"b":2}"#)
        talk.say("a", "q", #"{"p":"/p","h":""}"#)
        talk.say("a", "q", #"{"p":"/p","h":"","q":{"l":1,"vf":"l"},"t":4}"#)
        #expect(
            talk.say("a", "p", #"{"p":"/p/a/.priority","d":7}"#) == [
                #"a: {"a":"d","b":{"p":"p/a/.priority","d":7}}"#,
                #"a: {"a":"m","b":{"p":"p","d":{"a":null,"b":2},"t":4}}"#, ok("a"),
            ])
        #expect(talk.http.send("GET", "/p/a/.priority.json") == "200 7")
        #expect(talk.http.send("GET", "/p.json") == #"200 {"a":1,"b":2}"#)
        #expect(
            talk.http.send("GET", "/p.json?format=export")
                == #"200 {"a":{".value":1,".priority":7},"b":2}"#)
        #expect(
            talk.say(
                "a", "m", #"{"p":"/p","d":{"a/.priority":null,"b":{".value":3,".priority":1}}}"#)
                == [
                    #"a: {"a":"m","b":{"p":"p","d":{"a/.priority":null,"b":{".value":3,".priority":1}}}}"#,
                    #"a: {"a":"m","b":{"p":"p","d":{"a":1,"b":null},"t":4}}"#, ok("a"),
                ])
    }

    @Test("A ping is answered with data; a sign of life and other control messages with nothing")
    func control() {
        talk.connect("a")
        #expect(
            talk.send("a", #"{"t":"c","d":{"t":"p","d":{}}}"#) == [
                #"a: {"t":"c","d":{"t":"o","d":{}}}"#
            ])
        #expect(talk.send("a", "0") == [])
        #expect(talk.send("a", #"{"t":"c","d":{"t":"n","d":{}}}"#) == [])
    }

    @Test("A message in parts is one message")
    func parts() {
        talk.connect("a")
        #expect(talk.send("a", "3") == [])
        #expect(talk.send("a", #"{"t":"d","d":{"r":1,"#) == [])
        #expect(talk.send("a", #""a":"p","b":{"p":"/a","#) == [])
        #expect(talk.send("a", #""d":1}}}"#) == [ok("a")])
    }

    @Test("Statistics, App Check and sign-outs are acknowledged")
    func accepted() {
        talk.connect("a")
        for action in ["s", "appcheck", "unappeck", "unauth"] {
            #expect(talk.say("a", action, "{}") == [ok("a")])
        }
        #expect(talk.say("a", "auth", #"{"cred":7}"#)[0].contains("invalid_token"))
    }

    @Test(
        "A request that cannot be is answered with a status, never with a top-level error",
        arguments: [
            ("p", #"{"p":"/a.b","d":1}"#), ("p", #"{"d":1}"#), ("p", #"{"p":"/a"}"#),
            ("p", #"{"p":"/a","d":{"x.y":1}}"#), ("m", #"{"p":"/a","d":[1]}"#),
            ("m", #"{"p":"/a","d":{"b":1,"b/c":2}}"#), ("m", #"{"p":"/a/.priority","d":{"b":1}}"#),
            ("p", #"{"p":"/a","d":{".sv":"x"}}"#), ("q", #"{"p":"/a","q":{"l":0},"t":1}"#),
            ("q", #"{"p":"/a","q":7,"t":1}"#), ("g", #"{"p":"/a","q":{"i":".x","l":1}}"#),
            ("q", #"{"p":"/.priority","h":""}"#), ("o", #"{"p":"/a"}"#),
            ("om", #"{"p":"/a","d":1}"#),
            ("nonsense", "{}"),
        ])
    func refused(action: String, body: String) {
        talk.connect("a")
        let heard = talk.say("a", action, body)
        #expect(heard.count == 1)
        #expect(heard[0].hasPrefix(#"a: {"r":1,"b":{"s":"failure","d":""#), "\(heard)")
        #expect(talk.http.send("GET", "/.json") == "200 null")
        #expect(talk.say("a", "p", #"{"p":"/a","d":1}"#) == [ok("a")], "the session goes on")
    }

    @Test(
        "Who does not speak the protocol is hung up on",
        arguments: [
            "", "{", "null", "[]", #"{"t":"d"}"#, #"{"t":"d","d":{}}"#,
            #"{"t":"d","d":{"r":"1","a":"p","b":{}}}"#, #"{"t":"x","d":{"r":1,"b":{}}}"#,
        ])
    func nonsense(frame: String) {
        talk.connect("a")
        let heard = talk.send("a", frame)
        #expect(heard.count == 2)
        #expect(heard[0].hasPrefix(#"a: {"t":"c","d":{"t":"e","d":""#), "\(heard)")
        #expect(heard[1] == "a: closed")
        #expect(talk.server.sessionCount == 0)
        #expect(talk.send("a", #"{"t":"c","d":{"t":"p","d":{}}}"#) == [])
    }

    @Test("A message that is too long ends the session, not the server")
    func tooLong() {
        let talk = Conversation { $0.messageBytesMax = 100 }
        talk.connect("a")
        #expect(talk.send("a", String(repeating: " ", count: 101)).last == "a: closed")
    }

    @Test("One session listens to no more places than the limit")
    func listens() {
        let talk = Conversation { $0.listensMax = 2 }
        talk.connect("a")
        for path in ["/a", "/b", "/a"] {
            #expect(talk.say("a", "q", #"{"p":"\#(path)","h":""}"#).last == ok("a", "{}"))
        }
        #expect(talk.say("a", "q", #"{"p":"/c","h":""}"#)[0].contains("failure"))
    }
}

@Suite("onDisconnect") struct OnDisconnectTests {
    let talk = Conversation()

    init() {
        for name in ["a", "b"] { talk.connect(name) }
        talk.say("b", "q", #"{"p":"/","h":""}"#)
    }

    @Test("Writes happen in their order when the client is gone, server values of that moment")
    func order() {
        #expect(talk.say("a", "o", #"{"p":"/s","d":{".sv":"timestamp"}}"#) == [ok("a")])
        talk.say("a", "om", #"{"p":"/u","d":{"x/y":1,"z":2}}"#)
        talk.say("a", "o", #"{"p":"/gone","d":null}"#)
        talk.http.now += 5
        #expect(
            talk.leave("a") == [
                #"b: {"a":"d","b":{"p":"s","d":1700000000005}}"#,
                #"b: {"a":"m","b":{"p":"u","d":{"x/y":1,"z":2}}}"#,
                #"b: {"a":"d","b":{"p":"gone","d":null}}"#,
            ])
    }

    @Test("A cancelled write does not happen: at the place and below, also one key of an update")
    func cancel() {
        talk.say("a", "o", #"{"p":"/x/y","d":1}"#)
        talk.say("a", "om", #"{"p":"/u","d":{"x":1,"z":2}}"#)
        #expect(talk.say("a", "oc", #"{"p":"/x","d":null}"#) == [ok("a")])
        talk.say("a", "oc", #"{"p":"/u/x","d":null}"#)
        #expect(talk.leave("a") == [#"b: {"a":"m","b":{"p":"u","d":{"z":2}}}"#])
    }

    @Test("A later write takes the place of an earlier one at its place and below")
    func replace() {
        for n in 1...100 { talk.say("a", "o", #"{"p":"/x","d":\#(n)}"#) }
        #expect(talk.leave("a") == [#"b: {"a":"d","b":{"p":"x","d":100}}"#])
    }

    @Test("A later update takes the place of all that it names, at its places and below")
    func replaceMany() {
        talk.say("a", "om", #"{"p":"/","d":{"u/x":1,"v/y":2,"w":3,"x/y/z":4}}"#)
        talk.say("a", "om", #"{"p":"/","d":{"u":5,"v/y/z":6,"x/y":null}}"#)
        talk.http.send("PUT", "/.json", #"{"x":{"y":{"z":0}}}"#)
        _ = talk.leave("a")
        #expect(
            talk.http.send("GET", "/.json") == #"200 {"u":5,"v":{"y":{"z":6}},"w":3}"#)
    }

    @Test("They are refused beyond a size, and what cannot be written is refused at once")
    func limits() {
        // 64 bytes a level, the root's too, and the data.
        let talk = Conversation { $0.onDisconnectBytesMax = 2 * 64 + 11 }
        talk.connect("a")
        let tooBig = #""s":"too_big""#
        #expect(talk.say("a", "o", #"{"p":"/x","d":"0123456789"}"#)[0].contains(tooBig))
        #expect(talk.say("a", "o", #"{"p":"/x/y","d":1}"#)[0].contains(tooBig))
        #expect(talk.say("a", "om", #"{"p":"/","d":{"x":1,"y":1}}"#)[0].contains(tooBig))
        #expect(talk.say("a", "o", #"{"p":"/x","d":{"a.b":1}}"#)[0].contains("failure"))
        #expect(talk.leave("a") == [])
    }
}
