internal import BridgeCore
internal import Oracle

/// What the simulated database refuses wherever it stands in a PATCH.
let poison = Array("poison".utf8)

/// A value that cannot be read, and why.
func badValue(
    like record: LogRecord, random: inout SplitMix64
) -> (value: [UInt8]?, reason: Rejection.Reason) {
    func without(_ name: String) -> [UInt8] {
        changed(record.value, [(name, nil)])
    }
    let always: [([UInt8]?, Rejection.Reason)] = [
        (nil, .nullValue), ([], .malformedJSON), (Array(record.value.dropLast()), .malformedJSON),
        (record.value + [UInt8(ascii: "x")], .malformedJSON), (Array("[1]".utf8), .notAnObject),
    ]
    let own: [([UInt8]?, Rejection.Reason)] =
        switch record.topic {
        case LogRecord.chunks:
            [
                (without("run_id"), .missingField), (without("message_sequence"), .missingField),
                (
                    changed(record.value, [("message_sequence", .number([0x37, 0x2E, 0x35]))]),
                    .invalidField
                ),
                (changed(record.value, [("timestamp", .text("yesterday"))]), .invalidField),
            ]
        case LogRecord.runs:
            hasMember("status", record.value)
                ? [
                    (changed(record.value, [("status", .text("begun"))]), .invalidField),
                    (without("run_id"), .missingField),
                ]
                : [
                    (changed(record.value, [("state", .bool(true))]), .invalidField),
                    (without("seq"), .missingField),
                ]
        default: [(without("message"), .missingField)]
        }
    return random.pick(always + own)
}

/// A value that is valid and that the database refuses, made so that it takes no part in anything
/// else: it must be as if it had never been.
func poisonValue(
    like record: LogRecord, random: inout SplitMix64
) -> (value: [UInt8], fate: LoggedRecord.Fate, comesFirst: Bool)? {
    guard let old = try? Node.parse(record.value) else { return nil }
    switch record.topic {
    case LogRecord.chunks:
        // Another index of the same run at the same time. After the run's end it is late.
        let index = Int64(1_000 + random.int(0..<1_000))
        let value = changed(
            record.value,
            [
                ("chunk_index", .text(String(index))), ("content", .string(poison)),
                ("is_final", nil), ("finish_reason", nil),
            ])
        return (value, .harmless, false)
    case LogRecord.runs:
        if old["status"] != nil {
            // Rejected always, for an event is written always; and with it all else that it says.
            let name = Node.text("llm.v1.\(String(decoding: poison, as: UTF8.self))")
            var context = old["event_context"] ?? old["eventContext"] ?? .object([:])
            context.set([Array("event_name".utf8)], name)
            context.set([Array("eventName".utf8)], nil)
            let status = random.pick(["started", "completed", "failed"])
            let value = changed(
                record.value,
                [
                    ("state", nil), ("seq", nil), ("since", nil), ("status", .text(status)),
                    ("event_context", context),
                ])
            return (value, .rejected(.refused), random.chance(0.5))
        }
        // It may be stale, or overtaken before it is written.
        return (changed(record.value, [("state", .string(poison))]), .harmless, random.chance(0.5))
    default:
        let message = Node.object(of: [("content", .string(poison))])
        return (changed(record.value, [("message", message)]), .rejected(.refused), false)
    }
}

/// A message that is alone too large for the simulated database.
func oversizeValue(like record: LogRecord) -> [UInt8] {
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: 10 << 10)
    return changed(record.value, [("message", Node.object(of: [("content", .string(text))]))])
}

/// The JSON object with other members; nil removes one. Both spellings of a name are replaced.
private func changed(_ json: [UInt8], _ members: [(String, Node?)]) -> [UInt8] {
    guard var node = try? Node.parse(json) else { return json }
    for (name, value) in members {
        let parts = name.split(separator: "_")
        let camelCase = parts.dropFirst().reduce(String(parts[0])) {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
        node.set([Array(camelCase.utf8)], nil)
        node.set([Array(name.utf8)], value)
    }
    return node.json
}

private func hasMember(_ name: String, _ json: [UInt8]) -> Bool {
    (try? Node.parse(json))??[name] != nil
}
