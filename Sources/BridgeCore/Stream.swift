internal import JSON

/// One stream as it will stand once everything planned has landed: what `meta` says of it, and what
/// only the ledger says. The rules are contract section 2: meta, the end bounds the stream,
/// regeneration.
final class Stream {
    let sequence: Int64

    /// The run that the node shows; nil for a stream that nothing has opened.
    private(set) var run: [UInt8]?
    /// The run's earliest known `started` time or chunk timestamp.
    private(set) var birth: TimeText?
    private(set) var startedAt: TimeText?
    /// Whether `startedAt` is a marker's, which no chunk changes.
    private(set) var isMarked = false
    private(set) var status = RunStatus.streaming
    private(set) var finishedAt: TimeText?
    private(set) var errorMessage: [UInt8]?
    /// What ended the run.
    private(set) var endedBy: EndCause?
    /// The index of the first final chunk: no chunk lies beyond it.
    private(set) var last: Int64?
    /// When the end was written, in milliseconds since 1970.
    private(set) var endedAt: Int64?
    /// When clean-up removed the node.
    private(set) var removedAt: Int64?
    /// Runs that can never win again.
    private(set) var superseded: Set<[UInt8]> = []
    /// Ends seen before their run's birth.
    private(set) var earlyEnds: [[UInt8]: RunEnd] = [:]
    /// For chunks without index by arrival.
    private(set) var arrival: Arrival?
    /// What the last chunk without index said, until one with an index comes.
    private(set) var unindexed: [UInt8]?
    /// It was found in the tree, where a later chunk of what is planned anew may have written it.
    private var isUnindexedFound = false
    /// The indexes that stand in the tree.
    private(set) var written = IndexRanges()
    /// The agenda's item for the stream as the tree holds it.
    var agendaItem: [UInt8]?
    /// When the last chunk came, in monotonic nanoseconds, for the stall check: a clock that is set
    /// stalls nobody. Nil for a stream that this assignment has not met.
    var lastHeard: Int64?

    /// Where the batch under construction keeps this stream's writes.
    var slot = BatchSlot()
    /// The serial of the last batch that wrote its ledger entry.
    var ledgerBatch = -1

    init(sequence: Int64) { self.sequence = sequence }

    /// What ended a run.
    enum EndCause: String { case marker = "m", chunk = "c", stall = "s" }

    /// How many chunks by arrival lie below `next`, the first of them at `first`.
    struct Arrival: Equatable {
        var first: Int64
        var next: Int64
        var count: Int64
    }

    /// What a record changed.
    struct Changes {
        /// The record concerns a run that cannot win: drop and count it.
        var isLate = false
        /// The stream began anew: old chunks and meta go.
        var isFresh = false
        /// The chunk to write.
        var chunk: Int64?
        /// Chunks beyond the end.
        var deleted: [Int64] = []
        var meta = false
        var ledger = false
        /// A run ended with so many chunks missing.
        var gaps: Int64 = 0
    }

    var isRemoved: Bool { removedAt != nil }

    /// The serial of the last batch that wrote something of it.
    var lastBatch: Int { max(slot.batch, ledgerBatch) }

    // MARK: Records

    /// Takes a chunk in.
    ///
    /// - Parameter isReplay: what was mirrored before is read again, perhaps not to its end: it
    ///   neither revives a stalled run nor numbers its chunks anew.
    /// - Parameter isAgain: it was accepted before, in a batch that had no answer: what it wrote may
    ///   stand in the tree.
    func apply(
        _ chunk: ChunkFacts, offset: Int64, isReplay: Bool = false, isAgain: Bool = false
    ) throws(Rejection) -> Changes {
        var changes = Changes()
        guard meet(chunk.run, birth: chunk.time.instant, end: nil, &changes) else {
            changes.isLate = true
            return changes
        }
        let place = try index(
            of: chunk, offset: offset, isReplay: isReplay, isAgain: isAgain || isReplay, &changes)
        guard let index = place else {
            changes.isLate = true
            return changes
        }
        if !isReplay || !written.contains(index) { revive(&changes) }
        bear(chunk.time, marked: false, &changes)
        if let last, index > last {
            changes.isLate = true
            return changes
        }
        written.insert(index)
        changes.chunk = index
        if let end = chunk.end, last == nil {
            last = index
            changes.ledger = true
            changes.deleted = written.removeAbove(index)
            changes.gaps = written.gaps(upTo: index)
            if endedBy == nil { finish(.chunk, end, &changes) }
        }
        return changes
    }

    /// Takes a marker in.
    func apply(_ marker: MarkerFacts, isReplay: Bool = false) -> Changes {
        var changes = Changes()
        let birth = marker.end == nil ? marker.time.instant : nil
        guard meet(marker.run, birth: birth, end: marker.end, &changes) else {
            changes.isLate = true
            return changes
        }
        if let end = marker.end {
            // What was written at the stall is replaced: `keep` counts from now.
            if endedBy == .stall { endedAt = nil }
            if endedBy != .marker { finish(.marker, end, &changes) }
        } else {
            if !isReplay || !isMarked { revive(&changes) }
            bear(marker.time, marked: true, &changes)
        }
        return changes
    }

