internal import JSON

/// A set of partitions on its way from Kafka's word to reading (contract section 7): the fences are
/// raised first, and only after that watermarks and commits are read.
final class Assignment {
    let sources: [TopicPartition]
    let parts: [Part]
    var phase = Phase.examining
    /// When a failed or waiting claim begins anew, monotonic nanoseconds.
    var retryAt: Int64?
    /// What the database said when it refused a step of the claim, until it lets it pass.
    var refusal: String?
    /// Another group that was live when the fences were last read.
    var liveGroup: String?
    var watermarks: JSONTape?
    var positions: [TopicPartition: PartitionPositions]?
    var marks: [PendingRequest.Mark] = []
    var starts: [TopicPartition: Int64] = [:]
    var cluster: [UInt8]?
    /// Partitions of which Kafka has not told where they stand, as those without a leader: the
    /// others do not wait for them.
    var unknown: Set<TopicPartition> = []
    /// Its fences may be live in the tree.
    var hasRaised = false
    /// The fences are being read, after a time in which another group may have begun.
    var looksForRivals = false

    /// How far the claim is.
    enum Phase { case examining, raising, confirming, yielding, asking, marking, running }

    /// What a request of the claim is for.
    enum Step { case version, fences, raise, confirmation, yield, watermarks, marks }

    init(sources: [TopicPartition], parts: [Part]) {
        self.sources = sources
        self.parts = parts
    }

    var isRunning: Bool { phase == .running }
}

extension Bridge {
    /// An owner renews its fences so often, in nanoseconds.
    static let renewal: Int64 = 20_000_000_000
    private static let claimRetry = Duration.milliseconds(500)
    private static let liveGroupRetry = Duration.seconds(5)
    /// Kafka is asked so often for what it has not told of single partitions.
    private static let unknownRetry = Duration.seconds(5)

    /// Begins the claim of an assignment.
    func claim(_ sources: [TopicPartition], at now: Moment) {
        var parts: [Part] = []
        for source in sources.sorted() {
            guard let set = plan.setOfTopic[source.topic], !mismatched.contains(set),
                let mapping = mappings[source.topic]
            else { continue }
            let part: Part
            if let known = parts.first(where: { $0.set == set && $0.number == source.partition }) {
                part = known
            } else {
                part = Part(
                    set: set, setKey: plan.sets[set].key, number: source.partition,
                    lane: Int(source.partition) % settings.lanes, group: group,
                    conversationsMax: settings.conversationsMax, watchesStalls: watchesStalls,
                    eraseMarks: plan.sets[set].stream == nil ? .unread : .perConversation)
                parts.append(part)
            }
            let partition = PartitionState(
                source: source, mapping: mapping, part: part, group: group)
            part.add(partition)
            partitions[source] = partition
        }
        let assignment = Assignment(sources: sources, parts: parts)
        self.assignment = assignment
        guard !parts.isEmpty else {
            assignment.phase = .running
            return
        }
        examine()
    }

    private func examine() {
        guard let assignment else { return }
        assignment.phase = .examining
        get(StateLayout.versionPath, for: .claim(.version))
    }

    func claimAnswered(_ step: Assignment.Step, _ outcome: Outcome, at now: Moment) {
        guard let assignment else { return }
        guard case .done(let body, let date) = outcome else {
            let fields = [("step", "\(step)"), ("reason", outcome.objection)]
            // Once is another owner's claim at the same time; twice is the database.
            if assignment.refusal == nil {
                notice(.warn, "claim_refused", fields)
            } else {
                notice(.error, "claim_refused", fields)
            }
            assignment.refusal = outcome.objection
            assignment.retryAt = now.after(Self.claimRetry)
            return
        }
        switch step {
        case .version: check(version: tape(of: body), at: now)
        case .fences: raise(over: tape(of: body), date: date, at: now)
        case .raise:
            assignment.refusal = nil
            assignment.phase = .confirming
            get(StateLayout.fences, for: .claim(.confirmation))
        case .confirmation: confirm(by: tape(of: body), date: date, at: now)
        case .yield:
            assignment.hasRaised = false
            guard !isReplay else { return giveUp() }
            // Of two groups that yield to one another, one comes back first.
            let spread = Duration.milliseconds(Int64(FNV1a.hash(owner) % 4096))
            assignment.retryAt = now.after(Self.liveGroupRetry + spread)
        case .watermarks:
            assignment.watermarks = tape(of: body)
            decideIfKnown(at: now)
        case .marks: begin(at: now)
        }
    }

    private func check(version: JSONTape, at now: Moment) {
        if let found = version.int64(0), found > StateLayout.version {
            notice(
                .error, "state_too_new",
                [("expected", "\(StateLayout.version)"), ("found", "\(found)")])
            guard !isReplay else {
                refusal = "_firebridge/version is \(found): a newer firebridge wrote this state"
                return giveUp()
            }
            assignment?.retryAt = now.after(settings.retryMax)
            return
        }
        if flaw == .readsWatermarkEarly {
            assignment?.watermarks = nil
            get(StateLayout.watermarks(group: group), for: .claim(.watermarks))
        }
        get(StateLayout.fences, for: .claim(.fences))
    }

