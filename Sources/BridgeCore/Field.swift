internal import JSON

/// The inputs that the fixed mappings know (contract section 1).
enum Field: Int, CaseIterable {
    case conversationID, messageSequence, runID, chunkIndex, content, type, timestamp, isFinal
    case finishReason, errorMessage, state, seq, since, error, status, eventContext, message
    case eventName, emittedAt

    /// The name in snake_case, as messages and `fields` use it.
    var name: String {
        switch self {
        case .conversationID: "conversation_id"
        case .messageSequence: "message_sequence"
        case .runID: "run_id"
        case .chunkIndex: "chunk_index"
        case .content: "content"
        case .type: "type"
        case .timestamp: "timestamp"
        case .isFinal: "is_final"
        case .finishReason: "finish_reason"
        case .errorMessage: "error_message"
        case .state: "state"
        case .seq: "seq"
        case .since: "since"
        case .error: "error"
        case .status: "status"
        case .eventContext: "event_context"
        case .message: "message"
        case .eventName: "event_name"
        case .emittedAt: "emitted_at"
        }
    }

    /// Whether the field lies inside `event_context`.
    var isInContext: Bool { self == .eventName || self == .emittedAt }
}

extension Mapping {
    /// The inputs of each form that `fields` may find elsewhere; nil where any name may.
    public static func inputs(of form: Form) -> Set<String>? {
        let fields: [Field]
        switch form {
        case .chunk:
            fields = [
                .conversationID, .messageSequence, .runID, .chunkIndex, .content, .type,
                .timestamp, .isFinal, .finishReason, .errorMessage,
            ]
        case .run:
            fields = [
                .conversationID, .messageSequence, .runID, .state, .seq, .since, .error, .status,
                .eventContext, .eventName, .emittedAt, .errorMessage,
            ]
        case .message: fields = [.conversationID, .message, .eventContext, .eventName]
        case .value: return nil
        }
        return Set(fields.map(\.name))
    }
}

/// `message_sequence` → `messageSequence`.
func lowerCamelCase(_ snake: String) -> String {
    var out = ""
    var upper = false
    for character in snake {
        if character == "_" {
            upper = true
        } else {
            out += upper ? character.uppercased() : String(character)
            upper = false
        }
    }
    return out
}

/// Finds the known names among an object's members in one pass over them.
struct FieldFinder {
    // Plain numbers, the names in one array: what is looked at for every record counts no
    // references.
    private struct Entry {
        var start: Int
        var count: Int
        var slot: Int
        var next: Int
    }

    private var names: [UInt8] = []
    private var entries: [Entry] = []
    private var heads = [Int](repeating: -1, count: 64)
    /// The entry that each member of the last object was, by its place: a producer writes its
    /// members in the same order every time.
    private var guesses: [Int] = []
    /// The slots that the last object filled.
    private var filled: [Int] = []

    /// The fields by both names; slot `2 × field` is the snake_case one.
    init() {
        for field in Field.allCases where !field.isInContext {
            let snake = Array(field.name.utf8)
            let camel = Array(lowerCamelCase(field.name).utf8)
            insert(snake, slot: field.rawValue * 2)
            if camel != snake { insert(camel, slot: field.rawValue * 2 + 1) }
        }
    }

    /// Fills `slots` with the value of each known member, -1 where it is absent or null. The last
    /// of repeated names counts. It must be given the same `slots` every time: only what was filled
    /// before is emptied.
    mutating func find(in tape: JSONTape, into slots: inout [Int]) {
        for slot in filled { slots[slot] = -1 }
        filled.removeAll(keepingCapacity: true)
        var index = 1
        var place = 0
        let end = Int(tape.tokens[0].next)
        while index < end {
            let value = tape.tokens[index + 1]
            if let entry = entry(of: index, at: place, in: tape) {
                let slot = entries[entry].slot
                slots[slot] = value.kind == .null ? -1 : index + 1
                filled.append(slot)
            }
            index = Int(value.next)
            place += 1
        }
    }

    private mutating func entry(of name: Int, at place: Int, in tape: JSONTape) -> Int? {
        if place < guesses.count, guesses[place] >= 0 {
            let known = entries[guesses[place]]
            if !tape.tokens[name].isEscaped,
                tape.isRaw(name, names, at: known.start, count: known.count)
            {
                return guesses[place]
            }
        }
        let found = entry(of: name, in: tape)
        if place == guesses.count, place < entries.count { guesses.append(-1) }
        if place < guesses.count { guesses[place] = found ?? -1 }
        return found
    }

    private func entry(of name: Int, in tape: JSONTape) -> Int? {
        let token = tape.tokens[name]
        if token.isEscaped {
            let text = tape.text(name)
            return entries.firstIndex {
                names[$0.start..<$0.start + $0.count].elementsEqual(text)
            }
        }
        let start = Int(token.start)
        let end = Int(token.end)
        guard end > start else { return nil }
        var entry = heads[Self.bucket(end - start, tape.bytes[start], tape.bytes[end - 1])]
        while entry >= 0 {
            let known = entries[entry]
            if tape.isRaw(name, names, at: known.start, count: known.count) { return entry }
            entry = known.next
        }
        return nil
    }

    private mutating func insert(_ name: [UInt8], slot: Int) {
        let bucket = Self.bucket(name.count, name[0], name[name.count - 1])
        entries.append(
            Entry(start: names.count, count: name.count, slot: slot, next: heads[bucket]))
        names.append(contentsOf: name)
        heads[bucket] = entries.count - 1
    }

    private static func bucket(_ count: Int, _ first: UInt8, _ last: UInt8) -> Int {
        (count &* 7 &+ Int(first) &* 3 &+ Int(last)) & 63
    }
}
