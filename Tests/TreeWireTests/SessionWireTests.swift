import Testing
import TreeWire

@Suite("Session messages on the wire") struct SessionWireTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("The accept key is that of RFC 6455's example")
    func accept() {
        #expect(
            WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(WebSocketHandshake.accept("short==") == nil)
        #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZ\r==") == nil)
    }

    @Test("A short message is one frame, also where its bytes are more than its units")
    func short() {
        #expect(MessageFrames.cut(Array("{}".utf8)) == [Array("{}".utf8)])
        let wide = [UInt8](String(repeating: "é", count: 16_384).utf8)
        #expect(MessageFrames.cut(wide) == [wide])
    }

    @Test(
        "A long message is a count and parts of at most 16384 UTF-16 units, each whole UTF-8",
        arguments: ["a", "é", "€", "🙂", "a🙂", "🙂é"])
    func long(letter: String) throws {
        let message = String(repeating: letter, count: 40_001)
        let frames = MessageFrames.cut(Array(message.utf8))
        #expect(text(frames[0]) == "\(frames.count - 1)")
        var joined = ""
        for part in frames.dropFirst() {
            let string = try #require(String(validating: part, as: UTF8.self))
            #expect(string.utf16.count <= MessageFrames.unitsMax)
            #expect(string.utf16.count >= MessageFrames.unitsMax - 1 || part == frames.last)
            joined += string
        }
        #expect(joined == message)
        var assembler = MessageAssembler(bytesMax: 1_000_000)
        for frame in frames.dropLast() { #expect(try assembler.feed(frame) == nil) }
        #expect(try assembler.feed(frames.last!) == Array(message.utf8))
    }

    @Test("A 0 is a sign of life and no count")
    func signOfLife() throws {
        var assembler = MessageAssembler(bytesMax: 100)
        #expect(try assembler.feed(Array("0".utf8)) == nil)
        #expect(try assembler.feed(Array("{}".utf8)) == Array("{}".utf8))
        #expect(try assembler.feed(Array("2".utf8)) == nil)
        #expect(try assembler.feed(Array("{".utf8)) == nil)
        #expect(try assembler.feed(Array("}".utf8)) == Array("{}".utf8))
    }

    @Test("What is longer than the server keeps is refused before it is kept")
    func tooLong() throws {
        var assembler = MessageAssembler(bytesMax: 100)
        #expect(throws: MessageAssembler.Failure.tooLong) {
            try assembler.feed([UInt8](repeating: 0x20, count: 101))
        }
        #expect(throws: MessageAssembler.Failure.tooLong) {
            try assembler.feed(Array("999999".utf8))
        }
        _ = try assembler.feed(Array("9".utf8))
        _ = try assembler.feed([UInt8](repeating: 0x20, count: 60))
        #expect(throws: MessageAssembler.Failure.tooLong) {
            try assembler.feed([UInt8](repeating: 0x20, count: 60))
        }
    }
}
