internal import JSON

/// What decides whether an activity applies (contract section 2, "Status guard").
struct StatusRank: Comparable {
    var seq: Int64
    /// nil is older than any time.
    var since: Timestamp?
    /// IDLE and ERROR outrank the other states at an equal `(seq, since)`.
    var isResting: Bool

    static func < (a: Self, b: Self) -> Bool {
        if a.seq != b.seq { return a.seq < b.seq }
        if a.since != b.since {
            guard let since = a.since else { return true }
            guard let other = b.since else { return false }
            return since < other
        }
        return !a.isResting && b.isResting
    }

    static func isResting(state: [UInt8]) -> Bool {
        state == idle || state == error
    }

    /// QUEUED, EXECUTING_TOOLS and COMPACTING: no chunk is to be expected.
    static func isWorking(state: [UInt8]) -> Bool { working.contains(state) }

    private static let working = ["QUEUED", "EXECUTING_TOOLS", "COMPACTING"].map {
        Array("CONVERSATION_ACTIVITY_STATE_\($0)".utf8)
    }
    private static let idle = Array("CONVERSATION_ACTIVITY_STATE_IDLE".utf8)
    private static let error = Array("CONVERSATION_ACTIVITY_STATE_ERROR".utf8)
}

/// The memory of one status node: what it holds once everything planned has landed.
struct StatusGuard {
    /// nil where the node is absent or holds nothing that could be compared.
    private(set) var held: (rank: StatusRank, node: [UInt8])?
    /// The conversation queues, executes tools or compacts.
    private(set) var isWorking = false

    /// What an activity does to the node.
    enum Verdict { case write, unchanged, stale }

    /// Judges an activity and remembers it where it is written.
    mutating func judge(_ activity: ActivityFacts, flaw: Flaw? = nil) -> Verdict {
        if let held, flaw != .noStatusGuard {
            if activity.rank < held.rank { return .stale }
            if activity.node == held.node { return .unchanged }
        }
        held = (activity.rank, activity.node)
        isWorking = activity.isWorking
        return .write
    }

    /// An absent node.
    init() {}

    /// The node as the tree holds it, `null` for an absent one.
    init(reading tape: JSONTape) {
        guard let seqValue = tape.member(Name.seq, of: 0),
            let seq = tape.kind(seqValue) == .string
                ? decimal(tape.text(seqValue)) : tape.int64(seqValue)
        else { return }
        let since = tape.member(Name.since, of: 0).flatMap { Timestamp(tape.text($0)) }
        let state = tape.member(Name.state, of: 0).map { tape.text($0) } ?? []
        let rank = StatusRank(
            seq: seq, since: since, isResting: StatusRank.isResting(state: state))
        held = (rank, Self.node(of: tape))
        isWorking = StatusRank.isWorking(state: state)
    }

    /// The node that says ERROR under its own `(seq, since)`; nil where it says so or IDLE already,
    /// or speaks of another run, which may be well.
    mutating func stall(run: [UInt8]?) -> [UInt8]? {
        guard let held, !held.rank.isResting, let run,
            let tape = try? JSONParser().parse(held.node)
        else { return nil }
        if let shown = tape.member(Name.runID, of: 0), tape.text(shown) != run { return nil }
        var node = ObjectWriter()
        node.add(Name.state, text: "CONVERSATION_ACTIVITY_STATE_ERROR")
        node.add(Name.runID, text: run)
        for name in [Name.seq, Name.since] {
            if let value = tape.member(name, of: 0) { node.add(name, tape.raw(value)) }
        }
        var error = ObjectWriter()
        error.add(Name.code, text: "stalled")
        error.add(Name.message, text: "stalled")
        node.add(Name.error, error.finish())
        var rank = held.rank
        rank.isResting = true
        let json = node.finish()
        self.held = (rank, json)
        return json
    }

    // The tree may give the members in any order; the record's order is the bridge's own.
    private static func node(of tape: JSONTape) -> [UInt8] {
        var out = ObjectWriter()
        for name in [Name.state, Name.runID, Name.seq, Name.since] {
            if let value = tape.member(name, of: 0) { out.add(name, tape.raw(value)) }
        }
        if let error = tape.member(Name.error, of: 0) {
            var inner = ObjectWriter()
            for name in [Name.code, Name.message] {
                if let value = tape.member(name, of: error) { inner.add(name, tape.raw(value)) }
            }
            out.add(Name.error, inner.finish())
        }
        return out.finish()
    }
}

/// The integer of a decimal string: digits after an optional `-`.
func decimal(_ text: [UInt8]) -> Int64? {
    let negative = text.first == UInt8(ascii: "-")
    return plainDecimal(text[(negative ? 1 : 0)...], negative: negative)
}
