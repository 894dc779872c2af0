import BridgeCore
import Oracle

/// A record that a careless or hostile producer might send, and what the contract says of it.
struct OddRecord {
    /// What becomes of it.
    enum Verdict {
        /// Its dead letter carries this reason.
        case rejected(Rejection.Reason)
        /// The tree holds this JSON there.
        case written(at: String, json: String)
    }

    var name: String
    var topic = LogRecord.chunks
    var key: [UInt8]? = Array("key".utf8)
    var value: [UInt8]?
    var verdict: Verdict

    /// One record for every row of contract section 8 and every way into a reason of section 6.
    static let all = texts + shapes + integers + chunkFields + runFields + messages + ids + depths
}

// MARK: - How they are made

/// A chunk as JSON: fields in their order, each as raw JSON; nil leaves a field out.
private func chunk(_ id: String, _ changes: (name: String, json: String?)...) -> [UInt8] {
    var fields: [(String, String)] = [
        ("conversation_id", "\"\(id)\""), ("message_sequence", "1"), ("run_id", "\"r\""),
        ("chunk_index", "0"), ("content", "\"t\""), ("timestamp", "\"\(time)\""),
    ]
    for (name, json) in changes {
        fields.removeAll { $0.0 == name }
        if let json { fields.append((name, json)) }
    }
    return object(fields)
}

private func run(_ id: String, _ fields: (String, String)...) -> [UInt8] {
    object([("conversation_id", "\"\(id)\"")] + fields)
}

