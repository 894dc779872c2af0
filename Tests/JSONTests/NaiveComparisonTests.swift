import Fuzzing
import JSON
import Oracle
import Testing

/// The parser against one that was written straight from the grammar.
@Suite struct NaiveComparisonTests {
    private func naive(_ tape: JSONTape, _ value: Int) -> NaiveJSON {
        switch tape.kind(value) {
        case .object:
            .object(
                tape.members(of: value).map { name, value in
                    (Array(String(decoding: tape.text(name), as: UTF8.self).utf16), naive(tape, value))
                })
        case .array: .array(tape.elements(of: value).map { naive(tape, $0) })
        case .string: .string(Array(String(decoding: tape.text(value), as: UTF8.self).utf16))
        case .number: .number(Array(tape.raw(value)))
        case .true: .bool(true)
        case .false: .bool(false)
        case .null: .null
        }
    }

    // Unpaired surrogates become U+FFFD, as Swift makes of them too.
    private func repaired(_ json: NaiveJSON) -> NaiveJSON {
        func repaired(_ units: [UInt16]) -> [UInt16] {
            Array(String(decoding: units, as: UTF16.self).utf16)
        }
        return switch json {
        case .object(let members):
            .object(members.map { (repaired($0.name), self.repaired($0.value)) })
        case .array(let elements): .array(elements.map { self.repaired($0) })
        case .string(let units): .string(repaired(units))
        default: json
        }
    }

    private func compare(_ text: [UInt8], _ parser: JSONParser) {
        let shown = String(decoding: text.prefix(400), as: UTF8.self)
        do {
            let tape = try parser.parse(text)
            guard case .value(let expected) = NaiveJSON.read(text) else {
                Issue.record("accepted: \(shown)")
                return
            }
            #expect(naive(tape, 0) == repaired(expected), "\(shown)")
        } catch {
            if case .value = NaiveJSON.read(text) { Issue.record("refused, \(error): \(shown)") }
        }
    }

    @Test func mutatedRecordsAreReadAsANaiveParserReadsThem() {
        let parser = JSONParser()
        var streams = HardStreams(seed: 7)
        var mutator = Mutator(seed: 8)
        for record in streams.records(conversations: 60) {
            for _ in 0..<8 { compare(mutator.mutated(record.value), parser) }
        }
    }

    @Test func shortTextsOfTellingCharactersAreReadAsANaiveParserReadsThem() {
        let parser = JSONParser()
        var random = SplitMix64(seed: 9)
        let parts = [
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "1", "0", "-", ".", "e", "+", "true", "null",
            "tru", " ", "\n", "\t", "\u{0B}", "\u{0}", "\\", "\\u00e9", "\\ud83d", "é", "x", "/",
        ]
        for _ in 0..<60_000 {
            let text = (0..<random.int(1..<10)).map { _ in random.pick(parts) }.joined()
            compare(Array(text.utf8), parser)
        }
    }

    @Test func textsAroundTheWidthOfAVectorAreReadAsANaiveParserReadsThem() {
        let parser = JSONParser()
        for length in 0..<200 {
            let pad = String(repeating: " ", count: length)
            for tail in [#"{"a":"b\\"}"#, #""\"""#, "[1,\"\\u00e9\"]", "\"\\", "tru", #"["a"b]"#] {
                compare(Array((pad + tail).utf8), parser)
                compare(Array((tail + pad).utf8), parser)
                compare(Array("\"\(pad)\\\\\(tail)".utf8), parser)
            }
        }
    }

    @Test func integersAreWhatExactArithmeticSays() throws {
        let parser = JSONParser()
        var random = SplitMix64(seed: 10)
        for _ in 0..<20_000 {
            // digits × 10^shift, written with the point anywhere.
            let value = Int64(bitPattern: random.next() >> UInt64(random.int(0..<63)))
            let digits = String(value.magnitude)
            let point = random.int(0..<digits.count + 1)
            let zeros = String(repeating: "0", count: random.int(0..<4))
            let whole = point == 0 ? "0" : String(digits.prefix(point))
            let rest = digits.dropFirst(point) + zeros
            let exponent = digits.count - point
            let text =
                (value < 0 ? "-" : "") + whole + (rest.isEmpty ? "" : "." + rest)
                + random.pick(["e", "E", "e+"]) + String(exponent)
            let tape = try parser.parse(Array(text.utf8))
            #expect(tape.int64(0) == value, "\(text)")
        }
    }
}