    /// Ends an open run that has been silent too long.
    func stall(at time: Int64) -> Changes {
        var changes = Changes()
        guard run != nil, endedBy == nil, !isRemoved else { return changes }
        let end = RunEnd(
            status: .error, finishedAt: TimeText(milliseconds: time),
            errorMessage: Array("\"stalled\"".utf8))
        finish(.stall, end, &changes)
        return changes
    }

    /// Forgets the node of a run that ended; what still comes of the run is late.
    func remove(at time: Int64) -> Changes {
        var changes = Changes()
        guard run != nil, endedBy != nil, !isRemoved else { return changes }
        removedAt = time
        changes.ledger = true
        return changes
    }

    /// Notes when the end was written, once.
    func noteEnd(at time: Int64) -> Bool {
        guard endedBy != nil, endedAt == nil else { return false }
        endedAt = time
        return true
    }

    // MARK: Runs

    /// Whether a record of `run` concerns the run that the node shows; opens or supersedes a run
    /// where the record says so.
    private func meet(
        _ run: [UInt8], birth: Timestamp?, end: RunEnd?, _ changes: inout Changes
    ) -> Bool {
        if run == self.run { return !isRemoved }
        if superseded.contains(run) { return false }
        if self.run != nil {
            let time = birth ?? (earlyEnds[run] ?? end)?.finishedAt?.instant
            guard !(RunAge(hasBirth: birth != nil, time: time, run: run) < age) else {
                changes.ledger = true
                if birth == nil {
                    if earlyEnds[run] == nil {
                        earlyEnds[run] = end
                    } else {
                        changes.ledger = false
                    }
                } else {
                    superseded.insert(run)
                    earlyEnds[run] = nil
                }
                return false
            }
            if self.birth == nil, !isRemoved {
                earlyEnds[self.run!] = RunEnd(
                    status: status, finishedAt: finishedAt, errorMessage: errorMessage)
            } else {
                superseded.insert(self.run!)
            }
        }
        begin(run, &changes)
        if let own = earlyEnds.removeValue(forKey: run) { finish(.marker, own, &changes) }
        return true
    }

    private var age: RunAge {
        RunAge(
            hasBirth: birth != nil, time: birth?.instant ?? finishedAt?.instant, run: run ?? [])
    }

    private func begin(_ run: [UInt8], _ changes: inout Changes) {
        self.run = run
        birth = nil
        startedAt = nil
        isMarked = false
        status = .streaming
        finishedAt = nil
        errorMessage = nil
        endedBy = nil
        last = nil
        endedAt = nil
        removedAt = nil
        arrival = nil
        unindexed = nil
        written = IndexRanges()
        changes.isFresh = true
        changes.meta = true
        changes.ledger = true
    }

    private func bear(_ time: TimeText, marked: Bool, _ changes: inout Changes) {
        if marked, !isMarked {
            isMarked = true
            startedAt = time.alone
            changes.meta = true
            changes.ledger = true
        }
        if birth.map({ time.instant < $0.instant }) ?? true {
            birth = time.alone
            changes.ledger = true
            if !isMarked {
                startedAt = birth
                changes.meta = true
            }
        }
    }

    private func finish(_ cause: EndCause, _ end: RunEnd, _ changes: inout Changes) {
        endedBy = cause
        status = end.status
        finishedAt = end.finishedAt?.alone
        errorMessage = end.errorMessage
        changes.meta = true
        changes.ledger = true
    }

    /// A stalled run goes on when something comes of it.
    private func revive(_ changes: inout Changes) {
        guard endedBy == .stall else { return }
        endedBy = nil
        status = .streaming
        finishedAt = nil
        errorMessage = nil
        endedAt = nil
        changes.meta = true
        changes.ledger = true
    }

    // MARK: Indexes

    /// The chunk's index; nil for one that was numbered before, in an earlier reading of the topic.
    private func index(
        of chunk: ChunkFacts, offset: Int64, isReplay: Bool, isAgain: Bool,
        _ changes: inout Changes
    ) throws(Rejection) -> Int64? {
        if chunk.byArrival { return arrivalIndex(offset, isReplay, &changes) }
        if let index = chunk.index {
            unindexed = nil
            return index
        }
        guard unindexed == nil || repeats(chunk, isAgain: isAgain) else {
            throw Rejection(
                .missingField,
                "chunk_index: expected an index, as an earlier chunk of the run has none either; for "
                    + "producers without indexes say `index: arrival` in the mapping")
        }
        unindexed = chunk.said
        isUnindexedFound = false
        return 0
    }

