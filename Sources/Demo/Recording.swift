internal import CDemoRecording
internal import JSON
internal import Oracle

/// Recorded conversations, ready to be told again under other ids and at other times.
struct Recording {
    /// One record to tell.
    struct Entry {
        /// When, in milliseconds from the beginning.
        var at: Int64
        var topic: String
        /// Whether it is the first of its conversation.
        var isFirst: Bool
        var key: Template
        var value: Template
        /// `SEQUENCE/chunks/INDEX` where the record is a chunk: where readers will see it.
        var chunk: [UInt8]?
    }

    /// The entries in order of time.
    let entries: [Entry]

    /// What is wrong with a recording.
    struct Failure: Error {
        var line: Int
        var reason: String
    }

    /// The recording in this binary.
    static func embedded() -> Recording {
        var size = 0
        let start = unsafe fb_demo_recording(&size)
        let text = unsafe Array(UnsafeBufferPointer(start: start, count: size))
        do throws(Failure) {
            return try Recording(text)
        } catch {
            preconditionFailure("recording.jsonl:\(error.line): \(error.reason)")
        }
    }

    /// Reads lines of `{"at_ms", "topic", "key", "value"}`.
    init(_ text: [UInt8]) throws(Failure) {
        let parser = JSONParser()
        var begun: [[UInt8]: Clockwork] = [:]
        var entries: [Entry] = []
        for (number, line) in text.split(separator: 0x0A).enumerated() {
            func fail(_ reason: String) -> Failure { Failure(line: number + 1, reason: reason) }
            guard let tape = try? parser.parse(Array(line)) else { throw fail("not JSON") }
            func member(_ name: String) -> Int? { tape.member(Array(name.utf8), of: 0) }
            guard let at = member("at_ms").flatMap(tape.int64), let topic = member("topic"),
                let key = member("key").map(tape.text), let value = member("value")
            else { throw fail("expected at_ms, topic, key and value") }
            guard at >= entries.last?.at ?? 0 else { throw fail("earlier than the line before") }
            let isFirst = begun[key] == nil
            var clockwork = begun[key] ?? Clockwork(at: at)
            let template = Template(tape, value, conversation: key, &clockwork)
            begun[key] = clockwork
            let entry = Entry(
                at: at, topic: String(decoding: tape.text(topic), as: UTF8.self),
                isFirst: isFirst, key: Template(pieces: [.id(key)]), value: template,
                chunk: Self.place(of: tape, value))
            entries.append(entry)
        }
        guard entries.first?.at == 0 else {
            throw Failure(line: 1, reason: "expected an entry with at_ms 0")
        }
        self.entries = entries
    }

    private static func place(of tape: JSONTape, _ value: Int) -> [UInt8]? {
        guard let index = tape.member(Array("chunk_index".utf8), of: value),
            let sequence = tape.member(Array("message_sequence".utf8), of: value)
        else { return nil }
        return Array(tape.raw(sequence)) + "/chunks/".utf8 + tape.raw(index)
    }
}

/// How a conversation's recorded times become milliseconds of the recording.
struct Clockwork {
    /// When its first record is told.
    let at: Int64
    /// The first time that stands in it, in milliseconds since 1970.
    private var first: Int64?

    init(at: Int64) { self.at = at }

    mutating func milliseconds(of instant: Instant) -> Int64 {
        let time = instant.seconds * 1000 + Int64(instant.nanoseconds) / 1_000_000
        let first = first ?? time
        self.first = first
        return at + time - first
    }
}

/// A text in which ids and times are filled in each time it is told.
struct Template {
    enum Piece {
        case text([UInt8])
        /// An id, whose last six characters become the round.
        case id([UInt8])
        /// A time, in milliseconds from the beginning.
        case time(Int64)
    }

    let pieces: [Piece]

    init(pieces: [Piece]) { self.pieces = pieces }

    /// Cuts a value where the conversation's id, a UUID or a time stands.
    init(
        _ tape: JSONTape, _ value: Int, conversation: [UInt8], _ clockwork: inout Clockwork
    ) {
        var pieces: [Piece] = []
        var done = tape.raw(value).startIndex
        for index in value..<Int(tape.tokens[value].next) where tape.kind(index) == .string {
            let text = tape.text(index)
            let piece: Piece
            if text == conversation || Self.isUUID(text) {
                piece = .id(text)
            } else if text.count == 24, let instant = Instant(text) {
                piece = .time(clockwork.milliseconds(of: instant))
            } else {
                continue
            }
            let start = Int(tape.tokens[index].start)
            pieces.append(.text(Array(tape.bytes[done..<start])))
            pieces.append(piece)
            done = start + text.count
        }
        pieces.append(.text(Array(tape.bytes[done..<tape.raw(value).endIndex])))
        self.pieces = pieces
    }

    /// The text in one round.
    ///
    /// - Parameter beginning: when the round begins, in milliseconds since 1970.
    /// - Parameter run: what the UUIDs end in, so that another run of the same conversation is
    ///   told; nil where they end in the round.
    func filled(round: Int, beginning: Int64, run: Int? = nil) -> [UInt8] {
        var out: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .text(let text): out += text
            case .id(let id):
                let number = Self.isUUID(id) ? run ?? round : round
                out += id.dropLast(6) + Self.digits(number)
            case .time(let after): out += Instant.text(milliseconds: beginning + after).utf8
            }
        }
        return out
    }

    private static func digits(_ round: Int) -> [UInt8] {
        let digits = String(round & 0xFF_FFFF, radix: 16)
        return Array((String(repeating: "0", count: 6 - digits.count) + digits).utf8)
    }

    private static func isUUID(_ text: [UInt8]) -> Bool {
        text.count == 36
            && text.enumerated().allSatisfy { index, byte in
                [8, 13, 18, 23].contains(index)
                    ? byte == UInt8(ascii: "-")
                    : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }
}
