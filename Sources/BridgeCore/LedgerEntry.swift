internal import JSON

/// What a stream's node does not say and a restart must know: `_firebridge/streams/…`.
struct LedgerEntry {
    var run: [UInt8]
    var birth: TimeText?
    var isMarked: Bool
    var endedBy: Stream.EndCause?
    var last: Int64?
    var endedAt: Int64?
    var removedAt: Int64?
    var superseded: Set<[UInt8]>
    var earlyEnds: [[UInt8]: RunEnd]
    var arrival: Stream.Arrival?
    /// Only of a removed run without birth: what its age goes by.
    var finishedAt: TimeText?

    var json: [UInt8] {
        var out = ObjectWriter(capacity: 240)
        out.add(Name.run, text: run)
        if let birth { out.add(Name.birth, birth.json) }
        if isMarked { out.add(Name.marked, true) }
        if let endedBy { out.add(Name.end, text: endedBy.rawValue) }
        if let last { out.add(Name.last, last) }
        if let endedAt { out.add(Name.at, endedAt) }
        if let removedAt { out.add(Name.removed, removedAt) }
        if !superseded.isEmpty {
            var runs = ObjectWriter()
            for run in superseded.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                runs.add(anyName: Key.member(run), JSONWord.true)
            }
            out.add(Name.old, runs.finish())
        }
        if !earlyEnds.isEmpty {
            var ends = ObjectWriter()
            for (run, end) in earlyEnds.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                ends.add(anyName: Key.member(run), end.json)
            }
            out.add(Name.ends, ends.finish())
        }
        if let arrival {
            var counts = ObjectWriter()
            counts.add(Name.first, arrival.first)
            counts.add(Name.next, arrival.next)
            counts.add(Name.count, arrival.count)
            out.add(Name.arrival, counts.finish())
        }
        if let finishedAt { out.add(Name.finishedAt, finishedAt.json) }
        return out.finish()
    }
}

extension LedgerEntry {
    /// The entry as the tree holds it, nil for an absent or foreign one.
    init?(reading tape: JSONTape) {
        guard let runValue = tape.member(Name.run, of: 0), tape.kind(runValue) == .string else {
            return nil
        }
        func int(_ name: [UInt8], of object: Int = 0) -> Int64? {
            tape.member(name, of: object).flatMap(tape.int64)
        }
        run = tape.text(runValue)
        birth = tape.time(Name.birth, of: 0)
        isMarked = tape.member(Name.marked, of: 0).map { tape.kind($0) == .true } ?? false
        endedBy = tape.member(Name.end, of: 0).flatMap {
            Stream.EndCause(rawValue: String(decoding: tape.text($0), as: UTF8.self))
        }
        last = int(Name.last)
        endedAt = int(Name.at)
        removedAt = int(Name.removed)
        superseded = []
        if let old = tape.member(Name.old, of: 0) {
            for (key, _) in tape.children(of: old) {
                superseded.insert(Key.unescape(key))
            }
        }
        earlyEnds = [:]
        if let ends = tape.member(Name.ends, of: 0) {
            for (key, value) in tape.children(of: ends) {
                earlyEnds[Key.unescape(key)] = RunEnd(reading: tape, value)
            }
        }
        if let counts = tape.member(Name.arrival, of: 0), let first = int(Name.first, of: counts),
            let next = int(Name.next, of: counts), let count = int(Name.count, of: counts)
        {
            arrival = Stream.Arrival(first: first, next: next, count: count)
        }
        finishedAt = tape.time(Name.finishedAt, of: 0)
    }
}

extension RunEnd {
    fileprivate var json: [UInt8] {
        var out = ObjectWriter()
        out.add(Name.status, text: status.rawValue)
        if let finishedAt { out.add(Name.finishedAt, finishedAt.json) }
        if let errorMessage { out.add(Name.errorMessage, errorMessage) }
        return out.finish()
    }

    fileprivate init(reading tape: JSONTape, _ object: Int) {
        status = tape.runStatus(of: object)
        finishedAt = tape.time(Name.finishedAt, of: object)
        errorMessage = tape.member(Name.errorMessage, of: object).map { Array(tape.raw($0)) }
    }
}

/// A stream's `meta` node.
struct StreamMeta: Equatable {
    var run: [UInt8]
    var status: RunStatus
    var startedAt: TimeText?
    var finishedAt: TimeText?
    var errorMessage: [UInt8]?

    var json: [UInt8] {
        var out = ObjectWriter(capacity: 240)
        out.add(Name.runID, text: run)
        out.add(Name.status, text: status.rawValue)
        if let startedAt { out.add(Name.startedAt, startedAt.json) }
        if let finishedAt { out.add(Name.finishedAt, finishedAt.json) }
        if let errorMessage { out.add(Name.errorMessage, errorMessage) }
        return out.finish()
    }
}

extension StreamMeta {
    /// The node as the tree holds it, nil where it is absent.
    init?(reading tape: JSONTape) {
        guard tape.kind(0) == .object else { return nil }
        run = tape.member(Name.runID, of: 0).map { tape.text($0) } ?? []
        status = tape.runStatus(of: 0)
        startedAt = tape.time(Name.startedAt, of: 0)
        finishedAt = tape.time(Name.finishedAt, of: 0)
        errorMessage = tape.member(Name.errorMessage, of: 0).map { Array(tape.raw($0)) }
    }
}

extension JSONTape {
    fileprivate func time(_ name: [UInt8], of object: Int) -> TimeText? {
        guard let value = member(name, of: object), kind(value) == .string,
            let instant = Timestamp(text(value))
        else { return nil }
        return TimeText(json: Array(raw(value)), instant: instant)
    }

    fileprivate func runStatus(of object: Int) -> RunStatus {
        member(Name.status, of: object).flatMap {
            RunStatus(rawValue: String(decoding: text($0), as: UTF8.self))
        } ?? .streaming
    }
}
