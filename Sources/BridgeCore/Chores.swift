internal import JSON

/// Work that no record causes: ending a silent stream, removing a finished one, forgetting a
/// removed one.
struct Chore {
    var conversation: [UInt8]
    var sequence: Int64
    var kind: Kind
    /// The agenda's item that asks for it.
    var item: [UInt8]
    enum Kind { case stall, remove, forget }
}

/// How far a part's agenda has been read. Its items stand in order of kind and time, so that what
/// is due is a range of keys.
struct AgendaReading {
    private let watchesStalls: Bool
    /// The range that is being read.
    var range = Range.open
    /// The last key of the page before, of each range; none at its beginning. Without it items that
    /// no chore can clear would hide those behind them.
    var cursors: [Range: [UInt8]] = [:]
    var isReading = false
    /// When the next page is read, monotonic nanoseconds: however much there is to remove, silent
    /// streams are looked for, and the other way round.
    var openDueAt: Int64 = 0
    var cleanUpDueAt: Int64 = 0
    /// Which range clean-up comes to next.
    var cleanUp = Range.finished
    /// Open streams that are not in memory: since when they have been silent, in monotonic
    /// nanoseconds, as far as this assignment knows.
    var silentSince: [[UInt8]: Int64] = [:]
    var seen: Set<[UInt8]> = []
    /// Whether this round through the open ones, or the last, met one that has been silent for so
    /// long that only the end of its partitions is still wanted.
    var isStallDue = (now: false, before: false)

    enum Range { case open, finished, removed }

    init(watchesStalls: Bool) { self.watchesStalls = watchesStalls }

    /// The conversation leaves the memory: its open streams have been silent since they were last
    /// heard, and no longer.
    mutating func remember(_ conversation: Conversation) {
        for stream in conversation.streams { remember(stream, of: conversation) }
    }

    /// The same of a stream alone. Of one that was never heard it is known already; one that was
    /// ended as stalled is open in the tree as long as that has not landed.
    mutating func remember(_ stream: Stream, of conversation: Conversation) {
        guard watchesStalls, let heard = stream.lastHeard, stream.run != nil,
            stream.endedBy == nil || stream.endedBy == .stall
        else { return }
        let name = conversation.name(of: stream.sequence)
        silentSince[name] = heard
        // The agenda may have been read past its item already.
        seen.insert(name)
    }

    /// A stream that counted as silent has been heard. The others need no entry.
    mutating func hear(_ conversation: Conversation, _ sequence: Int64, at time: Int64) {
        let name = conversation.name(of: sequence)
        if silentSince[name] != nil { silentSince[name] = time }
    }
}

// Clean-up and stalls go through the agenda, so that they survive restarts and need no memory of
// what an earlier owner left (contract sections 3 and 7).
extension Bridge {
    /// A removed stream is remembered so long, in milliseconds.
    private static let rememberRemoved: Int64 = 7 * 86_400_000
    private static let pageMax = 50
    /// Between two pages of one part: the budget of clean-up.
    private static let pagePause: Int64 = 1_000_000_000
    /// A known end of a partition counts for so long, in nanoseconds.
    private static let endIsFresh: Int64 = 5_000_000_000
    /// While it is wanted it is asked for so often.
    private static let endIsAsked: Int64 = 2_000_000_000

    var watchesStalls: Bool { settings.stallAfter > .zero }
    private var cleansUp: Bool { settings.keep > .zero }

    /// The partitions whose ends must be known before silent streams can be called stalled, and
    /// were not asked for lately.
    public func endsWanted(at now: Moment) -> [TopicPartition] {
        guard watchesStalls, let parts = assignment?.parts else { return [] }
        return parts.filter { $0.agenda.isStallDue.now || $0.agenda.isStallDue.before }
            .flatMap(\.partitions)
            .filter { now.monotonic - ($0.knownEndAt ?? .min / 2) >= Self.endIsAsked }
            .map(\.source)
    }

    /// The ends of partitions as their leaders told them when they were asked at that time: who
    /// has not heard lately cannot tell a silent stream from a leader that is out of reach.
    public func ends(_ known: [TopicPartition: Int64], at now: Moment) {
        for (source, end) in known {
            partitions[source]?.knownEnd = end
            partitions[source]?.knownEndAt = now.monotonic
        }
    }

    /// When the next page of an agenda is due.
    var nextAgendaPage: Int64? {
        guard watchesStalls || cleansUp, drain == nil else { return nil }
        return assignment?.parts.filter { part in
            part.hasStreams && !part.agenda.isReading && part.chores.isEmpty
                && !lanes[part.lane].isFrozen && lanes[part.lane].groups.isEmpty
        }.map { nextPage(of: $0.agenda).dueAt }.min()
    }

    /// The range whose turn is next, and when.
    private func nextPage(of agenda: AgendaReading) -> (range: AgendaReading.Range, dueAt: Int64) {
        guard watchesStalls, !cleansUp || agenda.openDueAt <= agenda.cleanUpDueAt else {
            return (agenda.cleanUp, agenda.cleanUpDueAt)
        }
        return (.open, agenda.openDueAt)
    }