    /// Whether another group is live; says so once.
    private func isOccupied(_ fences: JSONTape, date: Int64?, at now: Moment) -> Bool {
        guard let assignment else { return true }
        let lives = LiveFence(in: fences, date: date ?? now.wall) { group, fence in
            // A group never waits for itself; a replay waits for every bridge but its own claim.
            isReplay ? fence.owner == owner : group == self.group
        }
        guard let lives else {
            assignment.liveGroup = nil
            return false
        }
        let live = lives.group
        refusal = isReplay ? lives.description : nil
        if assignment.liveGroup == nil {
            notice(.error, "another_group_is_live", [("group", live)])
        }
        assignment.liveGroup = live
        return true
    }

    /// The raise may have crossed another group's: of two, one sees the other. Nothing but the
    /// fence has been written yet.
    private func confirm(by fences: JSONTape, date: Int64?, at now: Moment) {
        guard let assignment else { return }
        guard isOccupied(fences, date: date, at: now) else {
            assignment.phase = .asking
            assignment.positions = nil
            if flaw != .readsWatermarkEarly {
                assignment.watermarks = nil
                get(StateLayout.watermarks(group: group), for: .claim(.watermarks))
            }
            askPositions(of: assignment)
            return
        }
        assignment.phase = .yielding
        patch(farewellBody(of: assignment.parts), for: .claim(.yield))
    }

    private func askPositions(of assignment: Assignment) {
        serials.question += 1
        let wanted = assignment.sources.filter {
            partitions[$0] != nil && (!assignment.isRunning || assignment.unknown.contains($0))
        }
        effects.append(.askPositions(wanted, serial: serials.question))
    }

    private func raise(over fences: JSONTape, date: Int64?, at now: Moment) {
        guard let assignment else { return }
        guard !isOccupied(fences, date: date, at: now) else {
            guard !isReplay else { return giveUp() }
            assignment.retryAt = now.after(Self.liveGroupRetry)
            return
        }
        let own = fences.child(group, of: 0)
        var body = ObjectWriter()
        body.add(anyName: StateLayout.versionPath, Array("\(StateLayout.version)".utf8))
        for part in assignment.parts {
            let number = Array("\(part.number)".utf8)
            let held = own.flatMap { fences.child(part.setKey, of: $0) }
                .flatMap { fences.child(number, of: $0) }.flatMap { Fence(reading: fences, $0) }
            part.epoch = max(held?.epoch ?? 0, part.epoch) + 1
            part.serial = 0
            part.fencedAt = now.monotonic
            body.add(
                anyName: part.fencePath, Fence.json(epoch: part.epoch, owner: owner, serial: 0))
        }
        assignment.phase = .raising
        assignment.hasRaised = true
        patch(body.finish(), for: .claim(.raise))
    }

    /// A replay ends where a bridge is at work.
    private func giveUp() {
        forgetAll()
        drain = nil
        effects.append(.finished(undelivered: 0))
    }

    func claimKnows(_ known: [TopicPartition: PartitionPositions], at now: Moment) {
        guard let assignment else { return }
        if assignment.isRunning { return join(known, at: now) }
        guard assignment.phase == .asking else { return }
        let wanted = assignment.sources.filter { partitions[$0] != nil }
        assignment.unknown = Set(wanted.filter { known[$0] == nil })
        // A replay has one range for all of them.
        let most = isReplay ? 0 : wanted.count - 1
        guard assignment.unknown.count <= most else {
            assignment.retryAt = now.after(Self.claimRetry)
            return
        }
        assignment.retryAt = nil
        assignment.positions = known
        decideIfKnown(at: now)
    }

    /// Kafka tells at last of partitions that the others did not wait for. Where a watermark must be
    /// written before they are read, the assignment is claimed anew.
    private func join(_ known: [TopicPartition: PartitionPositions], at now: Moment) {
        guard let assignment, drain == nil, let watermarks = assignment.watermarks else { return }
        let told = assignment.unknown.sorted().compactMap { source in
            known[source].flatMap { known in partitions[source].map { ($0, known) } }
        }
        let mustClaim = told.contains { partition, known in
            resumePoint(of: partition, known, watermarks).setsWatermark
        }
        if mustClaim { return assign(assignment.sources, at: now) }
        assignment.starts = [:]
        for (partition, known) in told {
            assignment.unknown.remove(partition.source)
            decide(partition, known, watermarks, assignment)
        }
        begin(at: now)
    }

