import JSON
import Oracle
import Testing
import Tree
import TreeWire

@testable import TreeServerCore

@Suite struct StreamTests {
    @Test func aStreamBeginsWithTheWholeValue() {
        let session = Session()
        #expect(line(session.listen("/a.json").first) == #"put {"path":"/","data":null}"#)
        session.send("PUT", "/a.json", #"[1,{"x":"\n"}]"#)
        #expect(line(session.listen("/a.json").first) == #"put {"path":"/","data":[1,{"x":"\n"}]}"#)
    }

    /// What is written, and what a listener at `/l/m` hears of it.
    @Test(
        arguments: [
            ("PUT /l/m.json", "2", #"put {"path":"/","data":2}"#),
            ("PUT /l/m.json", #"{"v":1}"#, #"put {"path":"/","data":{"v":1}}"#),
            ("DELETE /l/m.json", "", #"put {"path":"/","data":null}"#),
            ("PUT /l/m/x/y.json", #"["a"]"#, #"put {"path":"/x/y","data":["a"]}"#),
            ("DELETE /l/m/x.json", "", #"put {"path":"/x","data":null}"#),
            ("PUT /l.json", #"{"m":5,"n":6}"#, #"put {"path":"/","data":5}"#),
            ("PUT /l.json", #"{"n":6}"#, #"put {"path":"/","data":null}"#),
            ("PUT /l.json", #"{"m":{"v":1},"n":6}"#, nil),
            ("DELETE /.json", "", #"put {"path":"/","data":null}"#),
            (
                "PATCH /l/m.json", #"{"x/y":1,"v":null}"#,
                #"patch {"path":"/","data":{"v":null,"x/y":1}}"#
            ),
            (
                "PATCH /l/m/x.json", #"{"y":{".sv":"timestamp"}}"#,
                #"patch {"path":"/x","data":{"y":1700000000000}}"#
            ),
            (
                "PATCH /l.json", #"{"m/v":2,"m/w/x":3,"n":4}"#,
                #"patch {"path":"/","data":{"v":2,"w/x":3}}"#
            ),
            ("PATCH /.json", #"{"l/m":2,"l/n":4}"#, #"put {"path":"/","data":2}"#),
            ("PATCH /.json", #"{"l/m":{"v":1}}"#, #"put {"path":"/","data":{"v":1}}"#),
            ("PATCH /.json", #"{"l":{"m":3}}"#, #"put {"path":"/","data":3}"#),
            ("PATCH /.json", #"{"l":{"m":{"v":1}}}"#, nil),
            ("PATCH /l.json", "null", #"put {"path":"/","data":null}"#),
            ("PUT /l/n.json", "1", nil), ("PUT /l/m2.json", "1", nil),
            ("PATCH /l.json", #"{"n":1}"#, nil),
            ("PUT /l/m.json?ns=other", "1", nil),
        ] as [(String, String, String?)])
    func aWriteIsHeardAsOneEvent(request: String, body: String, event: String?) {
        let session = Session()
        session.send("PUT", "/l/m.json", #"{"v":1}"#)
        let (id, _) = session.listen("/l/m.json")
        let parts = request.split(separator: " ").map(String.init)
        #expect(session.send(parts[0], parts[1], body).hasPrefix("200"))
        #expect(session.events() == (event.map { [id: [$0]] } ?? [:]))
    }

    @Test func aPushIsHeardWithItsKey() {
        let session = Session()
        let (id, _) = session.listen("/l.json")
        let answer = session.send("POST", "/l/m.json", "1")
        let key = answer.dropFirst(#"200 {"name":""#.count).dropLast(2)
        #expect(session.events() == [id: [#"put {"path":"/m/\#(key)","data":1}"#]])
    }

    @Test func everyListenerHearsTheWriteFromItsOwnPlace() {
        let session = Session()
        let places = ["/.json", "/a.json", "/a.json", "/a/b.json", "/a/b/c.json", "/a/x.json"]
        let ids = places.map { session.listen($0).id }
        let export = session.listen("/a.json?format=export").id
        session.send("PUT", "/a/b.json", #"{"c":[1]}"#)
        let heard = session.events()
        #expect(heard[ids[0]] == [#"put {"path":"/a/b","data":{"c":[1]}}"#])
        #expect(heard[ids[1]] == [#"put {"path":"/b","data":{"c":[1]}}"#])
        #expect(heard[ids[2]] == heard[ids[1]])
        #expect(heard[ids[3]] == [#"put {"path":"/","data":{"c":[1]}}"#])
        #expect(heard[ids[4]] == [#"put {"path":"/","data":[1]}"#])
        #expect(heard[ids[5]] == nil)
        #expect(heard[export] == [#"put {"path":"/b","data":{"c":{"0":1}}}"#])
    }

    @Test func aRefusedWriteIsNotHeard() {
        let session = Session()
        _ = session.listen("/.json")
        session.send("PATCH", "/.json", #"{"a":1,"a/b":2}"#)
        session.send("PUT", "/a.json", "2", ["If-Match": "x"])
        #expect(session.events().isEmpty)
    }

    @Test func whoLeftHearsNothing() {
        let session = Session()
        let (a, _) = session.listen("/x/y.json")
        let (b, _) = session.listen("/x/y.json")
        session.server.closed(a)
        session.server.closed(a)
        #expect(session.server.streamCount == 1)
        session.send("PUT", "/x/y.json", "1")
        #expect(session.events() == [b: [#"put {"path":"/","data":1}"#]])
        session.server.closed(b)
        session.send("PUT", "/x.json", "1")
        #expect(session.events().isEmpty)
        #expect(session.server.nextTick == nil)
    }

    @Test func everyStreamSaysRegularlyThatItLives() {
        let session = Session()
        let (a, _) = session.listen("/x.json")
        session.now += 10_000
        let (b, _) = session.listen("/y.json")
        #expect(session.server.nextTick == session.now + 20_000)
        session.server.tick(at: session.now + 19_999)
        #expect(session.events().isEmpty)
        session.server.tick(at: session.now + 20_000)
        #expect(session.events() == [a: ["keep-alive null"]])
        session.server.tick(at: session.now + 30_000)
        #expect(session.events() == [b: ["keep-alive null"]])
        session.server.tick(at: session.now + 50_000)
        #expect(session.events() == [a: ["keep-alive null"]])
    }

    @Test func aFilteredStreamIsToldWhatChangesInItsWindow() {
        let session = Session()
        session.send("PUT", "/v.json", #"{"a":1,"b":2,"c":3}"#)
        let (id, first) = session.listen("/v.json?orderBy=\"$value\"&limitToLast=2")
        #expect(line(first) == #"put {"path":"/","data":{"b":2,"c":3}}"#)
        session.send("PUT", "/v/a.json", "0")
        #expect(session.events().isEmpty)
        session.send("PATCH", "/v.json", #"{"a":9,"d":1}"#)
        #expect(session.events() == [id: [#"patch {"path":"/","data":{"a":9,"b":null}}"#]])
        session.send("DELETE", "/.json")
        #expect(session.events() == [id: [#"put {"path":"/","data":null}"#]])
    }

    @Test(arguments: ["/a.json?shallow=true", "/a.json?orderBy=x", "/a..json"])
    func aStreamThatCannotBeIsRefusedBeforeItBegins(target: String) {
        let answer = Session().response("GET", target, [], ["Accept": "text/event-stream"])
        #expect(answer.status == 400)
    }

    /// Whatever is written and wherever one listens, the events build the value that stands there.
    @Test(arguments: 0..<30 as Range<UInt64>)
    func everyReplicaFollowsTheTree(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let session = Session()
        let parser = JSONParser()
        var decoder = ValueDecoder()
        var replicas: [StreamID: (path: String, value: Value)] = [:]
        func path() -> String {
            let depth = Int.random(in: 0...3, using: &random)
            return (0..<depth).map { _ in ["a", "b", "0", "1"].randomElement(using: &random)! }
                .joined(separator: "/")
        }
        func value() -> String {
            [
                "1", "null", #""x""#, #"{"a":1,"b":{"0":true}}"#, #"[1,{"a":2}]"#,
                #"{"a":{"a":{"a":5}}}"#,
            ]
            .randomElement(using: &random)!
        }
        func hear(_ id: StreamID, _ bytes: [UInt8]) throws {
            var stream = EventStreamParser()
            for event in try stream.feed(bytes) {
                try TreeEvent(event, parser: parser, decoder: &decoder)?.apply(
                    to: &replicas[id]!.value)
            }
        }
        for step in 0..<150 {
            if step % 10 == 0 {
                let place = path()
                let (id, first) = session.listen("/\(place).json")
                replicas[id] = (place, .null)
                try hear(id, Array(first.utf8))
            }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: session.send("PUT", "/\(path()).json", value())
            case 1: session.send("DELETE", "/\(path()).json")
            default:
                let members = (0..<3).map { _ in
                    #""\#(path())/\#(["a", "b", "0"].randomElement(using: &random)!)":\#(value())"#
                }
                session.send("PATCH", "/\(path()).json", "{" + members.joined(separator: ",") + "}")
            }
            var heard: Set<StreamID> = []
            while let output = session.server.nextOutput() {
                guard case .send(let id, let bytes) = output else { continue }
                #expect(heard.insert(id).inserted, "one write is one event")
                try hear(id, bytes)
            }
            for (place, value) in replicas.values {
                let now = session.response("GET", "/\(place).json?format=export", [])
                #expect(String(decoding: now.body, as: UTF8.self) == value.description)
            }
        }
    }
}