    /// Reads the agenda's next page where it is due, and does what the last one brought.
    func planChores(of part: Part, at now: Moment) {
        guard watchesStalls || cleansUp, part.hasStreams, drain == nil else { return }
        performChores(of: part, at: now)
        let next = nextPage(of: part.agenda)
        guard !part.agenda.isReading, part.chores.isEmpty, next.dueAt <= now.monotonic
        else { return }
        readAgenda(of: part, next.range, at: now)
    }

    private func readAgenda(of part: Part, _ range: AgendaReading.Range, at now: Moment) {
        part.agenda.isReading = true
        part.agenda.range = range
        let kind: String
        let through: [UInt8]
        switch range {
        case .open:
            kind = "o"
            through = Array("o~".utf8)
        case .finished:
            kind = "f"
            through = StateLayout.agendaBound("f", now.wall - settings.keep.milliseconds)
        case .removed:
            kind = "r"
            through = StateLayout.agendaBound("r", now.wall - Self.rememberRemoved)
        }
        list(
            StateLayout.agenda(set: part.setKey, partition: part.number),
            from: part.agenda.cursors[range] ?? Array(kind.utf8), through: through,
            limit: Self.pageMax, for: .agenda(part))
    }

    func agendaRead(_ part: Part, _ tape: JSONTape, at now: Moment) {
        let items = tape.children(of: 0).sorted { $0.key.lexicographicallyPrecedes($1.key) }
        part.agenda.isReading = false
        let range = part.agenda.range
        let before = part.agenda.cursors[range]
        let isWhole = items.count < Self.pageMax
        part.agenda.cursors[range] = isWhole ? nil : items.last?.key
        let dueAt = now.monotonic + (isWhole ? 2 : 1) * Self.pagePause
        if range == .open {
            part.agenda.openDueAt = dueAt
        } else {
            part.agenda.cleanUpDueAt = dueAt
        }
        for (key, value) in items where key != before {
            guard let (conversation, sequence) = Self.stream(named: tape.text(value)) else {
                continue
            }
            let chore: Chore.Kind
            switch range {
            case .open:
                guard isSilent(conversation, sequence, tape.text(value), in: part, at: now)
                else { continue }
                chore = .stall
            case .finished: chore = .remove
            case .removed: chore = .forget
            }
            part.chores.append(
                Chore(conversation: conversation, sequence: sequence, kind: chore, item: key))
        }
        guard isWhole else { return }
        switch range {
        case .open:
            let seen = part.agenda.seen
            part.agenda.silentSince = part.agenda.silentSince.filter { seen.contains($0.key) }
            part.agenda.seen = []
            part.agenda.isStallDue = (false, part.agenda.isStallDue.now)
        case .finished: part.agenda.cleanUp = .removed
        case .removed: part.agenda.cleanUp = .finished
        }
    }

    /// `conversation/sequence`, as the agenda names a stream.
    private static func stream(named name: [UInt8]) -> ([UInt8], Int64)? {
        guard let slash = name.lastIndex(of: UInt8(ascii: "/")),
            let sequence = decimal(Array(name[(slash + 1)...]))
        else { return nil }
        return (Array(name[..<slash]), sequence)
    }

    private func isSilent(
        _ conversation: [UInt8], _ sequence: Int64, _ name: [UInt8], in part: Part, at now: Moment
    ) -> Bool {
        part.agenda.seen.insert(name)
        let since: Int64
        if let heard = part.known(conversation)?.stream(sequence)?.lastHeard {
            since = heard
            part.agenda.silentSince[name] = nil
        } else {
            since = part.agenda.silentSince[name] ?? now.monotonic
            part.agenda.silentSince[name] = since
        }
        guard now.monotonic - since >= settings.stallAfter.nanoseconds else { return false }
        part.agenda.isStallDue.now = true
        return isAtEnd(part, at: now)
    }

    private func isAtEnd(_ part: Part, at now: Moment) -> Bool {
        part.partitions.allSatisfy { partition in
            guard let end = partition.knownEnd, let at = partition.knownEndAt else { return false }
            return partition.isRunning && partition.halt == nil && partition.queue.isEmpty
                && partition.offsets.position >= end && now.monotonic - at <= Self.endIsFresh
        }
    }

    // MARK: Doing them

    private func performChores(of part: Part, at now: Moment) {
        guard lanes[part.lane].choresGoAlone else {
            return part.chores.removeAll { perform($0, in: part, at: now) }
        }
        while !lanes[part.lane].batches.contains(where: \.isSealed),
            let chore = part.chores.first, perform(chore, in: part, at: now)
        {
            part.chores.removeFirst()
        }
    }

    /// True once the chore is done or has become needless.
    private func perform(_ chore: Chore, in part: Part, at now: Moment) -> Bool {
        let conversation = part.conversation(chore.conversation)
        guard isListed(conversation, in: part, wanting: chore.sequence),
            hasStream(chore.sequence, of: conversation, in: part)
        else { return false }
        guard let stream = conversation.stream(chore.sequence), stream.run != nil else {
            clear(chore, of: conversation, in: part)
            return true
        }
        switch chore.kind {
        case .stall: return stall(stream, of: conversation, in: part, at: now)
        case .remove: remove(stream, of: conversation, in: part, at: now)
        case .forget: forget(stream, of: conversation, in: part, at: now)
        }
        return true
    }

