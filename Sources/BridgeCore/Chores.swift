internal import JSON

/// Work that no record causes: judging a silent stream as stalled, removing a finished one.
struct Chore {
    var conversation: [UInt8]
    var sequence: Int64
    var kind: Kind
    enum Kind { case stall, remove, forget }
}

/// How far the agenda has been read.
struct AgendaReading {
    var isReading = false
    var dueAt: Int64 = 0
}

extension Bridge {
    func planChores(of part: Part, at now: Moment) {}
    func agendaRead(_ part: Part, _ tape: JSONTape, at now: Moment) {}
}

extension Conversation {
    func noteActivity(_ activity: ActivityFacts) {}
}
