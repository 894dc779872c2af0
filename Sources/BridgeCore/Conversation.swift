internal import JSON

/// What is known of one conversation: read from the tree once, then kept as it will stand once
/// everything planned has landed.
final class Conversation {
    let key: [UInt8]
    /// Records with unsettled writes; a pinned conversation is not evicted.
    var pins = 0
    /// For eviction: met since the hand last came by.
    var isRecent = true

    var listing = Listing.unread
    private(set) var streams: [Stream] = []
    /// Streams that are being read, and those that wait for the listing.
    private(set) var adoptions: [Adoption] = []
    private(set) var wanted: Set<Int64> = []
    private(set) var statuses: [(path: [UInt8], guarding: StatusGuard?)] = []
    private(set) var guards: [Guard] = []

    init(key: [UInt8]) { self.key = key }

    /// The last guarded values of a node.
    struct Guard {
        var path: [UInt8]
        var values: [GuardValue]?
        var isRead = false
    }

    /// The keys of the conversation's ledger.
    enum Listing {
        case unread, reading
        case known(sequences: Set<Int64>, erased: Int64?)
    }

    /// The end of what was erased, in Kafka's milliseconds.
    var erased: Int64? {
        guard case .known(_, let erased) = listing else { return nil }
        return erased
    }

    /// Whether the record is one of those that were erased.
    func hasErased(_ record: Record) -> Bool {
        erased.map { (record.timestamp ?? 0) <= $0 } ?? false
    }

    // MARK: Streams

    func stream(_ sequence: Int64) -> Stream? {
        // The latest stream of a conversation is the one that records come for.
        var index = streams.count - 1
        while index >= 0 {
            if streams[index].sequence == sequence { return streams[index] }
            index -= 1
        }
        return nil
    }

    func keep(_ stream: Stream) { streams.append(stream) }

    func drop(_ stream: Stream) {
        streams.removeAll { $0 === stream }
        withSequences { $0.remove(stream.sequence) }
    }

    /// Changes the listing in place, where it is known: two holders of the set would have it copied.
    private func withSequences(_ change: (inout Set<Int64>) -> Void) {
        guard case .known(var sequences, let erased) = listing else { return }
        listing = .unread
        change(&sequences)
        listing = .known(sequences: sequences, erased: erased)
    }

    /// Forgets the oldest streams, down to so many, that have nothing on its way to the tree: who
    /// comes for one of them reads it again.
    ///
    /// - Parameter batch: the serial of the first batch that has not settled.
    /// - Returns: what was forgotten.
    func forgetStreams(downTo count: Int, settledBefore batch: Int) -> [Stream] {
        var forgotten: [Stream] = []
        withSequences { sequences in
            var excess = streams.count - count
            streams.removeAll { stream in
                guard excess > 0, stream.lastBatch < batch else { return false }
                excess -= 1
                if stream.run != nil { sequences.insert(stream.sequence) }
                forgotten.append(stream)
                return true
            }
        }
        return forgotten
    }

    func isAdopting(_ sequence: Int64) -> Bool {
        adoptions.contains { $0.sequence == sequence }
    }

    func begin(_ adoption: Adoption) { adoptions.append(adoption) }

    func finish(_ adoption: Adoption) {
        adoptions.removeAll { $0 === adoption }
        streams.append(adoption.stream!)
    }

    func want(_ sequence: Int64) { wanted.insert(sequence) }

    func takeWanted() -> [Int64] {
        defer { wanted = [] }
        return wanted.sorted()
    }

    // MARK: Status nodes

    func statusIndex(_ path: [UInt8]) -> Int? { statuses.firstIndex { $0.path == path } }

    func beginStatus(_ path: [UInt8]) { statuses.append((path, nil)) }

    /// Others may have written the node since it was read.
    func forgetStatus(_ path: [UInt8]) { statuses.removeAll { $0.path == path } }

    func finishStatus(_ path: [UInt8], _ guarding: StatusGuard) {
        guard let index = statusIndex(path) else { return }
        statuses[index].guarding = guarding
    }

    func judge(_ activity: ActivityFacts, flaw: Flaw?) -> StatusGuard.Verdict {
        guard let index = statusIndex(activity.path), statuses[index].guarding != nil else {
            preconditionFailure("a status is judged after its node was read")
        }
        return statuses[index].guarding!.judge(activity, flaw: flaw)
    }

    /// The conversation waits for its turn or for something other than the model.
    var isWorking: Bool { statuses.contains { $0.guarding?.isWorking == true } }

    /// As the agenda names a stream: `conversation/sequence`.
    func name(of sequence: Int64) -> [UInt8] {
        var name = key
        name.append(UInt8(ascii: "/"))
        name.appendDecimal(sequence)
        return name
    }

    /// Silence of the streams in memory counts from that monotonic time.
    func listen(at time: Int64) {
        for stream in streams { stream.lastHeard = time }
    }

    /// The status node of a conversation whose run has stalled, nil where it stays as it is.
    func stalledStatus(_ path: [UInt8], run: [UInt8]?) -> [UInt8]? {
        guard let index = statusIndex(path) else { return nil }
        return statuses[index].guarding?.stall(run: run)
    }

    // MARK: Guards of value mappings

    func guardIndex(_ path: [UInt8]) -> Int? { guards.firstIndex { $0.path == path } }

    func beginGuard(_ path: [UInt8]) { guards.append(Guard(path: path)) }

    func finishGuard(_ path: [UInt8], _ values: [GuardValue]?) {
        guard let index = guardIndex(path) else { return }
        guards[index].values = values
        guards[index].isRead = true
    }

    /// Judges a guarded record and remembers its values where it passes; a tombstone clears them.
    func passesGuard(_ value: ValueFacts) -> Bool {
        guard value.isGuarded, let index = guardIndex(value.path) else { return true }
        if case .delete = value.change {
            guards[index].values = nil
            return true
        }
        if let last = guards[index].values, !last.lexicographicallyPrecedes(value.guardValues) {
            return false
        }
        guards[index].values = value.guardValues
        return true
    }
}

/// A stream that is being read: its ledger entry and `meta`, then where needed its chunks.
final class Adoption {
    let sequence: Int64
    /// nil until read; a read entry may be absent.
    var entry: LedgerEntry??
    var meta: StreamMeta??
    var stream: Stream?

    init(sequence: Int64) { self.sequence = sequence }
}

extension Conversation {
    /// Nothing of it is being read.
    var isSettled: Bool {
        if case .reading = listing { return false }
        return adoptions.isEmpty && wanted.isEmpty && statuses.allSatisfy { $0.guarding != nil }
            && guards.allSatisfy { $0.isRead }
    }
}