    private func stall(
        _ stream: Stream, of conversation: Conversation, in part: Part, at now: Moment
    ) -> Bool {
        let paths = statusPaths(of: conversation)
        var isRead = true
        for (path, _) in paths where !hasStatus(path, of: conversation) { isRead = false }
        guard isRead else { return false }
        let isWorking = conversation.isWorking
        for (path, set) in paths where set != part.set { conversation.forgetStatus(path) }
        // It may have been heard, or begun to work, since the agenda was read.
        if let heard = stream.lastHeard,
            now.monotonic - heard < settings.stallAfter.nanoseconds
        {
            return true
        }
        if isWorking { part.listen(to: conversation, at: now.monotonic) }
        guard isAtEnd(part, at: now), !isWorking else { return true }
        let changes = stream.stall(at: now.wall)
        guard changes.ledger else { return true }
        counters.stalled += 1
        let batch = addChore(conversation, in: part)
        write(changes, of: stream, nil, conversation, part, batch, at: now)
        guard settings.stallStatus else { return true }
        // Where the status is another set's, who guards it is not told.
        for (path, set) in paths where set == part.set {
            guard let node = conversation.stalledStatus(path, run: stream.run) else { continue }
            counters.add(.status)
            lanes[part.lane].batches[batch].set(path, node)
        }
        return true
    }

    private func remove(
        _ stream: Stream, of conversation: Conversation, in part: Part, at now: Moment
    ) {
        guard let ended = stream.endedAt, ended <= now.wall - settings.keep.milliseconds else {
            return
        }
        let changes = stream.remove(at: now.wall)
        guard changes.ledger else { return }
        let batch = addChore(conversation, in: part)
        lanes[part.lane].batches[batch].withStream(
            stream, at: streamPath(conversation, stream.sequence, in: part)
        ) { $0.remove() }
        writeLedger(of: stream, conversation, part, batch)
    }

    private func forget(
        _ stream: Stream, of conversation: Conversation, in part: Part, at now: Moment
    ) {
        guard let removed = stream.removedAt, removed <= now.wall - Self.rememberRemoved,
            let item = stream.agendaItem
        else { return }
        let batch = addChore(conversation, in: part)
        drop(item, stream.sequence, of: conversation, in: part, batch)
    }

    /// The item's stream is gone: someone else has removed its node, or its entry.
    private func clear(_ chore: Chore, of conversation: Conversation, in part: Part) {
        let batch = addChore(conversation, in: part)
        drop(chore.item, chore.sequence, of: conversation, in: part, batch)
    }

    /// Removes an agenda's item and the ledger's entry.
    private func drop(
        _ item: [UInt8], _ sequence: Int64, of conversation: Conversation, in part: Part,
        _ batch: Int
    ) {
        let agenda = StateLayout.agenda(set: part.setKey, partition: part.number)
        lanes[part.lane].batches[batch].set(
            agenda + [UInt8(ascii: "/")] + item, JSONWord.null)
        lanes[part.lane].batches[batch].set(
            StateLayout.stream(
                set: part.setKey, conversation: conversation.key, sequence: sequence),
            JSONWord.null)
        if let stream = conversation.stream(sequence) { conversation.drop(stream) }
    }

    private func addChore(_ conversation: Conversation, in part: Part) -> Int {
        let isAlone = lanes[part.lane].choresGoAlone
        let batch =
            isAlone ? appendBatch(to: part.lane) : openBatch(lane: part.lane, cost: 1024)
        lanes[part.lane].batches[batch].isSealed = isAlone
        conversation.pins += 1
        let record = Record(offset: -1, timestamp: nil, key: nil, value: nil)
        lanes[part.lane].batches[batch].add(
            PlannedRecord(
                partition: nil, record: record, conversation: conversation, readAt: .max),
            of: part)
        return batch
    }

    /// The conversation's status nodes, where their template needs nothing else, and whose sets
    /// they are: without `stream` a run mapping is a set of its own.
    private func statusPaths(of conversation: Conversation) -> [(path: [UInt8], set: Int)] {
        plan.mappings.compactMap { mapping in
            guard case .run(let status?, _, _, _) = mapping.form,
                status.fieldNames == ["conversation_id"], let set = plan.setOfTopic[mapping.topic],
                let path = status.path(conversation: conversation.key)
            else { return nil }
            return (path, set)
        }
    }
}

extension Template {
    /// The path for a template whose only place is the conversation's id.
    fileprivate func path(conversation: [UInt8]) -> [UInt8]? {
        var path: [UInt8] = []
        for (index, segment) in segments.enumerated() {
            if index > 0 { path.append(UInt8(ascii: "/")) }
            for part in segment {
                switch part {
                case .literal(let bytes): path.append(contentsOf: bytes)
                case .place(.field): path.append(contentsOf: conversation)
                case .place: return nil
                }
            }
        }
        return path
    }
}