    /// Whether the chunk without index says what the last one said. What was found in the tree does
    /// not tell whether its time was the record's own.
    private func repeats(_ chunk: ChunkFacts, isAgain: Bool) -> Bool {
        guard let unindexed, isUnindexedFound else { return unindexed == chunk.said }
        return isAgain
            || JSONTape.areEqual(unindexed, chunk.leaf, butTime: chunk.isTimeKafkas)
    }

    private func arrivalIndex(
        _ offset: Int64, _ isReplay: Bool, _ changes: inout Changes
    ) -> Int64? {
        changes.ledger = true
        guard var known = arrival, offset > known.first || isReplay else {
            arrival = Arrival(first: offset, next: offset + 1, count: 1)
            return 0
        }
        guard offset >= known.next else {
            changes.ledger = false
            return nil
        }
        defer { arrival = known }
        known.next = offset + 1
        known.count += 1
        return known.count - 1
    }

    // MARK: The ledger

    /// Takes up a stream where an earlier owner left it.
    ///
    /// - Parameter meta: what the node's `meta` holds; nil where someone else removed it, and the
    ///   entry then counts as absent.
    init(
        adopting entry: LedgerEntry, meta: StreamMeta?, sequence: Int64
    ) {
        self.sequence = sequence
        guard entry.removedAt != nil || meta != nil else { return }
        run = entry.run
        birth = entry.birth
        isMarked = entry.isMarked
        endedBy = entry.endedBy
        last = entry.last
        endedAt = entry.endedAt
        removedAt = entry.removedAt
        superseded = entry.superseded
        earlyEnds = entry.earlyEnds
        arrival = entry.arrival
        status = meta?.status ?? .streaming
        startedAt = meta?.startedAt
        finishedAt = meta?.finishedAt ?? entry.finishedAt
        errorMessage = meta?.errorMessage
    }

    /// Whether the indexes in the tree must be known: the run may still end below one of them.
    var needsWrittenIndexes: Bool { run != nil && last == nil && !isRemoved }

    /// Takes note of a chunk that stands in the tree.
    func noteWritten(_ index: Int64) { written.insert(index) }

    /// Whether the one chunk in the tree may be one without index, which another must not
    /// overwrite.
    var needsFirstChunk: Bool {
        if needsWrittenIndexes { return written.isJustZero }
        return run != nil && last == 0 && !isRemoved && arrival == nil
    }

    /// Takes note of the one chunk in the tree, as the bridge would write it.
    func noteFirstChunk(_ leaf: [UInt8]) {
        unindexed = leaf
        isUnindexedFound = true
    }

    /// The entry that makes all this outlive a restart.
    func ledgerEntry(flaw: Flaw? = nil) -> LedgerEntry? {
        guard let run else { return nil }
        let forgets = flaw == .forgetsSupersededRuns
        return LedgerEntry(
            run: run, birth: birth, isMarked: isMarked, endedBy: endedBy, last: last,
            endedAt: endedAt, removedAt: removedAt, superseded: forgets ? [] : superseded,
            earlyEnds: forgets ? [:] : earlyEnds, arrival: arrival,
            finishedAt: isRemoved && birth == nil ? finishedAt : nil)
    }

    /// What `meta` holds.
    var meta: StreamMeta? {
        guard let run, !isRemoved else { return nil }
        return StreamMeta(
            run: run, status: status, startedAt: startedAt, finishedAt: finishedAt,
            errorMessage: errorMessage)
    }
}

/// Which of two runs is the newer one: the later birth, at a tie the greater id by bytes. A run of
/// which only its end is known is older than any that has a birth.
struct RunAge: Comparable {
    var hasBirth: Bool
    var time: Timestamp?
    var run: [UInt8]

    static func < (a: Self, b: Self) -> Bool {
        if a.hasBirth != b.hasBirth { return b.hasBirth }
        if a.time != b.time {
            guard let time = a.time else { return true }
            guard let other = b.time else { return false }
            return time < other
        }
        return a.run.lexicographicallyPrecedes(b.run)
    }
}

extension JSONTape {
    /// Whether two flat objects with the same order of members say the same, however their texts
    /// are escaped: the database has its own way.
    fileprivate static func areEqual(
        _ one: [UInt8], _ other: [UInt8], butTime: Bool
    ) -> Bool {
        let parser = JSONParser()
        guard let one = try? parser.parse(one), let other = try? parser.parse(other) else {
            return false
        }
        func said(_ tape: JSONTape, _ value: Int) -> [UInt8] {
            tape.kind(value) == .string ? tape.text(value) : Array(tape.raw(value))
        }
        return one.members(of: 0).elementsEqual(other.members(of: 0)) { left, right in
            let name = one.text(left.name)
            guard name == other.text(right.name) else { return false }
            return butTime && name == Name.timestamp
                || one.kind(left.value) == other.kind(right.value)
                    && said(one, left.value) == said(other, right.value)
        }
    }
}
