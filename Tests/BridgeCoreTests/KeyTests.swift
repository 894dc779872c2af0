import JSON
import Oracle
import Testing

@testable import BridgeCore

@Suite struct KeyTests {
    private func randomText(_ random: inout SplitMix64) -> [UInt8] {
        let interesting = Array(".$#[]/%\u{0}\u{1F}\u{7F} ~aA0F2".utf8)
        return (0..<random.int(0..<12)).map { _ in
            random.chance(0.7)
                ? random.pick(interesting) : UInt8(truncatingIfNeeded: random.next())
        }
    }

    @Test func aKeyIsReadBackAsTheTextThatItWasMadeOf() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<20_000 {
            let text = randomText(&random)
            #expect(Key.unescape(Key.escape(text)) == text)
            #expect(Key.unescape(Key.member(text)) == text)
        }
    }

    @Test func differentTextsHaveDifferentKeysAndNoKeyHasAForbiddenByte() {
        var random = SplitMix64(seed: 2)
        var made: [[UInt8]: [UInt8]] = [:]
        for _ in 0..<20_000 {
            let text = randomText(&random)
            let key = Key.member(text)
            #expect(made.updateValue(text, forKey: key).map { $0 == text } ?? true)
            #expect(!key.isEmpty)
            #expect(!key.contains { Key.isForbidden($0) && $0 != UInt8(ascii: "%") })
        }
    }

    @Test func onlyWhatTheContractNamesIsEncoded() {
        let encoded = (UInt8.min...UInt8.max).filter { Key.escape([$0]) != [$0] }
        let named = Array(UInt8(0)...0x1F) + [0x7F] + Array(".$#[]/%".utf8)
        #expect(Set(encoded) == Set(named))
        #expect(Key.escape([0x0A]) == Array("%0A".utf8))
        #expect(Key.member([]) == Array("%".utf8))
    }

    @Test func anEmptyNameAndAPercentSignAreNotTheSameKey() {
        #expect(Key.member([]) != Key.member([UInt8(ascii: "%")]))
    }
}

@Suite struct PointerTests {
    @Test(arguments: [
        ("", [] as [String]?), ("/", [""]), ("/a/b", ["a", "b"]), ("/a~1b/~0", ["a/b", "~"]),
        ("a", nil), ("/~2", nil), ("/a~", nil), ("//", ["", ""]), ("/~01", ["~1"]),
    ])
    func aPointerIsRFC6901(_ text: String, _ tokens: [String]?) {
        #expect(JSONPointer(text)?.tokens == tokens.map { $0.map { Array($0.utf8) } })
    }

    @Test(arguments: [
        ("/a/0", "1"), ("/a/1/b", "2"), ("/a/2", nil), ("/a/01", nil), ("/a/-", nil),
        ("/a/", nil), ("", "all"), ("/c", "4"), ("/d", "null"), ("/e", nil), ("/c/x", nil),
        ("/a/9223372036854775808", nil), ("/~1~0", "5"),
    ])
    func aPointerFindsWhatItNames(_ pointer: String, _ expected: String?) throws {
        let json = #"{"a":[1,{"b":2}],"c":3,"c":4,"d":null,"/~":5}"#
        let tape = try JSONParserForTests.parse(json)
        let found = try #require(JSONPointer(pointer)).find(in: tape)
        let text = found.map { String(decoding: Array(tape.raw($0)), as: UTF8.self) }
        #expect(text == (expected == "all" ? json : expected))
    }
}
