import JSON
import Testing
import Tree

@testable import TreeWire

@Suite struct EventStreamTests {
    static let transcript = Array(
        """
        event: put
        data: {"path":"/","data":{"a":{"b":1},"l":["x",null,"z"]}}

        event: keep-alive
        data: null

        : a comment
        id: 7
        event: patch
        data: {"path":"/a","data":{"c/d":"é","b":null}}

        event: put
        data: {"path":"/l/1","data":"y"}

        event: auth_revoked
        data: credential is no longer valid

        event: cancel
        data: null

        event: log
        data: {}


        """.utf8)

    static func events(_ pieces: [ArraySlice<UInt8>]) throws -> [TreeEvent] {
        var stream = EventStreamParser()
        var decoder = ValueDecoder()
        let parser = JSONParser()
        return try pieces.flatMap { try stream.feed($0) }.compactMap {
            try TreeEvent($0, parser: parser, decoder: &decoder)
        }
    }

    @Test func aStreamIsUnderstood() throws {
        #expect(
            try Self.events([Self.transcript[...]]) == [
                .put("", ["a": ["b": 1], "l": ["0": "x", "2": "z"]]), .keepAlive,
                .patch("a", [.init(path: "c/d", value: "é"), .init(path: "b", value: nil)]),
                .put("l/1", "y"), .authRevoked, .cancel(""),
            ])
    }

    @Test func itDoesNotMatterHowTheBytesArrive() throws {
        let whole = try Self.events([Self.transcript[...]])
        for cut in 0...Self.transcript.count {
            #expect(try Self.events([Self.transcript[..<cut], Self.transcript[cut...]]) == whole)
        }
        #expect(try Self.events(Self.transcript.indices.map { Self.transcript[$0...$0] }) == whole)
    }

    @Test(arguments: ["\r", "\r\n"])
    func otherLineEndsWork(_ end: String) throws {
        let text = String(decoding: Self.transcript, as: UTF8.self).replacing("\n", with: end)
        let bytes = Array(text.utf8)
        let whole = try Self.events([Self.transcript[...]])
        #expect(try Self.events([bytes[...]]) == whole)
        #expect(try Self.events(bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test func linesOfDataAreJoinedAndSpaceIsOptional() throws {
        var parser = EventStreamParser()
        let events = try parser.feed(Array("\u{FEFF}data:a\ndata: b\n\nevent: x\n\ndata\n\n".utf8))
        #expect(
            events == [
                ServerSentEvent(name: "message", data: Array("a\nb".utf8)),
                ServerSentEvent(name: "message", data: []),
            ])
    }

    @Test func anEventThatIsTooLongIsRefused() throws {
        var parser = EventStreamParser(bytesMax: 10)
        _ = try parser.feed(Array("data: 1234\n\ndata: 1234\n\n".utf8))
        #expect(throws: EventStreamParser.TooLong(bytesMax: 10)) {
            try parser.feed(Array("data: 12345\n\n".utf8))
        }
    }

    @Test(arguments: [
        "null", "{}", #"{"path":1,"data":2}"#, #"{"path":"/"}"#, "{",
        #"{"path":"/","data":{"a.b":1}}"#,
    ])
    func dataThatIsNoChangeIsRefused(_ data: String) {
        #expect(throws: TreeEvent.Failure.data(event: "put")) {
            try Self.events([Array("event: put\ndata: \(data)\n\n".utf8)[...]])
        }
    }

    @Test func whatIsWrittenIsRead() throws {
        var bytes: [UInt8] = []
        bytes.append(event: .put, path: "a b/é\"", data: Value.string([0x0A]).json())
        bytes.append(contentsOf: keepAliveEvent)
        bytes.append(event: .cancel, data: Array("Permission denied".utf8))
        #expect(
            try Self.events([bytes[...]]) == [
                .put("a b/é\"", "\n"), .keepAlive, .cancel("Permission denied"),
            ])
        #expect(
            String(decoding: bytes, as: UTF8.self).hasPrefix("event: put\ndata: {\"path\":\"/a b/é")
        )
    }

    @Test func eventsBuildAReplica() throws {
        var replica: Value = "old"
        for event in try Self.events([Self.transcript[...]]) { event.apply(to: &replica) }
        #expect(replica == ["a": ["c": ["d": "é"]], "l": ["0": "x", "1": "y", "2": "z"]])
    }
}
