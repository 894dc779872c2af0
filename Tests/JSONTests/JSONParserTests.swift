import JSON
import Testing

@Suite struct JSONParserTests {
    let parser = JSONParser()

    func parse(_ text: String) throws -> JSONTape { try parser.parse(Array(text.utf8)) }

    func string(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    @Test func membersAreFoundByNameAndTheLastOfRepeatedNamesCounts() throws {
        let tape = try parse(#" {"a":1,"b":{"c":[true,null]},"a":"x\u0041"} "#)
        let a = try #require(tape.member(Array("a".utf8), of: 0))
        #expect(string(tape.text(a)) == "xA")
        let b = try #require(tape.member(Array("b".utf8), of: 0))
        let c = try #require(tape.member(Array("c".utf8), of: b))
        #expect(tape.elements(of: c).map { tape.kind($0) } == [.true, .null])
        #expect(string(tape.raw(b)) == #"{"c":[true,null]}"#)
        #expect(tape.tokens[0].count == 3)
    }

    @Test(arguments: [
        "", " ", "{", "[", "{\"a\":1", "{\"a\"}", "{\"a\":}", "{a:1}", "[1,]", "{\"a\":1,}",
        "[1 2]",
        "NaN", "01", "-", "1.", "1e", "1e+", "+1", "tru", "truex", "nul", "\"a", "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"", "\"a\nb\"", "{} x", "[]]", "\u{FEFF}{}", "{\"a\":1 \"b\":2}", "\"\t\"", ":",
        ",",
        "{\"a\":tru}", "{\"a\":1.5.2}", "{\"a\":--1}", "'a'",
    ])
    func malformedTextIsRefused(_ text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: JSONError.self) { try parser.parse([0x22, 0xFF, 0x22]) }
        #expect(throws: JSONError.self) {
            try parser.parse(Array("{}".utf16.flatMap { [UInt8($0), 0] }))
        }
    }

    /// Sequences that are no UTF-8: cut off, overlong, surrogates, too great, without a beginning.
    static let invalidSequences: [[UInt8]] = [
        [0xFF], [0x80], [0xC3], [0xC0, 0xAF], [0xC3, 0x28], [0xE2, 0x82], [0xE0, 0x80, 0xAF],
        [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0xAF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80],
    ]

    @Test(arguments: invalidSequences)
    func invalidUTF8IsToldWithItsPlace(_ sequence: [UInt8]) {
        let before = Array(#"{"é€🙂":""#.utf8)
        for after in [#""}"#, "", "é\"}"] {
            let error = #expect(throws: JSONError.self) {
                try parser.parse(before + sequence + after.utf8)
            }
            // Without its end the string is at fault as well.
            guard error?.message == "invalid UTF-8" else {
                #expect(after.isEmpty)
                continue
            }
            #expect(error?.offset == before.count)
        }
    }

    @Test(arguments: [
        ("{\"a\":\"b\nc\"}", 7), ("{\"a\":\"\\\"\n\"}", 8), ("[\"\\\n\"]", 3), ("\"\t\"", 1),
        (#"{"a":"b"#, 5), (#"["\\","\""#, 6), (#"""#, 0), (#"{"a":tru}"#, 5), (#"{"a":1,}"#, 7),
    ])
    func anErrorTellsItsPlace(_ text: String, _ offset: Int) {
        let error = #expect(throws: JSONError.self) { try parse(text) }
        #expect(error?.offset == offset, "\(text) \(String(describing: error))")
    }

    @Test func everyTruncationOfATextIsRefused() throws {
        let text = Array(#"{"a":[1,2.5e3,{"b":"é\ud83d\ude42\n"}],"c":false,"d":null}"#.utf8)
        _ = try parser.parse(text)
        for length in 0..<text.count {
            #expect(throws: JSONError.self) { try parser.parse(Array(text[..<length])) }
        }
    }

    @Test func nestingIsBounded() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        _ = try parse(deep)
        #expect {
            try parse("[" + deep + "]")
        } throws: {
            ($0 as? JSONError)?.kind == .tooDeep
        }
    }

    @Test(
        arguments: [
            ("7", 7), ("-0", 0), ("7.0", 7), ("7e0", 7), ("70e-1", 7), ("0.7e1", 7), ("7.5", nil),
            ("1e999", nil), ("9223372036854775807", Int64.max), ("9223372036854775808", nil),
            ("-9223372036854775808", Int64.min), ("9223372036854775807.0", Int64.max),
            ("0e999999999", 0),
            ("1e18", 1_000_000_000_000_000_000), ("1e19", nil), ("0.00", 0), ("1e-1", nil),
        ] as [(String, Int64?)])
    func integersOf64BitsAreRecognisedByTheirDigits(_ text: String, _ expected: Int64?) throws {
        let tape = try parse(text)
        #expect(tape.int64(0) == expected)
    }

    @Test(arguments: [
        (#""\ud83d""#, true), (#""\ude42""#, true), (#""\ud83d\ude42""#, false),
        (#""\ud83d\ud83d\ude42""#, true),
        (#""\ud83dx""#, true), (#""\ud83d\n""#, true), (#""é""#, false), (#""\ud83d\u0041""#, true),
    ])
    func loneSurrogatesAreSeen(_ text: String, _ lone: Bool) throws {
        let tape = try parse(text)
        #expect(tape.tokens[0].hasLoneSurrogate == lone)
        #expect(string(tape.text(0)).contains("\u{FFFD}") == lone)
    }

    @Test func writtenStringsReadBackAsTheyWere() throws {
        let text = (0..<0x300).compactMap(Unicode.Scalar.init).map(String.init).joined() + "🙂\\\""
        var out: [UInt8] = []
        out.appendJSONString(text)
        let tape = try parser.parse(out)
        #expect(string(tape.text(0)) == text)
    }

    @Test(arguments: [0, 7, -7, 1234567890, Int64.min, Int64.max])
    func decimalsAreWrittenPlainly(_ value: Int64) {
        var out: [UInt8] = []
        out.appendDecimal(value)
        #expect(string(out) == String(value))
    }
}