    private func decideIfKnown(at now: Moment) {
        guard let assignment, assignment.phase == .asking, let watermarks = assignment.watermarks,
            let positions = assignment.positions
        else { return }
        assignment.marks = []
        assignment.starts = [:]
        for part in assignment.parts {
            for partition in part.partitions {
                // What an earlier try at this claim has decided counts no more.
                partition.halt = nil
                partition.awaitsCommit = false
                guard let known = positions[partition.source] else { continue }
                decide(partition, known, watermarks, assignment)
            }
        }
        guard !assignment.marks.isEmpty else { return begin(at: now) }
        var body = ObjectWriter()
        for part in assignment.parts {
            body.add(anyName: part.fencePath, nextFence(of: part))
        }
        for mark in assignment.marks {
            body.add(
                anyName: mark.partition.watermarkPath,
                Watermark(next: mark.next, cluster: assignment.cluster).json)
        }
        assignment.phase = .marking
        patch(body.finish(), for: .claim(.marks))
    }

    private func decide(
        _ partition: PartitionState, _ known: PartitionPositions, _ watermarks: JSONTape,
        _ assignment: Assignment
    ) {
        assignment.cluster = known.clusterID.map { Array($0.utf8) } ?? assignment.cluster
        let source = partition.source
        guard !isReplay else {
            let offset = max(known.low, known.atStartTime ?? known.high)
            partition.offsets = OffsetLedger(resumingAt: offset)
            assignment.starts[source] = offset
            return
        }
        let point = resumePoint(of: partition, known, watermarks)
        for notice in point.notices { effects.append(.notice(notice)) }
        if point.isGap { counters.logGaps[source.topic, default: 0] += 1 }
        guard let offset = point.offset else {
            partition.halt = point.halt
            partition.offsets = OffsetLedger(resumingAt: point.standsAt)
            return
        }
        partition.offsets = OffsetLedger(resumingAt: offset)
        assignment.starts[source] = offset
        if point.setsWatermark {
            assignment.marks.append(.init(partition: partition, next: offset))
        }
        partition.awaitsCommit = point.commits
    }

    private func resumePoint(
        of partition: PartitionState, _ known: PartitionPositions, _ watermarks: JSONTape
    ) -> ResumePoint {
        let source = partition.source
        let watermark = watermarks.child(Key.escape(Array(source.topic.utf8)), of: 0)
            .flatMap { watermarks.child(Array("\(source.partition)".utf8), of: $0) }
            .flatMap { Watermark(reading: watermarks, $0) }
        return ResumePoint(of: source, known: known, watermark: watermark, settings: settings)
    }

    /// The claim is made; what must be committed before it is read follows by itself.
    private func begin(at now: Moment) {
        guard let assignment else { return }
        assignment.phase = .running
        assignment.retryAt = assignment.unknown.isEmpty ? nil : now.after(Self.unknownRetry)
        read(assignment.starts.filter { partitions[$0.key]?.awaitsCommit == false })
    }

    /// Reads partitions whose place in the log is settled in the tree and in Kafka.
    func read(_ starts: [TopicPartition: Int64]) {
        guard !starts.isEmpty else { return }
        for source in starts.keys { partitions[source]?.isRunning = true }
        effects.append(.read(starts))
        let names = starts.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value)" }
        notice(.info, "reading", [("from", names.joined(separator: " "))])
    }

    /// Takes up a claim whose wait is over.
    func advanceClaim(at now: Moment) {
        guard let assignment, let retryAt = assignment.retryAt, retryAt <= now.monotonic else {
            return
        }
        assignment.retryAt = nil
        switch assignment.phase {
        case .asking, .running: askPositions(of: assignment)
        default: examine()
        }
    }

    // MARK: Other groups

    /// What the lane had on the wire has renewed the fences of its first batch. After a minute
    /// without, another group may have taken us for dead: who finds one gives way, as in a claim.
    func renewed(by lane: Int, at now: Moment) {
        var longest: Int64 = 0
        for part in lanes[lane].batches[0].parts {
            longest = max(longest, now.monotonic - part.fencedAt)
            part.fencedAt = lanes[lane].sentAt
        }
        guard let assignment, !assignment.looksForRivals,
            longest >= LiveFence.milliseconds * 1_000_000
        else { return }
        assignment.looksForRivals = true
        get(StateLayout.fences, for: .rivals)
    }

    func rivalsRead(_ fences: JSONTape, date: Int64?, at now: Moment) {
        guard let assignment, assignment.isRunning else { return }
        assignment.looksForRivals = false
        guard isOccupied(fences, date: date, at: now) else { return }
        giveWay(at: now)
    }

    /// Another owner holds the fence: forget everything and be assigned anew.
    func reclaim(at now: Moment) {
        guard assignment != nil else { return }
        counters.fenced += 1
        notice(.warn, "fence_lost", [])
        if isReplay {
            refusal = "another owner has taken the fence: a bridge was started meanwhile"
        }
        giveWay(at: now)
    }

    private func giveWay(at now: Moment) {
        guard let sources = assignment?.sources else { return }
        let undelivered = undeliveredCount
        forgetAll()
        guard !isReplay else {
            drain = nil
            return effects.append(.finished(undelivered: undelivered))
        }
        guard let drain else { return claim(sources, at: now) }
        self.drain = nil
        effects.append(drain.isStop ? .finished(undelivered: undelivered) : .release)
    }
}
