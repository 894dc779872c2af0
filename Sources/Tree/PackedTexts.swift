/// The texts that most nodes of a bridge's tree are made of, names and values alike: in the packed
/// form each is one byte.
///
/// They are ascending, and their numbers are part of what is on disk: another list is another
/// `packedVersion`.
struct PackedTexts {
    static let shared = PackedTexts()

    /// The bytes of each, by its number: at most 128.
    let texts: [[UInt8]]
    /// A number for each slot of a hash table, `none` for an empty one.
    private let slots: [UInt8]
    private static let none: UInt8 = 0xFF

    private init() {
        texts = list.map { Array($0.utf8) }
        precondition(texts.count <= 128)
        var slots = [UInt8](repeating: Self.none, count: 512)
        for (number, text) in texts.enumerated() {
            var slot = Self.slot(text.span)
            while slots[slot] != Self.none { slot = (slot + 1) & 511 }
            slots[slot] = UInt8(number)
        }
        self.slots = slots
    }

    private static func slot(_ text: Span<UInt8>) -> Int {
        let count = text.count
        guard count > 0 else { return 0 }
        let mixed =
            count &* 37 &+ Int(text[0]) &* 11 &+ Int(text[count - 1]) &* 101
            &+ Int(text[count / 2]) &* 53
        return mixed & 511
    }

    /// The number of a text.
    func number(of text: Span<UInt8>) -> UInt8? {
        guard text.count >= 2, text.count <= 44 else { return nil }
        var slot = Self.slot(text)
        while true {
            let number = slots[slot]
            if number == Self.none { return nil }
            let known = texts[Int(number)]
            if isSame(known.span, text) { return number }
            slot = (slot + 1) & 511
        }
    }
}

/// The version of the packed form.
public let packedVersion = 1

private let list = [
    "CONVERSATION_ACTIVITY_STATE_COMPACTING", "CONVERSATION_ACTIVITY_STATE_ERROR",
    "CONVERSATION_ACTIVITY_STATE_EXECUTING_TOOLS", "CONVERSATION_ACTIVITY_STATE_GENERATING",
    "CONVERSATION_ACTIVITY_STATE_IDLE", "CONVERSATION_ACTIVITY_STATE_QUEUED",
    "STREAM_CHUNK_TYPE_REASONING", "STREAM_CHUNK_TYPE_TEXT", "STREAM_CHUNK_TYPE_TOOL_CALL",
    "_firebridge", "agenda", "at", "author", "cancelled", "chunks", "code", "complete",
    "completed", "content", "conversation_id", "conversations", "created_at", "end", "epoch",
    "error", "error_message", "eventContext", "event_name", "events", "failed", "fences",
    "finish_reason", "finished_at", "guards", "id", "index", "is_final", "ledger", "length",
    "message", "messages", "meta", "name", "offset", "owner", "role", "run", "runId", "run_id",
    "runs", "seq", "serial", "since", "stalled", "started", "started_at", "state", "status",
    "stop", "streaming", "streams", "text", "timestamp", "title", "tool_calls", "type",
    "updated_at", "user", "value", "version", "watermarks",
]
