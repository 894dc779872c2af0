import Oracle
import Testing

@Suite("Differences between trees")
struct DifferenceTests {
    private func differ(_ expected: String, _ found: String) throws -> [String] {
        try differences(expected: Node.parse(Array(expected.utf8)), found: Array(found.utf8))
            .map(\.description)
    }

    @Test("Equal trees have none, however the database spells them")
    func equal() throws {
        #expect(try differ(#"{"a":["x",null,"y"]}"#, #"{"a":{"0":"x","2":"y"}}"#) == [])
        #expect(try differ(#"{"a":1}"#, #"{"a":1.0,"b":null,"c":{},"d":[]}"#) == [])
        #expect(try differ("null", "{}") == [])
    }

    @Test("The bridge's own state does not count")
    func ownState() throws {
        #expect(try differ(#"{"a":1}"#, #"{"a":1,"_firebridge":{"version":1}}"#) == [])
        #expect(try differ("null", #"{"_firebridge":{"version":1}}"#) == [])
    }

    @Test("Each is named by its path")
    func named() throws {
        #expect(
            try differ(#"{"a":{"b":"x","c":1},"d":2}"#, #"{"a":{"b":"y","c":1},"e":3}"#) == [
                #"a/b: expected "x", found "y""#, "d: expected 2, found nothing",
                "e: expected nothing, found 3",
            ])
    }

    @Test("Numbers differ by the last digit, and from their text")
    func numbers() throws {
        #expect(try differ(#"{"n":9007199254740993}"#, #"{"n":9007199254740992}"#).count == 1)
        #expect(try differ(#"{"n":7}"#, #"{"n":"7"}"#).count == 1)
        #expect(try differ(#"{"n":0.5}"#, #"{"n":5e-1}"#) == [])
    }

    @Test("Keys that look the same and are other bytes stay two")
    func twins() throws {
        let composed = "{\"\u{E9}\":1}"
        let decomposed = "{\"e\u{301}\":1}"
        #expect(try differ(composed, decomposed).count == 2)
    }
}
