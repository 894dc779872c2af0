import BridgeCore
import Testing

/// Kafka's time of the records of these tests: 2026-04-23T22:43:44.700Z.
let kafkaTime: Int64 = 1_776_984_224_700

/// What one record would cause in an empty tree.
func explain(
    _ topic: String, _ value: [UInt8]?, key: [UInt8]? = Array("c".utf8),
    time: Int64? = kafkaTime, headers: [Header] = [], plan: MirrorPlan = .standard
) -> Explanation {
    let record = Record(offset: 7, timestamp: time, key: key, value: value, headers: headers)
    return Explanation(
        of: record, topic: topic, plan: plan, at: Moment(monotonic: 0, wall: kafkaTime))
}

/// What one record of text would cause.
func explain(
    _ topic: String, _ value: String, key: String? = "c", time: Int64? = kafkaTime,
    headers: [Header] = [], plan: MirrorPlan = .standard
) -> Explanation {
    explain(
        topic, Array(value.utf8), key: key.map { Array($0.utf8) }, time: time, headers: headers,
        plan: plan)
}

extension Explanation {
    /// What is written, by path; nil where nothing is.
    var nodes: [String: String]? {
        guard case .writes(let writes) = self else { return nil }
        var out: [String: String] = [:]
        for write in writes {
            let path = String(decoding: write.path, as: UTF8.self)
            out[path] = String(decoding: write.json, as: UTF8.self)
        }
        return out
    }

    /// Why the record is rejected; nil where it is not.
    var rejection: Rejection? {
        guard case .rejected(let rejection) = self else { return nil }
        return rejection
    }

    /// Why the record is rejected; nil where it is not.
    var reason: Rejection.Reason? { rejection?.reason }
}

/// A chunk's value: `{"conversation_id":"c","message_sequence":8,"run_id":"r"` and more members.
func chunkValue(_ more: String = "") -> String {
    #"{"conversation_id":"c","message_sequence":8,"run_id":"r""#
        + (more.isEmpty ? "" : "," + more) + "}"
}

/// A run record's value: `{"conversation_id":"c"` and more members.
func runValue(_ more: String) -> String { #"{"conversation_id":"c","# + more + "}" }

/// A marker of run `r` on message 8.
func markerValue(_ status: String, _ more: String = "") -> String {
    let context = #""event_context":{"event_name":"E","emitted_at":"2026-01-01T00:00:00Z"}"#
    return runValue(
        #""run_id":"r","message_sequence":8,"status":"\#(status)","# + context
            + (more.isEmpty ? "" : "," + more))
}

/// An activity of the state `CONVERSATION_ACTIVITY_STATE_…`.
func activityValue(_ state: String, _ more: String = #""seq":1"#) -> String {
    runValue(#""state":"CONVERSATION_ACTIVITY_STATE_\#(state)","# + more)
}

/// A finalized message.
func messageValue(_ message: String, _ context: String = #"{"event_name":"A.B"}"#) -> String {
    #"{"conversation_id":"c","message":\#(message),"eventContext":\#(context)}"#
}

/// A plan of one value mapping.
func valuePlan(
    _ node: String, value: String? = nil, write: Mapping.Write = .set, guardedBy: [String] = [],
    tombstone: Mapping.Tombstone = .delete, when: [Mapping.Condition] = []
) throws -> MirrorPlan {
    let form = Mapping.ValueMapping(
        node: try Template(node), value: value.flatMap { JSONPointer($0) }, write: write,
        guardedBy: guardedBy.compactMap { JSONPointer($0) }, tombstone: tombstone)
    return try MirrorPlan(mappings: [Mapping(topic: "v", form: .value(form), when: when)])
}
