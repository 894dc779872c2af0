public import Oracle

/// Makes odd texts of good ones: bytes changed, values replaced by values that have hurt parsers,
/// members dropped, doubled and renamed.
public struct Mutator {
    /// What chance draws from.
    public var random: SplitMix64

    /// A mutator of that seed.
    public init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// The text with some mutations.
    public mutating func mutated(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<random.pick([1, 1, 1, 2, 3, 6]) {
            text = random.chance(0.7) ? replaced(text) : corrupted(text)
        }
        return text
    }

    // MARK: Bytes

    /// The text with a few bytes changed in one place.
    mutating func corrupted(_ text: [UInt8]) -> [UInt8] {
        guard !text.isEmpty else { return [UInt8(truncatingIfNeeded: random.next())] }
        var out = text
        let at = random.int(0..<out.count)
        let length = min(random.pick([1, 1, 2, 4, 16]), out.count - at)
        switch random.int(0..<7) {
        case 0: out[at] ^= 1 << UInt8(random.int(0..<8))
        case 1: out[at] = UInt8(truncatingIfNeeded: random.next())
        case 2: out.removeSubrange(at..<at + length)
        case 3: out.insert(contentsOf: out[at..<at + length], at: at)
        case 4: out.removeLast(random.int(0..<out.count))
        case 5: out.insert(random.pick(Array("{}[]\",:\\ 0-.eE\u{0}\u{1F}\t".utf8)), at: at)
        default: out.insert(contentsOf: random.pick(Self.strangeBytes), at: at)
        }
        return out
    }

    private static let strangeBytes: [[UInt8]] = [
        [0xEF, 0xBB, 0xBF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
        [0x00], [0xE2, 0x80, 0xA8],
    ]

    // MARK: Values and members

    // Quotes, colons and commas tell roughly where a value or name lies: good enough to hurt.
    private mutating func replaced(_ text: [UInt8]) -> [UInt8] {
        let places = text.indices.filter { text[$0] == UInt8(ascii: ":") }
        guard !places.isEmpty else { return text }
        let colon = random.pick(places)
        let end = endOfValue(text, after: colon)
        switch random.int(0..<6) {
        case 0..<3:
            return text[...colon] + Array(random.pick(Self.values).utf8) + text[end...]
        case 3:
            let member = Array(",\"\(random.pick(Self.names))\":\(random.pick(Self.values))".utf8)
            return text[..<end] + member + text[end...]
        case 4:
            let start = startOfName(text, before: colon)
            return text[..<start] + Array("\"\(random.pick(Self.names))\"".utf8) + text[colon...]
        default:
            let start = startOfName(text, before: colon)
            let comma = end < text.count && text[end] == UInt8(ascii: ",") ? 1 : 0
            return Array(text[..<start] + text[min(end + comma, text.count)...])
        }
    }

    private func endOfValue(_ text: [UInt8], after colon: Int) -> Int {
        var depth = 0
        var isQuoted = false
        var at = colon + 1
        while at < text.count {
            let byte = text[at]
            if isQuoted {
                if byte == UInt8(ascii: "\\") { at += 1 }
                if byte == UInt8(ascii: "\"") { isQuoted = false }
            } else if byte == UInt8(ascii: "\"") {
                isQuoted = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                if depth == 0 { return at }
                depth -= 1
            } else if byte == UInt8(ascii: ","), depth == 0 {
                return at
            }
            at += 1
        }
        return text.count
    }

    private func startOfName(_ text: [UInt8], before colon: Int) -> Int {
        guard let close = text[..<colon].lastIndex(of: UInt8(ascii: "\"")),
            let open = text[..<close].lastIndex(of: UInt8(ascii: "\""))
        else { return colon }
        return open
    }

    /// Names that mean something to some mapping, and names that no database takes.
    static let names = [
        "conversation_id", "conversationId", "message_sequence", "run_id", "runId", "chunk_index",
        "content", "type", "timestamp", "is_final", "finish_reason", "error_message", "state",
        "seq", "since", "error", "status", "event_context", "eventContext", "event_name", "message",
        "emitted_at", "version", "at", "info", "id", "kind", "", ".sv", "a.b", "a/b", "$x", "%",
        "\\u0000", "\\ud83d", "é", "e\u{301}", "0", "1", "erased", "run",
        String(repeating: "k", count: 300), String(repeating: "/", count: 257),
    ]

    /// Values at the edges of what a field may be.
    static let values: [String] = [
        "null", "true", "false", "0", "-0", "1", "-1", "7.0", "7e0", "7.5", "1e999", "-1e999",
        "1e-400", "9223372036854775807", "9223372036854775806", "-9223372036854775808",
        "9223372036854775808", "9007199254740993", "\"\"", "\"08\"", "\"+7\"", "\" 7\"", "\"-\"",
        "\"9223372036854775807\"", "\"-9223372036854775808\"", "\"9223372036854775808\"", "[]",
        "{}", "[[]]", "{\"\":{}}", "[null]", "[1,{\"a.b\":[null,2]}]", "\"..\"", "\"a/b\"",
        "\"\\ud83d\"", "\"\\ud83d\\ude42\"", "\"\\u0000\"", "\"é\"", "\"e\\u0301\"", "\"started\"",
        "\"completed\"", "\"failed\"", "\"cancelled\"", "\"error\"", "\"stop\"", "\"delta\"",
        "\"CONVERSATION_ACTIVITY_STATE_IDLE\"", "\"CONVERSATION_ACTIVITY_STATE_GENERATING\"",
        "\"2026-11-01T00:00:00Z\"", "\"0000-01-01T00:00:00Z\"", "\"9999-12-31T23:59:60Z\"",
        "\"0000-01-01T00:00:00+23:59\"", "\"9999-12-31T23:59:59.999999999999-23:59\"",
        "\"2026-02-30T00:00:00Z\"", "\"1969-12-31T23:59:59.5Z\"",
        "{\"code\":\"x\",\"message\":\"y\"}", "{\"event_name\":\"A.B\"}", "{\"event_name\":null}",
        "\"" + String(repeating: "x", count: 700) + "\"",
        "\"" + String(repeating: "y", count: 800) + "\"",
        "\"" + String(repeating: "/", count: 300) + "\"",
        String(repeating: "[", count: 31) + String(repeating: "]", count: 31),
        String(repeating: "{\"a\":", count: 29) + "1" + String(repeating: "}", count: 29),
        String(repeating: "[", count: 600) + String(repeating: "]", count: 600),
    ]
}
