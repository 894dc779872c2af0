import JSON
import Oracle
import Testing
import Tree
import TreeWire

@testable import TreeServerCore

@Suite("Windows that the server keeps") struct WindowTests {
    let talk = Conversation()

    private func listen(_ path: String, _ query: String, tag: Int) -> [String] {
        talk.say("a", "q", #"{"p":"\#(path)","h":"","q":\#(query),"t":\#(tag)}"#)
    }

    @Test("A filtered listen is told what enters, what leaves and what changes, with its tag")
    func window() {
        talk.connect("a")
        _ = talk.rest("PUT", "/v.json", #"{"a":1,"b":2,"c":3,"d":{"x":1}}"#)
        #expect(
            listen("/v", #"{"l":2,"vf":"r","i":".value","ep":9}"#, tag: 7) == [
                #"a: {"a":"d","b":{"p":"v","d":{"b":2,"c":3},"t":7}}"#, ok("a", "{}"),
            ])
        #expect(talk.rest("PUT", "/v/a.json", "0") == [], "outside")
        #expect(
            talk.rest("PUT", "/v/b.json", "2.5") == [
                #"a: {"a":"d","b":{"p":"v/b","d":2.5,"t":7}}"#
            ])
        #expect(
            talk.rest("PUT", "/v/a.json", "5") == [
                #"a: {"a":"m","b":{"p":"v","d":{"a":5,"b":null},"t":7}}"#
            ])
        #expect(
            talk.rest("DELETE", "/v/a.json") == [
                #"a: {"a":"m","b":{"p":"v","d":{"a":null,"b":2.5},"t":7}}"#
            ])
        #expect(
            talk.rest("PUT", "/v.json", #"{"z":1}"#) == [
                #"a: {"a":"d","b":{"p":"v","d":{"z":1},"t":7}}"#
            ])
        #expect(talk.rest("PUT", "/v.json", #"{"z":1}"#) == [], "the same again")
        #expect(
            talk.rest("DELETE", "/.json") == [#"a: {"a":"d","b":{"p":"v","d":null,"t":7}}"#])
    }

    @Test("Listens at one place are told each, by their tags, and end each for itself")
    func tags() {
        talk.connect("a")
        _ = talk.rest("PUT", "/v.json", #"{"a":1,"b":2}"#)
        _ = listen("/v", #"{"l":1,"vf":"l","i":".key"}"#, tag: 1)
        _ = listen("/v", #"{"l":1,"vf":"r","i":".key"}"#, tag: 2)
        talk.say("a", "q", #"{"p":"/v","h":""}"#)
        #expect(
            talk.rest("PATCH", "/v.json", #"{"a/x":1,"b":3}"#) == [
                #"a: {"a":"d","b":{"p":"v/a/x","d":1,"t":1}}"#,
                #"a: {"a":"d","b":{"p":"v/b","d":3,"t":2}}"#,
                #"a: {"a":"m","b":{"p":"v","d":{"a/x":1,"b":3}}}"#,
            ])
        talk.say("a", "n", #"{"p":"/v","q":{"l":1,"vf":"r","i":".key"},"t":2}"#)
        #expect(talk.rest("PUT", "/v/b.json", "4") == [#"a: {"a":"d","b":{"p":"v/b","d":4}}"#])
    }

    @Test(
        "Bounds as the clients send them",
        arguments: [
            (#"{"sp":2,"sin":true,"i":".value"}"#, "bcd"),
            (#"{"sp":2,"sn":"[MAX_NAME]","sin":false,"i":".value"}"#, "d"),
            (#"{"sp":2,"sn":"b","sin":false,"i":".value"}"#, "cd"),
            (#"{"ep":2,"en":"[MIN_NAME]","ein":false,"i":".value"}"#, "a"),
            (#"{"ep":2,"i":".value"}"#, "abc"), (#"{"sp":2,"ep":2,"i":".value"}"#, "bc"),
            (#"{"sp":"b","sin":false,"i":".key"}"#, "cd"), (#"{"ep":"b","i":".key"}"#, "ab"),
            (#"{"sp":null,"l":2,"i":"n"}"#, "ab"), (#"{"l":2,"vf":"r"}"#, "cd"),
            (#"{"l":2}"#, "cd"), (#"{"i":".value"}"#, "abcd"),
        ])
    func bounds(query: String, keys: String) throws {
        talk.connect("a")
        _ = talk.rest("PUT", "/v.json", #"{"a":1,"b":2,"c":2,"d":3}"#)
        let heard = talk.say("a", "g", #"{"p":"/v","q":\#(query)}"#)
        let all = ["a": 1, "b": 2, "c": 2, "d": 3]
        let shown = keys.map { #""\#($0)":\#(all[String($0)]!)"# }.joined(separator: ",")
        #expect(heard == [ok("a", "{\(shown)}")])
    }

    /// What one client has of one listen.
    private struct Replica {
        var query: String
        var value = Value.null
        var pushes = 0
    }

    @Test(
        "Whatever is written, the pushes build the window that a get shows, one push a write",
        arguments: 0..<40 as Range<UInt64>)
    func everyWindowFollows(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        talk.connect("a")
        let parser = JSONParser()
        var decoder = ValueDecoder()
        var replicas: [Int64: Replica] = [:]
        let leaves = [
            "1", "2", "2.5", #""x""#, "true", "null", #"{"n":1}"#, #"{"n":{"m":2},"o":1}"#,
        ]
        func leaf() -> String {
            let leaf = leaves.randomElement(using: &random)!
            guard Int.random(in: 0..<4, using: &random) == 0, leaf.first != "{", leaf != "null"
            else { return leaf }
            return #"{".value":\#(leaf),".priority":\#(Int.random(in: 0..<3, using: &random))}"#
        }
        func key() -> String { "k\(Int.random(in: 0..<8, using: &random))" }
        func query() -> String {
            let index = ["", #","i":".key""#, #","i":".value""#, #","i":"n""#, #","i":"n/m""#]
                .randomElement(using: &random)!
            let isKey = index.contains(".key")
            func bound() -> String {
                isKey ? #""\#(key())""# : #"\#(Int.random(in: 0..<4, using: &random))"#
            }
            var parts =
                #""l":\#(Int.random(in: 1...4, using: &random)),"vf":"\#(Bool.random(using: &random) ? "l" : "r")""#
            if Bool.random(using: &random) { parts += #","sp":\#(bound())"# }
            if Bool.random(using: &random) {
                parts += #","ep":\#(bound()),"ein":\#(Bool.random(using: &random))"#
            }
            return "{\(parts)\(index)}"
        }
        func read(_ lines: [String]) throws {
            for id in replicas.keys { replicas[id]?.pushes = 0 }
            for line in lines {
                let tape = try parser.parse(Array(line.dropFirst(3).utf8))
                guard let action = tape.member(Array("a".utf8), of: 0) else { continue }
                let body = try #require(tape.member(Array("b".utf8), of: 0))
                let tag = try #require(
                    tape.member(Array("t".utf8), of: body).flatMap { tape.int64($0) })
                let path = try #require(tape.member(Array("p".utf8), of: body))
                let data = try #require(tape.member(Array("d".utf8), of: body))
                let place = Path(tape.text(path)).dropFirst(1)
                replicas[tag]?.pushes += 1
                #expect((replicas[tag]?.pushes ?? 0) <= 1, "one write is one push")
                guard tape.isText(action, Array("m".utf8)) else {
                    replicas[tag]?.value.set(
                        try decoder.decode(tape, data, at: place), at: place)
                    continue
                }
                // Priorities last, as the clients do.
                var priorities: [(Path, Value)] = []
                for (name, index) in tape.members(of: data) {
                    let path = place.appending(Path(tape.text(name)))
                    let value = try decoder.decode(tape, index, at: path)
                    if path.isPriorityPlace {
                        priorities.append((path, value))
                    } else {
                        replicas[tag]?.value.set(value, at: path)
                    }
                }
                for (path, value) in priorities { replicas[tag]?.value.set(value, at: path) }
            }
        }
        for step in 0..<120 {
            if step % 12 == 0 {
                let tag = Int64(step + 1)
                replicas[tag] = Replica(query: query())
                try read(listen("/v", replicas[tag]!.query, tag: Int(tag)))
            }
            switch Int.random(in: 0..<7, using: &random) {
            case 0: try read(talk.rest("DELETE", "/v/\(key()).json"))
            case 1: try read(talk.rest("PUT", "/v/\(key())/n.json", leaf()))
            case 2: try read(talk.rest("PUT", "/v/\(key())/n/m.json", leaf()))
            case 3: try read(talk.rest("PUT", "/v/\(key())/.priority.json", "\(step % 5)"))
            case 4:
                let body = "{\"\(key())/n\":\(leaf()),\"x\(key())\":\(leaf()),\"y/\(key())\":1}"
                try read(talk.rest("PATCH", "/v.json", body))
            case 5 where step % 3 == 0:
                try read(talk.rest("PUT", "/.json", "{\"v\":{\"\(key())\":\(leaf())}}"))
            default: try read(talk.rest("PUT", "/v/\(key()).json", leaf()))
            }
            for replica in replicas.values {
                let now = talk.say("a", "g", #"{"p":"/v","q":\#(replica.query)}"#)
                #expect(now == [ok("a", replica.value.description)], "\(replica.query)")
            }
        }
    }
}
