import Fuzzing
import Oracle
import Testing

@testable import BridgeCore

@Suite struct PassThroughTests {
    /// Made-up JSON as text and as what it says.
    private struct Maker {
        var random: SplitMix64

        mutating func value(_ depth: Int) -> String {
            switch random.int(0..<(depth > 4 ? 5 : 8)) {
            case 0: return random.pick(["null", "true", "false"])
            case 1: return random.pick(["0", "-0", "1.10", "1E+2", "123456789012345678901", "7.0"])
            case 2, 3, 4: return string()
            case 5: return "[" + list(depth) { $0.value(depth + 1) } + "]"
            default: return "{" + list(depth) { $0.string() + ":" + $0.value(depth + 1) } + "}"
            }
        }

        private mutating func list(
            _ depth: Int, _ element: (inout Maker) -> String
        ) -> String {
            (0..<random.int(0..<5)).map { _ in element(&self) }
                .joined(separator: random.pick([",", " , ", ",\n"]))
        }

        mutating func string() -> String {
            "\"" + (0..<random.int(0..<4)).map { _ in
                random.pick([
                    "a", "b", ".", "$", "#", "[", "]", "/", "%", "\\/", "\\n", "\\u0001", "\\u007f",
                    "\\ud83d", "\\ude42", "\\ud83d\\ude42", "é", "e\u{301}", "\\u00e9", "\\\"", "\\\\",
                ])
            }.joined() + "\""
        }
    }

    /// What the database is to hold, written down as plainly as can be.
    private func rewritten(_ json: NaiveJSON) -> NaiveJSON {
        switch json {
        case .object(let members):
            var out: [(name: [UInt16], value: NaiveJSON)] = []
            for (name, value) in members {
                let key = Array(
                    String(decoding: Key.member(Array(repaired(name).utf8)), as: UTF8.self).utf16)
                if let index = out.firstIndex(where: { $0.name == key }) {
                    out[index].value = rewritten(value)
                } else {
                    out.append((key, rewritten(value)))
                }
            }
            return .object(out)
        case .array(let elements): return .array(elements.map(rewritten))
        case .string(let units): return .string(Array(repaired(units).utf16))
        default: return json
        }
    }

    // Swift makes U+FFFD of an unpaired surrogate.
    private func repaired(_ units: [UInt16]) -> String { String(decoding: units, as: UTF16.self) }

    private func depth(_ json: NaiveJSON) -> Int {
        switch json {
        case .object(let members): members.map { depth($0.value) + 1 }.max() ?? 0
        case .array(let elements): elements.map { depth($0) + 1 }.max() ?? 0
        default: 0
        }
    }

    @Test func whatPassesThroughIsWhatANaiveRewriteSays() throws {
        var maker = Maker(random: SplitMix64(seed: 5))
        for _ in 0..<10_000 {
            let text = maker.value(0)
            let tape = try JSONParserForTests.parse(text)
            guard case .value(let naive) = NaiveJSON.read(Array(text.utf8)) else {
                Issue.record("the naive parser refuses \(text)")
                continue
            }
            let passed = PassThrough.json(0, of: tape)
            #expect(NaiveJSON.read(passed) == .value(rewritten(naive)), "\(text)")
            #expect(PassThrough.depth(0, of: tape) == depth(naive), "\(text)")
        }
    }

    @Test func whatIsCleanIsCopiedByteByByte() throws {
        let text = #"{ "a" : [1.0, 2e5 , "\u00e9"], "b":{"é":null} }"#
        let tape = try JSONParserForTests.parse(text)
        #expect(PassThrough.json(0, of: tape) == Array(text.utf8))
    }

    @Test func theLengthOfATooLongNameIsToldWhereverItStands() throws {
        let name = String(repeating: "/", count: 300)
        let tape = try JSONParserForTests.parse(#"[{"a":{"\#(name)":1}}]"#)
        #expect(PassThrough.overlongKey(0, of: tape) == 900)
        let short = try JSONParserForTests.parse(#"{"\#(String(repeating: "k", count: 768))":1}"#)
        #expect(PassThrough.overlongKey(0, of: short) == nil)
    }
}