private func object(_ fields: [(String, String)]) -> [UInt8] {
    Array(("{" + fields.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}").utf8)
}

private let time = "2026-11-01T00:00:00Z"
private let marked = ("event_context", "{\"event_name\":\"E\",\"emitted_at\":\"\(time)\"}")

/// What is expected of a chunk that was written.
private func leaf(_ content: String = "\"t\"", _ more: String = "") -> String {
    "{\"content\":\(content),\"type\":\"STREAM_CHUNK_TYPE_TEXT\",\"timestamp\":\"\(time)\","
        + "\"is_final\":false\(more)}"
}

private func bad(
    _ name: String, _ reason: Rejection.Reason, _ value: [UInt8]?,
    in topic: String = LogRecord.chunks,
    key: [UInt8]? = Array("key".utf8)
) -> OddRecord {
    OddRecord(name: name, topic: topic, key: key, value: value, verdict: .rejected(reason))
}

private func good(
    _ name: String, _ value: [UInt8], at path: String, _ json: String = leaf(),
    in topic: String = LogRecord.chunks, key: [UInt8]? = Array("key".utf8)
) -> OddRecord {
    OddRecord(
        name: name, topic: topic, key: key, value: value, verdict: .written(at: path, json: json))
}

private func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

private func nested(_ levels: Int) -> String {
    String(repeating: "{\"a\":", count: levels) + "1" + String(repeating: "}", count: levels)
}

// MARK: - The rows

extension OddRecord {
    private static let whole = String(decoding: chunk("text"), as: UTF8.self)

    private static let texts: [OddRecord] = [
        bad("empty value", .malformedJSON, []),
        bad("blanks alone", .malformedJSON, utf8(" \n\t")),
        bad("a byte order mark alone", .malformedJSON, [0xEF, 0xBB, 0xBF]),
        bad("truncated", .malformedJSON, utf8(String(whole.dropLast(5)))),
        bad("an open brace", .malformedJSON, utf8("{")),
        bad("trailing bytes", .malformedJSON, utf8(whole + "x")),
        bad("two objects", .malformedJSON, utf8(whole + whole)),
        bad("a trailing comma", .malformedJSON, utf8(whole.dropLast() + ",}")),
        bad("NaN", .malformedJSON, chunk("text", ("x", "NaN"))),
        bad("Infinity", .malformedJSON, chunk("text", ("x", "-Infinity"))),
        bad("a leading zero", .malformedJSON, chunk("text", ("x", "01"))),
        bad("a leading plus", .malformedJSON, chunk("text", ("x", "+1"))),
        bad("a raw control character", .malformedJSON, chunk("text", ("content", "\"a\u{1}b\""))),
        bad("a raw line feed", .malformedJSON, chunk("text", ("content", "\"a\nb\""))),
        bad("a bad escape", .malformedJSON, chunk("text", ("content", "\"\\x41\""))),
        bad("half an escape", .malformedJSON, chunk("text", ("content", "\"\\u12\""))),
        bad("single quotes", .malformedJSON, utf8("{'a':1}")),
        bad("a comment", .malformedJSON, utf8("{/* no */}")),
        bad("invalid UTF-8", .malformedJSON, utf8("{\"a\":\"") + [0xFF, 0xFE] + utf8("\"}")),
        bad("overlong UTF-8", .malformedJSON, utf8("{\"a\":\"") + [0xC0, 0x80] + utf8("\"}")),
        bad(
            "a raw surrogate", .malformedJSON, utf8("{\"a\":\"") + [0xED, 0xA0, 0x80] + utf8("\"}")),
        bad("a cut character", .malformedJSON, utf8("{\"a\":\"") + [0xE2, 0x82] + utf8("\"}")),
        bad(
            "UTF-16, little-endian", .malformedJSON,
            [0xFF, 0xFE]
                + whole.utf16.flatMap {
                    [UInt8($0 & 0xFF), UInt8($0 >> 8)]
                }),
        bad(
            "UTF-16, big-endian", .malformedJSON,
            whole.utf16.flatMap {
                [UInt8($0 >> 8), UInt8($0 & 0xFF)]
            }),
        bad("schema registry framing", .malformedJSON, [0, 0, 0, 0, 1] + chunk("text")),
        good(
            "a byte order mark", [0xEF, 0xBB, 0xBF] + chunk("bom"), at: "streaming/bom/1/chunks/0"),
        good(
            "blanks around", utf8(" \r\n") + chunk("blanks") + utf8("\t "),
            at: "streaming/blanks/1/chunks/0"),
    ]

    private static let shapes: [OddRecord] =
        ["[]", "[{}]", "\"text\"", "5", "-0.5", "true", "false", "null"].map {
            bad("top level \($0)", .notAnObject, utf8($0))
        } + World.defaults.map { bad("a tombstone in \($0)", .nullValue, nil, in: $0) } + [
            bad("an empty object", .missingField, utf8("{}")),
            good(
                "a repeated key", chunk("twice", ("content", "\"a\",\"content\":\"b\"")),
                at: "streaming/twice/1/chunks/0", leaf("\"b\"")),
            good(
                "both spellings", chunk("both", ("runId", "7"), ("chunkIndex", "9")),
                at: "streaming/both/1/chunks/0"),
            good(
                "lowerCamelCase",
                utf8(
                    "{\"conversationId\":\"camel\",\"messageSequence\":\"1\",\"runId\":\"r\","
                        + "\"chunkIndex\":2,\"content\":\"t\",\"timestamp\":\"\(time)\",\"isFinal\":false}"
                ), at: "streaming/camel/1/chunks/2"),
        ]

    private static let integers: [OddRecord] =
        [
            "7.5", "1e999", "9223372036854775808", "-9223372036854775809", "\"\"", "\"+7\"",
            "\" 7\"", "\"7 \"", "true", "[]", "{}", "\"7x\"", "\"0x7\"", "-1", "\"-1\"",
            "\"9223372036854775808\"",
        ].map { (json: String) in
            bad("chunk_index \(json)", .invalidField, chunk("int", ("chunk_index", json)))
        }
        + [("7.0", 7), ("7e0", 7), ("\"08\"", 8), ("70e-1", 7), ("\"7\"", 7), ("-0", 0)]
        .enumerated()
        .map { number, pair in
            good(
                "chunk_index \(pair.0)", chunk("int\(number)", ("chunk_index", pair.0)),
                at: "streaming/int\(number)/1/chunks/\(pair.1)")
        } + [
            good(
                "a sequence beyond 2^53", chunk("wide", ("message_sequence", "9007199254740993")),
                at: "streaming/wide/9007199254740993/chunks/0"),
            good(
                "the greatest sequence",
                chunk("widest", ("message_sequence", "\"9223372036854775807\"")),
                at: "streaming/widest/9223372036854775807/chunks/0"),
        ]

    private static let chunkFields: [OddRecord] =
        [
            ("message_sequence", "[]"), ("message_sequence", "-1"), ("message_sequence", "\"x\""),
            ("run_id", "5"), ("run_id", "{}"), ("run_id", "\"\\ud83d\""), ("content", "5"),
            ("content", "[\"t\"]"), ("type", "3"), ("type", "true"), ("timestamp", "\"yesterday\""),
            ("timestamp", "\"2026-13-01T00:00:00Z\""), ("timestamp", "\"2026-11-01\""),
            ("timestamp", "\"2026-11-01T00:00:00\""), ("timestamp", "1793491200"),
            ("timestamp", "\"\""), ("is_final", "\"true\""), ("is_final", "1"),
            ("finish_reason", "5"), ("error_message", "{}"), ("conversation_id", "7"),
            ("conversation_id", "[\"a\"]"),
        ].map { (name: String, json: String) in
            bad("\(name) \(json)", .invalidField, chunk("wrong", (name, json)))
        }
        + ["message_sequence", "run_id"].flatMap { name in
            [
                bad("no \(name)", .missingField, chunk("less", (name, nil))),
                bad("\(name) null", .missingField, chunk("less", (name, "null"))),
            ]
        } + [
            good(
                "nulls where nothing is required",
                chunk("nulls", ("content", "null"), ("type", "null"), ("chunk_index", "null")),
                at: "streaming/nulls/1/chunks/0", leaf("\"\"")),
            good(
                "an unknown type", chunk("type", ("type", "\"STREAM_CHUNK_TYPE_NEW\"")),
                at: "streaming/type/1/chunks/0/type", "\"STREAM_CHUNK_TYPE_NEW\""),
            good(
                "a lone surrogate in a text", chunk("lone", ("content", "\"a\\ud83db\"")),
                at: "streaming/lone/1/chunks/0", leaf("\"a\u{FFFD}b\"")),
            good(
                "an unknown field", chunk("more", ("surplus", "[1,{\"content\":2}]")),
                at: "streaming/more/1/chunks/0"),
            good(
                "no index", chunk("unnumbered", ("chunk_index", nil)),
                at: "streaming/unnumbered/1/chunks/0"),
            bad(
                "no index again", .missingField,
                chunk("unnumbered", ("chunk_index", nil), ("content", "\"other\""))),
        ]

    private static let runFields: [OddRecord] =
        [
            ("state of a number", Rejection.Reason.invalidField, [("state", "5"), ("seq", "1")]),
            ("state without seq", .missingField, [("state", "\"S\"")]),
            ("seq of a text", .invalidField, [("state", "\"S\""), ("seq", "\"x\"")]),
            ("neither state nor status", .missingField, [("run_id", "\"r\"")]),
            (
                "since of a number", .invalidField,
                [("state", "\"S\""), ("seq", "1"), ("since", "5")]
            ),
            (
                "since of no time", .invalidField,
                [("state", "\"S\""), ("seq", "1"), ("since", "\"x\"")]
            ),
            (
                "an error of a text", .invalidField,
                [("state", "\"S\""), ("seq", "1"), ("error", "\"x\"")]
            ),
            (
                "an unknown marker", .invalidField,
                [("status", "\"paused\""), ("run_id", "\"r\""), marked]
            ),
            (
                "a marker of a number", .invalidField,
                [("status", "1"), ("run_id", "\"r\""), marked]
            ),
            ("a marker without run", .missingField, [("status", "\"started\""), marked]),
            (
                "a marker without event", .missingField,
                [("status", "\"started\""), ("run_id", "\"r\"")]
            ),
            (
                "an event of a number", .invalidField,
                [
                    ("status", "\"started\""), ("run_id", "\"r\""),
                    ("event_context", "{\"event_name\":5}"),
                ]
            ),
            (
                "a context of a number", .invalidField,
                [("status", "\"started\""), ("run_id", "\"r\""), ("event_context", "5")]
            ),
            (
                "emitted_at of no time", .invalidField,
                [
                    ("status", "\"started\""), ("run_id", "\"r\""),
                    ("event_context", "{\"event_name\":\"E\",\"emitted_at\":\"x\"}"),
                ]
            ),
            (
                "a good activity with a bad marker", .invalidField,
                [
                    ("state", "\"S\""), ("seq", "1"), ("run_id", "\"r\""), ("status", "\"paused\""),
                    marked,
                ]
            ),
            (
                "a good marker with a bad activity", .missingField,
                [("state", "\"S\""), ("run_id", "\"r\""), ("status", "\"started\""), marked]
            ),
        ].map { name, reason, fields in
            bad(
                name, reason, object([("conversation_id", "\"bad-run\"")] + fields),
                in: LogRecord.runs)
        } + [
            good(
                "a state that is not known",
                run("state", ("state", "\"NEW\""), ("seq", "\"12\""), ("since", "\"\(time)\"")),
                at: "conversations/state/status",
                "{\"state\":\"NEW\",\"seq\":\"12\",\"since\":\"\(time)\"}", in: LogRecord.runs)
        ]

    private static let messages: [OddRecord] =
        [
            ("no message", Rejection.Reason.missingField, [marked]),
            ("a message null", .missingField, [("message", "null"), marked]),
            ("a message of a text", .invalidField, [("message", "\"x\""), marked]),
            ("a message of a list", .invalidField, [("message", "[]"), marked]),
            ("no event name", .missingField, [("message", "{}")]),
            ("a context of a list", .invalidField, [("message", "{}"), ("eventContext", "[]")]),
            (
                "a member's name too long", .invalidPath,
                [("message", "{\"\(String(repeating: "n", count: 769))\":1}"), marked]
            ),
            (
                "a member's name too long once encoded", .invalidPath,
                [("message", "{\"\(String(repeating: ".", count: 257))\":1}"), marked]
            ),
            (
                "more than 10 MiB", .tooLarge,
                [("message", "{\"a\":\"\(String(repeating: "m", count: 11 << 20))\"}"), marked]
            ),
        ].map { name, reason, fields in
            bad(
                name, reason, object([("conversation_id", "\"bad-message\"")] + fields),
                in: LogRecord.messages)
        } + [
            bad(
                "a chunk of more than 10 MiB", .tooLarge,
                chunk("big", ("content", "\"\(String(repeating: "c", count: 11 << 20))\""))),
            good(
                "forbidden member names",
                run(
                    "names", ("message", "{\"\":1,\"a.b\":{\"$ref\":2},\".sv\":\"timestamp\"}"),
                    marked),
                at: "events/e/names/messages/message",
                "{\"%\":1,\"a%2Eb\":{\"%24ref\":2},\"%2Esv\":\"timestamp\"}", in: LogRecord.messages
            ),
            good(
                "repeated names inside", run("dup", ("message", "{\"a\":1,\"a\":2}"), marked),
                at: "events/e/dup/messages/message", "{\"a\":2}", in: LogRecord.messages),
        ]

    private static let ids: [OddRecord] =
        [
            ("..", "%2E%2E"), (".json", "%2Ejson"), ("a/b", "a%2Fb"), ("?x=1", "?x=1"),
            ("100 %", "100 %25"), ("[a]", "%5Ba%5D"), ("#$", "%23%24"), ("a b", "a b"),
            ("\\u0000\\u0001\\u007f", "%00%01%7F"), ("\\n", "%0A"), ("\u{E9}", "\u{E9}"),
            ("e\u{301}", "e\u{301}"), ("\u{1F3C6}", "\u{1F3C6}"), ("%2E", "%252E"), ("\\\\", "\\"),
            ("\\\"", "\""), ("null", "null"), ("0", "0"), ("__proto__", "__proto__"),
            (String(repeating: "i", count: 768), String(repeating: "i", count: 768)),
        ].enumerated().map { number, id in
            good(
                "the id \(id.0.prefix(20))", chunk(id.0, ("content", "\"id\(number)\"")),
                at: "streaming/\(id.1)/1/chunks/0", leaf("\"id\(number)\""))
        } + [
            bad("an id too long", .invalidPath, chunk(String(repeating: "i", count: 769))),
            bad(
                "an id too long once encoded", .invalidPath,
                chunk(String(repeating: "%", count: 257))),
            bad("a lone surrogate in an id", .invalidField, chunk("a\\udc00")),
            bad(
                "an empty key for an id", .invalidPath, chunk("", ("conversation_id", nil)), key: []
            ),
            bad(
                "neither id nor key", .missingField, chunk("", ("conversation_id", nil)), key: nil),
            bad(
                "a key that is no UTF-8 for an id", .invalidField,
                chunk("", ("conversation_id", nil)), key: [0xFF]),
            good(
                "the key for an id", chunk("", ("conversation_id", nil)),
                at: "streaming/from%2Ekey/1/chunks/0", key: utf8("from.key")),
            good(
                "a null id", chunk("", ("conversation_id", "null")),
                at: "streaming/from%2Fnull/1/chunks/0", key: utf8("from/null")),
        ]

    private static let depths: [OddRecord] = [
        bad(
            "a message of 40 levels", .tooDeep, run("deep", ("message", nested(40)), marked),
            in: LogRecord.messages),
        bad(
            "a message of 600 levels", .tooDeep, run("deep", ("message", nested(600)), marked),
            in: LogRecord.messages),
        bad("an ignored field of 600 levels", .tooDeep, chunk("deep", ("x", nested(600)))),
        bad(
            "an ignored list of 600 levels", .tooDeep,
            chunk(
                "deep",
                (
                    "x",
                    String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
                ))),
        bad(
            "one level too many", .tooDeep, run("deep", ("message", nested(28)), marked),
            in: LogRecord.messages),
        good(
            "as deep as it may be", run("deepest", ("message", nested(27)), marked),
            at: "events/e/deepest/messages/message", nested(27), in: LogRecord.messages),
        good(
            "an ignored field of 40 levels", chunk("deep40", ("x", nested(40))),
            at: "streaming/deep40/1/chunks/0"),
    ]
}
