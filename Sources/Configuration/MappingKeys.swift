/// What a mapping is: the values of `as`.
enum MappingForm: String, CaseIterable {
    case chunk, run, message, value

    /// The inputs that `fields` may rename. A value mapping names its own.
    var inputs: [String] {
        switch self {
        case .chunk:
            [
                "conversation_id", "message_sequence", "run_id", "chunk_index", "content", "type",
                "timestamp", "is_final", "finish_reason", "error_message",
            ]
        case .run:
            [
                "conversation_id", "run_id", "message_sequence", "state", "seq", "since", "error",
                "status", "event_context", "event_name", "emitted_at", "error_message",
            ]
        case .message: ["conversation_id", "message", "event_context", "event_name"]
        case .value: []
        }
    }
}

extension ConfigurationKey {
    /// The keys of one mapping.
    public static let ofMapping: [MappingKey] = [
        MappingKey(
            "topic", in: MappingForm.allCases, .text, required: true,
            summary: "The topic to mirror."),
        MappingKey(
            "as", in: MappingForm.allCases, .choice(MappingForm.allCases.map(\.rawValue)),
            required: true,
            summary: "What its records are: token chunks, run life cycle, finalized messages, or "
                + "any JSON value."),
        MappingKey(
            "node", in: [.chunk, .message, .value], .template, required: true,
            summary: "Where it is written. Places: {key}, {topic}, {partition}, {offset}, "
                + "{header.NAME}, {/json/pointer} and {field}. Of chunks, the stream's node."),
        MappingKey(
            "index", in: [.chunk], .choice(["field", "arrival"]), default: "field",
            summary: "Where a chunk's index comes from: the record's chunk_index, or the order in "
                + "which chunks stand in the topic."),
        MappingKey(
            "status", in: [.run], .template,
            summary: "The node of a conversation's activity. Without it none is written."),
        MappingKey(
            "marker", in: [.run], .template,
            summary: "The node of run markers. Without it none is written."),
        MappingKey(
            "stream", in: [.run], .template,
            summary: "The streams that run markers open and end: as in the chunk mapping's node. "
                + "Without it markers touch no stream."),
        MappingKey(
            "event_name", in: [.run, .message], .text,
            summary: "The event name of records that say none. Without it they are rejected."),
        MappingKey(
            "value", in: [.value], .pointer,
            summary: "What is written: a JSON Pointer into the record. Without it the whole record."
        ),
        MappingKey(
            "write", in: [.value], .choice(["set", "merge"]), default: "set",
            summary: "Whether the value replaces the node, or only the children that it names."),
        MappingKey(
            "guard", in: [.value], .pointers,
            summary: "JSON Pointers to fields that must rise: a record that is not greater than "
                + "the last, compared in this order, is dropped."),
        MappingKey(
            "tombstone", in: [.value], .choice(["delete", "ignore", "reject"]), default: "delete",
            summary: "What a record without value does."),
        MappingKey(
            "fields", in: MappingForm.allCases, .pointerMap,
            summary: "Inputs that stand elsewhere than under their own names: JSON Pointers by "
                + "name. A value mapping names the places of its node here."),
        MappingKey(
            "when", in: MappingForm.allCases, .filter,
            summary: "A filter: lists of values by JSON Pointer. A record passes where each "
                + "pointer finds one of its values."),
    ]
}

/// A key of one mapping.
public struct MappingKey: Sendable {
    /// Its name.
    public let name: String
    /// The values of `as` that allow it.
    public let forms: [String]
    /// What it holds.
    public let kind: ConfigurationKey.Kind
    /// Whether it must be there where it is allowed.
    public let isRequired: Bool
    /// Its value where it is not there, nil for none.
    public let defaultValue: String?
    /// What it does.
    public let summary: String

    init(
        _ name: String, in forms: [MappingForm], _ kind: ConfigurationKey.Kind,
        required: Bool = false, default defaultValue: String? = nil, summary: String
    ) {
        self.name = name
        self.forms = forms.map(\.rawValue)
        self.kind = kind
        isRequired = required
        self.defaultValue = defaultValue
        self.summary = summary
    }
}
