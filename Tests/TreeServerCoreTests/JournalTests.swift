import Oracle
import Testing
import Tree
import TreeRules

@testable import TreeServerCore

/// A server's memory outlives it: journal entries, and snapshots taken at any time.
@Suite("The journal") struct JournalTests {
    private static func write(_ session: Session, _ random: inout SplitMix64) {
        let place = ["a", "a/b", "a/c", "d/1", "d/2/x", ".", "big"].randomElement(using: &random)!
        let target = place == "." ? "/.json" : "/\(place).json"
        let database = ["demo", "demo", "other"].randomElement(using: &random)!
        let number = Int.random(in: 0..<1000, using: &random)
        let bodies = [
            "null", "\(number)", #""é\#(number)""#, #"{"x":{"y":[1,null,\#(number)]},"z":0.5}"#,
            #"{".value":1,".priority":\#(number)}"#, #"{"k":{"content":"c","is_final":true}}"#,
            #"{".sv":"timestamp"}"#, "{broken", #"{"p":{".priority":"q","v":1}}"#,
        ]
        let body = bodies.randomElement(using: &random)!
        let target2 = target + "?ns=\(database)"
        switch Int.random(in: 0..<8, using: &random) {
        case 0: session.send("DELETE", target2)
        case 1: session.send("POST", target2, body)
        case 2:
            session.send(
                "PATCH", target2, #"{"m/\#(number % 7)":\#(body),"n":{".sv":"timestamp"}}"#)
        case 3 where database == "other":
            session.send(
                "PUT", "/.settings/rules.json?ns=other&auth=owner",
                #"{"rules":{".read":true,".write":\#(number % 2 == 0)}}"#)
        case 4:
            let rows = (0..<number).map { #""\#($0)":{"content":"w\#($0)","at":\#($0)}"# }
            session.send("PATCH", target2, "{" + rows.joined(separator: ",") + "}")
        default: session.send("PUT", target2, body)
        }
        session.now += 1
    }

    private static func state(_ server: TreeServer) -> [String] {
        server.namespaceNames.map { name in
            let namespace = server.namespace(name)
            let rules = namespace.hasOwnRules ? namespace.rules?.text ?? [] : []
            return [name, namespace.tree.root.json(.export), rules].map {
                String(decoding: $0, as: UTF8.self)
            }.joined(separator: " ")
        }.filter { !$0.hasSuffix(" null ") }
    }

    private static func restored(_ parts: [[UInt8]]) throws -> TreeServer {
        let server = TreeServer()
        var reader = PackedReader()
        for part in parts { try server.restore(part, with: &reader) }
        return server
    }

    @Test("A server that reads the journal back is as the one that wrote it")
    func journal() throws {
        for seed in 0..<6 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let session = Session()
            session.server.keepChanges()
            var journal: [[UInt8]] = []
            for _ in 0..<120 {
                Self.write(session, &random)
                if Int.random(in: 0..<3, using: &random) == 0 {
                    #expect(session.server.hasChanges == !session.server.journal!.isEmpty)
                    journal += session.server.takeChanges()
                }
            }
            journal += session.server.takeChanges()
            #expect(!session.server.hasChanges)
            #expect(try Self.state(Self.restored(journal)) == Self.state(session.server))
        }
    }

    @Test("A snapshot is of one moment, though writes go on while it is written down")
    func snapshot() throws {
        for seed in 20..<26 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let session = Session()
            for _ in 0..<80 { Self.write(session, &random) }
            session.server.keepChanges()
            let before = Self.state(session.server)
            var snapshot = session.server.snapshot()
            var parts: [[UInt8]] = []
            while let part = snapshot.next() {
                parts.append(part)
                Self.write(session, &random)
            }
            #expect(try Self.state(Self.restored(parts)) == before)
            parts += session.server.takeChanges()
            #expect(try Self.state(Self.restored(parts)) == Self.state(session.server))
        }
    }

    @Test("A part of a snapshot is short, however the tree is shaped")
    func parts() throws {
        let session = Session()
        let long = String(repeating: "x", count: 300_000)
        let many = (0..<30_000).map { #""\#($0)":"\#($0)""# }.joined(separator: ",")
        session.send("PUT", "/one/text.json", "\"\(long)\"")
        session.send("PUT", "/wide.json", "{\(many),\".priority\":4}")
        session.send("PUT", "/deep/a/b/c/d/e.json", "{\(many)}")
        var snapshot = session.server.snapshot()
        var parts: [[UInt8]] = []
        while let part = snapshot.next() { parts.append(part) }
        #expect(parts.count { $0.count > 2 * Snapshot.partBytes } == 1)
        #expect(parts.count > 5)
        #expect(try Self.state(Self.restored(parts)) == Self.state(session.server))
    }

    @Test("What a write may not do leaves no entry, nor does what changes nothing for nobody")
    func refused() {
        let session = Session { $0.fence = true }
        session.server.keepChanges()
        session.send("PUT", "/a.json", "{broken")
        session.send("GET", "/a.json")
        session.send("PUT", "/.settings/rules.json", "{}")
        #expect(!session.server.hasChanges)
        session.send("PUT", "/a.json", "1")
        #expect(session.server.hasChanges)
    }

    @Test("A write that is too long to be kept in one piece is refused, and nothing is different")
    func tooLong() {
        let session = Session()
        session.server.keepChanges(entryBytesMax: 100)
        let long = String(repeating: "x", count: 100)
        #expect(
            session.send("PUT", "/a.json", "\"\(long)\"")
                == "400 {\"error\" : \"Data to write exceeds the maximum size that can be modified "
                + "with a single request.\"}")
        #expect(session.send("GET", "/a.json") == "200 null")
        #expect(!session.server.hasChanges)
        #expect(session.send("PUT", "/a.json", "1") == "200 1")
        #expect(session.server.takeChanges().count == 1)
    }

    @Test("A database that was emptied is not there after a restart either")
    func emptied() throws {
        let session = Session()
        session.server.keepChanges()
        session.send("PUT", "/a.json?ns=kept", "1")
        session.send("PUT", "/a.json?ns=emptied", "1")
        session.send("DELETE", "/.json?ns=emptied")
        let again = try Self.restored(session.server.takeChanges())
        #expect(again.namespaceNames == [Array("kept".utf8)])
    }

    @Test("Bytes that are no entries are an error")
    func malformed() {
        #expect(throws: JournalError.malformed(offset: 0)) { try Self.restored([[9, 0]]) }
        #expect(throws: JournalError.self) { try Self.restored([[1, 4, 0x64]]) }
        let server = TreeServer()
        var reader = PackedReader()
        var entry: [UInt8] = []
        entry.append(rules: Array("{}".utf8), of: Array("x".utf8))
        #expect(throws: JournalError.self) { try server.restore(entry, with: &reader) }
    }
}
