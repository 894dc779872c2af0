/// Makes records that need every rule of contract section 2, from a seed. Each conversation plays
/// one scenario and keeps its own order inside each topic; conversations interleave.
public struct HardStreams {
    /// When the made-up conversations take place: 2026-11-01T00:00:00Z, in milliseconds since 1970.
    public static let beginning: Int64 = 1_793_491_200_000
    /// By when they are over, in milliseconds since 1970.
    public static let end = beginning + 200_000_000

    private var random: SplitMix64

    /// Begins the sequence of that seed.
    public init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// The records of so many conversations.
    public mutating func records(conversations count: Int) -> [LogRecord] {
        var queues: [ArraySlice<LogRecord>] = []
        for number in 0..<count {
            var conversation = HardConversation(random: SplitMix64(seed: random.next()), number)
            conversation.play()
            if !conversation.records.isEmpty { queues.append(conversation.records[...]) }
        }
        var out: [LogRecord] = []
        while !queues.isEmpty {
            let index = random.int(0..<queues.count)
            out.append(queues[index].removeFirst())
            if queues[index].isEmpty { queues.remove(at: index) }
        }
        return out
    }

    /// The same records in another order between the topics; inside each topic the same.
    public mutating func interleaved(_ records: [LogRecord]) -> [LogRecord] {
        var queues = [LogRecord.chunks, LogRecord.runs, LogRecord.messages]
            .map { topic in records.filter { $0.topic == topic }[...] }
        var out: [LogRecord] = []
        while out.count < records.count {
            let index = random.int(0..<queues.count)
            let taken = queues[index].prefix(random.pick([1, 3, 20, 200]))
            out += taken
            queues[index] = queues[index].dropFirst(taken.count)
        }
        return out
    }
}

/// One made-up conversation: what its records are made of. HardScenarios.swift says in which order.
struct HardConversation {
    private(set) var records: [LogRecord] = []
    var random: SplitMix64
    /// Milliseconds since the beginning.
    var now: Int64
    /// The sequence of the message that is being generated.
    var sequence: Int64
    private let number: Int
    private let id: String
    private let isCamelCase: Bool
    private let timeStyle: Int
    private var messages: Int64 = 0

    init(random seeded: SplitMix64, _ number: Int) {
        random = seeded
        self.number = number
        id = random.pick([
            "thread_\(random.next() >> 16)", "c/\(number)", "user.\(number)@x", "[\(number)]#$",
            "é🙂-\(number)", "\(number)", "a%2F\(number)", "  \(number) ",
        ])
        now = Int64(random.int(0..<100_000_000))
        sequence = Int64(random.int(0..<50))
        isCamelCase = random.chance(0.25)
        timeStyle = random.pick([0, 0, 0, 1, 2])
    }

    mutating func tick() -> Int64 {
        now += Int64(random.int(1..<400))
        return now
    }

