import Testing

@testable import Demo

@Suite("What a reader of the tree sees")
struct AudienceTests {
    private func event(_ name: String, _ path: String, _ data: String) -> [UInt8] {
        Array("event: \(name)\ndata: {\"path\":\"\(path)\",\"data\":\(data)}\n\n".utf8)
    }

    private func chunk(_ text: String) -> String { #"{"content":"\#(text)"}"# }

    @Test("A chunk is seen once, wherever in the tree the event stands, and its time is taken")
    func chunks() {
        var audience = Audience()
        for index in 0..<4 { audience.produced(Array("c/7/chunks/\(index)".utf8), at: 1_000) }
        #expect(audience.hear(event("put", "/", "null"), at: 1_500))
        let whole = #"{"c":{"7":{"chunks":[\#(chunk("a")),\#(chunk("b"))]}}}"#
        #expect(audience.hear(event("put", "/", whole), at: 2_000))
        #expect(audience.hear(event("patch", "/c/7", "{\"chunks/2\":\(chunk("c"))}"), at: 5_000))
        #expect(audience.hear(event("put", "/c/7/chunks/3", chunk("d")), at: 6_000))
        // The bridge was started again and writes what it does not know to be written.
        #expect(audience.hear(event("put", "/c/7/chunks/2", chunk("c")), at: 9_000))
        #expect(audience.latencies == [1_000, 1_000, 4_000, 5_000])
        #expect(audience.conversations.map(\.tail) == ["abcd"])
        #expect(audience.conversations.map(\.chunks) == [4])
        #expect((audience.active, audience.finished) == (1, 0))
    }

    @Test("A conversation is finished when its meta says so, and counted once")
    func finished() {
        var audience = Audience()
        let meta = #"{"c/7/meta":{"status":"complete"},"d/7/meta/status":"error"}"#
        #expect(audience.hear(event("patch", "/", meta), at: 0))
        #expect(audience.hear(event("put", "/c/7/meta/status", "\"complete\""), at: 0))
        #expect((audience.active, audience.finished) == (0, 2))
    }

    @Test("What happens now is told of the last seconds only")
    func recent() {
        var audience = Audience()
        for index in 0..<2 { audience.produced(Array("c/7/chunks/\(index)".utf8), at: 0) }
        _ = audience.hear(event("put", "/c/7/chunks/0", chunk("a")), at: 1)
        _ = audience.hear(event("put", "/c/7/chunks/1", chunk("b")), at: Audience.window)
        #expect(audience.recent(at: Audience.window).latencies == [1, Audience.window])
        #expect(audience.recent(at: Audience.window + 2).latencies == [Audience.window])
    }

    @Test("An ended or a broken stream is told from one that goes on")
    func broken() {
        var audience = Audience()
        #expect(audience.hear(Array("event: keep-alive\ndata: null\n\n".utf8), at: 0))
        #expect(!audience.hear(Array("event: cancel\ndata: null\n\n".utf8), at: 0))
        #expect(!audience.hear(Array("event: put\ndata: {\n\n".utf8), at: 0))
    }
}
