import BridgeCore
import Testing

/// Contract section 8, row by row.
@Suite struct OddInputTests {
    static let topics = [chunks, runs, messages]

    @Test(arguments: topics) func anEmptyValueIsMalformed(_ topic: String) {
        #expect(explain(topic, "").reason == .malformedJSON)
    }

    @Test(arguments: topics) func aRecordWithoutValueIsANullValue(_ topic: String) {
        #expect(explain(topic, nil).reason == .nullValue)
    }

    @Test(
        arguments: topics,
        [
            #"{"conversation_id":"c""#, #"{"a":1}x"#, #"{"a":1}{}"#, #"{"a":NaN}"#, #"{"a":01}"#,
            "{\"a\":\"\u{1}\"}", #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":1,}"#, "{'a':1}", "\u{0}",
        ])
    func whatBreaksTheGrammarIsMalformed(_ topic: String, _ value: String) {
        #expect(explain(topic, value).reason == .malformedJSON)
    }

    @Test(arguments: topics) func whatIsNotUTF8IsMalformed(_ topic: String) {
        #expect(
            explain(topic, Array("{\"a\":\"".utf8) + [0xFF, 0x22, 0x7D]).reason == .malformedJSON)
        #expect(explain(topic, [0xED, 0xA0, 0x80]).reason == .malformedJSON)
        let utf16 = chunkValue().utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(explain(topic, utf16).reason == .malformedJSON)
        #expect(explain(topic, [0xFF, 0xFE] + utf16).reason == .malformedJSON)
    }

    @Test func aRejectionSaysAtWhichByteOfTheValueItWentWrong() {
        let broken = Array(#"{"a":"é"#.utf8) + [0xFF, 0x22, 0x7D]
        func message(_ value: [UInt8]) -> String? { explain(chunks, value).rejection?.message }
        #expect(message(broken) == "expected JSON, found invalid UTF-8 at byte 8")
        let marked = [0xEF, 0xBB, 0xBF] + broken
        #expect(message(marked) == "expected JSON, found invalid UTF-8 at byte 11")
    }

    @Test(arguments: topics, ["[]", "[{}]", #""x""#, "7", "true", "false", "null"])
    func aTopLevelThatIsNoObjectIsNotAnObject(_ topic: String, _ value: String) {
        #expect(explain(topic, value).reason == .notAnObject)
    }

    @Test func aByteOrderMarkBeforeTheObjectIsIgnored() {
        let plain = explain(chunks, chunkValue())
        #expect(explain(chunks, [0xEF, 0xBB, 0xBF] + Array(chunkValue().utf8)) == plain)
        #expect(plain.nodes != nil)
        #expect(explain(chunks, [0xEF, 0xBB, 0xBF]).reason == .malformedJSON)
    }

    @Test func ofARepeatedKeyTheLastCounts() {
        let nodes = explain(
            chunks, chunkValue(#""content":"a","content":"b","message_sequence":9"#)
        ).nodes
        #expect(nodes?["streaming/c/9/chunks"]?.contains(#""content":"b""#) == true)
        let renulled = explain(chunks, chunkValue(#""run_id":null"#))
        #expect(renulled.reason == .missingField)
        let message = explain(messages, messageValue(#"{"a":1,"b":2,"a":3}"#)).nodes
        #expect(
            message?["events/a_b/c/messages"]
                == #"{"message":{"a":3,"b":2},"eventContext":{"event_name":"A.B"}}"#)
    }

    @Test func aLoneSurrogateInATextBecomesTheReplacementCharacter() {
        let nodes = explain(chunks, chunkValue(#""content":"a\ud83d"# + #"""#)).nodes
        #expect(nodes?["streaming/c/8/chunks"]?.contains("\"content\":\"a\u{FFFD}\"") == true)
        let message = explain(messages, messageValue(#"{"t":"\ude42x"}"#)).nodes
        #expect(
            message?["events/a_b/c/messages"]?.contains("{\"t\":\"\u{FFFD}x\"}") == true)
        let whole = explain(chunks, chunkValue(#""content":"\ud83d\ude42""#)).nodes
        #expect(whole?["streaming/c/8/chunks"]?.contains("\u{FFFD}") == false)
    }

    @Test(arguments: [
        #"{"conversation_id":"\ud83d","message_sequence":8,"run_id":"r"}"#,
        #"{"conversation_id":"c","message_sequence":8,"run_id":"\ude42"}"#,
    ])
    func aLoneSurrogateInAnIdIsAnInvalidField(_ value: String) {
        #expect(explain(chunks, value).reason == .invalidField)
    }

    @Test func nestingBeyondWhatTheDatabaseHoldsIsTooDeep() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"a":"#, count: levels) + "1"
                + String(repeating: "}", count: levels)
        }
        // events/{event_name}/{conversation_id}/messages/message and 27 levels are 32.
        #expect(explain(messages, messageValue(nested(27))).nodes != nil)
        #expect(explain(messages, messageValue(nested(28))).reason == .tooDeep)
        let arrays = String(repeating: "[", count: 28) + "1" + String(repeating: "]", count: 28)
        #expect(explain(messages, messageValue(#"{"a":\#(arrays)}"#)).reason == .tooDeep)
        // The path in the database's URL counts too.
        let below = try MirrorPlan(mappings: MirrorPlan.standard.mappings, rootDepth: 2)
        #expect(explain(messages, messageValue(nested(25)), plan: below).nodes != nil)
        #expect(explain(messages, messageValue(nested(26)), plan: below).reason == .tooDeep)
        let context = #"{"event_name":"A.B","x":\#(nested(27))}"#
        #expect(explain(messages, messageValue("{}", context)).reason == .tooDeep)
    }

    @Test(arguments: topics) func ignoredFieldsAreTooDeepOncePast512Levels(_ topic: String) {
        func value(_ levels: Int) -> String {
            let deep =
                String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
            return topic == messages
                ? String(messageValue("{}").dropLast()) + #","x":\#(deep)}"#
                : topic == chunks
                    ? chunkValue(#""x":\#(deep)"#)
                    : activityValue("IDLE", #""seq":1,"x":\#(deep)"#)
        }
        #expect(explain(topic, value(511)).nodes != nil)
        #expect(explain(topic, value(512)).reason == .tooDeep)
    }

    static let integers: [(String, Int64?)] = [
        ("7", 7), ("7.0", 7), ("7e0", 7), ("70e-1", 7), ("0.7e1", 7), (#""7""#, 7), (#""08""#, 8),
        (#""0""#, 0), ("-0", 0), (#""9223372036854775807""#, .max), ("9223372036854775807", .max),
        ("7.5", nil), ("1e999", nil), ("9223372036854775808", nil),
        (#""9223372036854775808""#, nil), (#""""#, nil), (#""+7""#, nil), (#"" 7""#, nil),
        (#""7 ""#, nil), ("true", nil), ("[7]", nil), ("{}", nil), (#""7.0""#, nil),
        (#""7e0""#, nil), (#""٧""#, nil), ("-1", nil), (#""-1""#, nil), (#""-""#, nil),
    ]

    @Test(arguments: integers)
    func anIntegerIsANumberOrDecimalsOf64Bits(_ text: String, _ expected: Int64?) {
        let explained = explain(
            chunks, #"{"conversation_id":"c","message_sequence":\#(text),"run_id":"r"}"#)
        if let expected {
            #expect(explained.nodes?["streaming/c/\(expected)/meta"] != nil)
        } else {
            #expect(explained.reason == .invalidField)
        }
        let index = explain(chunks, chunkValue(#""chunk_index":\#(text)"#))
        if let expected {
            #expect(index.nodes?["streaming/c/8/chunks"]?.hasPrefix(#"{"\#(expected)":"#) == true)
        } else {
            #expect(index.reason == .invalidField)
        }
    }

    static let wrong: [(String, String, String)] = [
        (chunks, "conversation_id", "7"), (chunks, "run_id", "7"), (chunks, "content", "7"),
        (chunks, "type", "1"), (chunks, "timestamp", "7"), (chunks, "is_final", #""true""#),
        (chunks, "is_final", "1"), (chunks, "finish_reason", "{}"), (chunks, "error_message", "[]"),
        (runs, "conversation_id", "{}"), (runs, "run_id", "7"), (runs, "state", "2"),
        (runs, "seq", "true"), (runs, "since", "7"), (runs, "error", #""x""#),
        (runs, "error", #"{"code":"x","message":7}"#), (runs, "message_sequence", #""x""#),
        (runs, "status", "1"), (runs, "status", #""begun""#), (runs, "event_context", "7"),
        (runs, "event_context", #"{"event_name":7}"#),
        (runs, "event_context", #"{"event_name":"E","emitted_at":"noon"}"#),
        (runs, "error_message", "7"), (messages, "message", #""x""#), (messages, "message", "[]"),
        (messages, "event_context", "[]"), (messages, "conversation_id", "false"),
    ]

    @Test(arguments: wrong)
    func aFieldOfTheWrongTypeIsInvalid(_ topic: String, _ name: String, _ value: String) {
        let base =
            topic == chunks
            ? chunkValue() : topic == messages ? messageValue("{}") : Self.both
        // The last of repeated keys counts; the camelCase context must go.
        let text = base.replacing("eventContext", with: "event_context").dropLast()
        let explained = explain(topic, text + #","\#(name)":\#(value)}"#)
        #expect(explained.reason == .invalidField)
        let names = [name, "event_name", "emitted_at"]
        #expect(names.contains { explained.rejection?.message.contains($0) == true })
    }

    static let both = markerValue(
        "completed", #""state":"CONVERSATION_ACTIVITY_STATE_IDLE","seq":1"#)

    static let missing: [(String, String)] = [
        (chunks, #"{"conversation_id":"c","run_id":"r"}"#),
        (chunks, #"{"conversation_id":"c","message_sequence":null,"run_id":"r"}"#),
        (chunks, #"{"conversation_id":"c","message_sequence":8}"#),
        (chunks, #"{"conversation_id":"c","message_sequence":8,"run_id":null}"#),
        (runs, #"{"conversation_id":"c"}"#), (runs, activityValue("IDLE", #""seq":null"#)),
        (runs, #"{"conversation_id":"c","status":"started","event_context":{"event_name":"E"}}"#),
        (runs, #"{"conversation_id":"c","run_id":"r","status":"started"}"#),
        (messages, #"{"conversation_id":"c","eventContext":{"event_name":"E"}}"#),
        (messages, #"{"conversation_id":"c","message":null,"eventContext":{"event_name":"E"}}"#),
        (messages, #"{"conversation_id":"c","message":{}}"#),
        (messages, #"{"conversation_id":"c","message":{},"eventContext":{"event_name":null}}"#),
    ]

    @Test(arguments: missing)
    func aRequiredFieldThatIsAbsentOrNullIsMissing(_ topic: String, _ value: String) {
        #expect(explain(topic, value).reason == .missingField)
    }

    @Test(arguments: [
        "", "now", "2026-04-23", "2026-04-23T22:43:44", "2026-04-23 22:43:44Z",
        "2026-4-23T22:43:44Z", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "2025-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00Zx", " 2026-01-01T00:00:00Z",
        "1776984224700",
    ])
    func aTimestampThatIsNoRFC3339IsInvalid(_ time: String) {
        #expect(explain(chunks, chunkValue(#""timestamp":"\#(time)""#)).reason == .invalidField)
        #expect(
            explain(runs, activityValue("IDLE", #""seq":1,"since":"\#(time)""#)).reason
                == .invalidField)
    }

    @Test(arguments: [
        ("..", "%2E%2E"), (".json", "%2Ejson"), ("a/b", "a%2Fb"), ("?x=1", "?x=1"),
        ("100 %", "100 %25"), (#"\u0001\u001f\u007f"#, "%01%1F%7F"), ("é", "é"),
        ("e\u{301}", "e\u{301}"), (".sv", "%2Esv"), ("a.$#[]/%b", "a%2E%24%23%5B%5D%2F%25b"),
    ])
    func anOddIdIsWrittenEncoded(_ id: String, _ key: String) throws {
        let explained = explain(
            chunks, #"{"conversation_id":"\#(id)","message_sequence":8,"run_id":"r"}"#)
        guard case .writes(let writes) = explained else {
            Issue.record("\(explained)")
            return
        }
        #expect(writes.map(\.path).contains(Array("streaming/\(key)/8/meta".utf8)))
    }
}