    mutating func newRun() -> String {
        let digits = String(random.next(), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// A time in one of three spellings.
    func stamp(_ at: Int64) -> String {
        let time = HardStreams.beginning + at
        switch timeStyle {
        case 1: return Instant.text(milliseconds: time, offsetMinutes: 120)
        case 2: return Instant.text(milliseconds: time).dropLast() + "000001Z"
        default: return Instant.text(milliseconds: time)
        }
    }

    mutating func repeatOneRecord(since first: Int) {
        records.append(records[random.int(first..<records.count)])
    }

    private mutating func emit(
        _ topic: String, at: Int64, withID: Bool = true, _ fields: [(String, Draft?)]
    ) {
        var members: [(String, Draft)] = withID ? [("conversation_id", .text(id))] : []
        for case (let name, let value?) in fields {
            members.removeAll { $0.0 == name }
            members.append((name, value))
        }
        if isCamelCase { members = members.map { (camelCase($0.0), $0.1) } }
        records.append(
            LogRecord(
                topic: topic, key: Array(id.utf8), value: Draft.object(members).json,
                timestamp: HardStreams.beginning + at))
    }

    // MARK: The four kinds of records. What a caller gives in `fields` replaces the usual; a member
    // that is nil is left out.

    mutating func chunk(
        _ run: String, _ index: Int64, final isFinal: Bool = false, at given: Int64? = nil,
        timed: Bool = true, _ fields: [(String, Draft?)] = []
    ) {
        let at = given ?? tick()
        let hidesIndex = index == 0 && random.chance(0.5)
        let kinds: [String?] = [nil, "TEXT", "REASONING", "TOOL_CALL", "IMAGE"]
        let content = random.pick(words) + " "
        let isText = random.chance(0.3)
        emit(
            LogRecord.chunks, at: at, withID: !random.chance(0.1),
            [
                ("message_sequence", isText ? .text("\(sequence)") : .integer(sequence)),
                ("run_id", .text(run)),
                ("chunk_index", hidesIndex ? nil : .integer(index)),
                ("content", .text(content)),
                ("type", random.pick(kinds).map { .text("STREAM_CHUNK_TYPE_\($0)") }),
                ("timestamp", timed ? .text(stamp(at)) : nil),
                ("is_final", isFinal ? .flag(true) : nil),
                ("finish_reason", isFinal ? .text("stop") : nil),
            ] + fields)
    }

    mutating func marker(
        _ run: String, _ status: String, _ fields: [(String, Draft?)] = []
    ) {
        let at = tick()
        let event = status == "started" ? "Started" : "Completed"
        emit(
            LogRecord.runs, at: at,
            [
                ("run_id", .text(run)), ("message_sequence", .integer(sequence)),
                ("status", .text(status)), ("event_context", context("Generation\(event)", at)),
            ] + fields)
    }

    mutating func activity(
        _ state: String, _ run: String? = nil, seq given: Int64? = nil, at: Int64? = nil,
        timed: Bool = true, _ fields: [(String, Draft?)] = []
    ) {
        let at = at ?? tick()
        let seq = given ?? sequence
        emit(
            LogRecord.runs, at: at,
            [
                ("run_id", run.map(Draft.text) ?? .null),
                ("state", .text("CONVERSATION_ACTIVITY_STATE_\(state)")),
                ("seq", random.chance(0.5) ? .integer(seq) : .text("\(seq)")),
                ("since", timed ? .text(stamp(at)) : nil),
            ] + fields)
    }

    /// An activity and a marker in one record.
    mutating func start(_ run: String) {
        let at = tick()
        emit(
            LogRecord.runs, at: at,
            [
                ("run_id", .text(run)), ("message_sequence", .text("\(sequence)")),
                ("state", .text("CONVERSATION_ACTIVITY_STATE_GENERATING")),
                ("seq", .integer(sequence)), ("since", .text(stamp(at))),
                ("status", .text("started")), ("event_context", context("GenerationStarted", at)),
            ])
    }

    /// A finalized message. No two of a conversation are equal, so that none can be mistaken.
    mutating func message(_ extra: [(String, Draft)] = []) {
        let at = tick()
        messages += 1
        let part = Draft.object([
            ("type", .text("CONTENT_PART_TYPE_TEXT")), ("content", .text(random.pick(words))),
        ])
        let usual: [(String, Draft)] = [
            ("role", .integer(2)), ("content", .list([part])), ("sequence", .integer(sequence)),
            ("n", .integer(1 << 53 + 1 + Int64(number) * 1_000 + messages)),
        ]
        emit(
            LogRecord.messages, at: at,
            [
                ("message", .object(usual + extra)),
                ("event_context", context("common.v1.ConversationMessagePublished", at)),
            ])
    }

    private func context(_ event: String, _ at: Int64) -> Draft {
        .object([
            ("event_name", .text("llm.v1.\(event)Event")), ("emitted_at", .text(stamp(at))),
        ])
    }
}

private func camelCase(_ name: String) -> String {
    let parts = name.split(separator: "_")
    return parts.dropFirst().reduce(String(parts[0])) {
        $0 + $1.prefix(1).uppercased() + $1.dropFirst()
    }
}

private let words = [
    "the", "of", "and", "a", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on", "are",
    "as", "with", "his", "they", "I", "at", "be", "this", "have", "from", "or", "one", "had", "by",
    "naïve", "漢字", "🙂", "\"quoted\"", "line\nbreak", "tab\t", "back\\slash", "",
]
