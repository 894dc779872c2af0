internal import JSON

/// The core: events go in by method, effects come out of `nextEffect`. It reads no clock, opens no
/// socket and draws no random number, so a seed replays a world (docs/ARCHITECTURE.md).
///
/// The shell's part: after every call, and when `nextDeadline` has come, it takes effects until
/// there is none, does each, and answers by the method named at the effect. Not to be shared
/// between threads.
public final class Bridge {
    /// The metadata of the bridge's own commits: any other commit is an operator's word.
    public static let commitMark = commitMarkPrefix + "1"
    static let commitMarkPrefix = "firebridge/"

    let plan: MirrorPlan
    let settings: Settings
    let owner: [UInt8]
    let group: [UInt8]
    /// Running partitions whose next record is not in the log any more, and when they may be
    /// claimed anew.
    private var overtaken: Set<TopicPartition> = []
    private var overtakenNext: Int64 = 0
    let flaw: Flaw?
    let retry: RetryPolicy
    /// It mirrors a range once more, and is nobody's progress.
    let isReplay: Bool
    let mappings: [String: CompiledMapping]

    var interpreter = Interpreter()
    let parser = JSONParser()
    var lanes: [Lane]
    var assignment: Assignment?
    var partitions: [TopicPartition: PartitionState] = [:]
    var requests: [Int: PendingRequest] = [:]
    var outbox = Outbox()
    var effects = Deque<Effect>()
    var deadLetters: [Int: PendingDeadLetter] = [:]
    var breaker = Breaker()
    var drain: Drain?
    var commit = CommitState()
    /// Bytes of records that are read and not settled, those of pending dead letters included.
    var inFlightBytes = 0
    /// Why reads fail, until one succeeds.
    var readError: String?
    var serials = Serials()
    /// Sets whose topics do not have the same number of partitions.
    var mismatched: Set<Int> = []
    /// Why a replay was given up: a bridge is live, or has taken the fences. Nil otherwise.
    public internal(set) var refusal: String?
    /// Of a replay: the records that the database will not have, by offset.
    public internal(set) var refused: [TopicPartition: Set<Int64>] = [:]
    /// What the core has counted.
    public internal(set) var counters: Counters

    /// Numbers for what must be told apart.
    struct Serials {
        var request = 0
        var batch = 0
        var deadLetter = 0
        var commit = 0
        var question = 0
    }

    /// A stop or a revoke that waits for what was read.
    struct Drain {
        var deadline: Int64
        var isStop: Bool
        /// Records that were read and not delivered when their assignment was lost meanwhile.
        var lost = 0
        var farewell = Farewell.none
        enum Farewell { case none, sent, done }
    }

    /// Makes a core that is assigned nothing.
    ///
    /// - Parameter owner: tells this process from every other that may write, now or earlier.
    /// - Parameter counters: what an earlier core has counted: after a reload the counts go on.
    public init(
        plan: MirrorPlan, settings: Settings, owner: String, counters: Counters = Counters(),
        flaw: Flaw? = nil
    ) {
        self.counters = counters
        self.plan = plan
        self.settings = settings
        self.owner = Array(owner.utf8)
        self.flaw = flaw
        group = Key.escape(Array(settings.group.utf8))
        isReplay = settings.replay != nil
        retry = RetryPolicy(initial: settings.retryInitial, max: settings.retryMax)
        lanes = Array(repeating: Lane(settings: settings), count: settings.lanes)
        mappings = plan.compiled
    }

    /// Parts and partitions hold one another.
    deinit {
        for part in assignment?.parts ?? [] { part.dissolve() }
    }

    // MARK: Events in

    /// Kafka assigned these partitions, in place of any others.
    public func assign(_ sources: [TopicPartition], at now: Moment) {
        forgetAll()
        drain = drain?.isStop == true ? drain : nil
        claim(sources, at: now)
    }

    /// Kafka takes all partitions away: what was read is delivered first, within the drain limit.
    public func revoke(at now: Moment) {
        if drain?.isStop != true {
            drain = Drain(deadline: now.after(settings.drain), isStop: false)
        }
        abandonClaim(at: now)
    }

    /// The assignment is lost already: someone else may own the partitions.
    public func lose(at now: Moment) {
        drain?.lost += undeliveredCount
        forgetAll()
        if drain?.isStop != true { drain = nil }
    }

    /// Kafka has removed what a running partition was to read next. Once all of it that was read
    /// has settled, the assignment is claimed anew, and `Settings.onGap` decides.
    public func logMoved(of source: TopicPartition) {
        guard partitions[source]?.isRunning == true else { return }
        overtaken.insert(source)
    }

    /// Deliver what was read, then finish.
    public func stop(at now: Moment) {
        guard drain?.isStop != true else { return }
        drain = Drain(deadline: now.after(settings.drain), isStop: true)
        abandonClaim(at: now)
    }

    /// How many bytes of records the core would take of this partition; none at 0 or less.
    public func room(for source: TopicPartition) -> Int {
        guard drain == nil, let partition = partitions[source], partition.isRunning,
            partition.halt == nil
        else { return 0 }
        return settings.inFlightBytesMax - inFlightBytes
    }

    /// Takes records of a partition, in order. Offsets may skip: Kafka has gaps of its own.
    public func consume(_ records: [Record], from source: TopicPartition, at now: Moment) {
        guard let partition = partitions[source], partition.isRunning else { return }
        counters.consumed[source.topic, default: 0] += records.count
        for record in records where partition.halt == nil {
            guard partition.offsets.expects(record.offset) else { continue }
            partition.offsets.read(record.offset)
            inFlightBytes += record.size
            let queued = QueuedRecord(
                record: record, content: interpret(record, of: partition),
                readAt: now.monotonic)
            if partition.queue.isEmpty, plan(queued, of: partition, at: now) { continue }
            partition.queue.append(queued)
            if case .facts(let facts) = queued.content { _ = readiness(facts, in: partition.part) }
        }
    }

    /// What a request of `Effect.request` came to.
    public func settle(_ id: Int, _ outcome: Outcome, at now: Moment, jitter: Double) {
        guard let request = requests[id], request.isInFlight else { return }
        outbox.returned(request)
        if request.isLeftBehind {
            guard case .done = outcome else {
                requests[id] = nil
                return
            }
        }
        switch outcome {
        case .done(let body, _) where request.isRead && (try? parser.parse(body)) == nil:
            // Taken for an empty node, a stream would begin anew and a status fall back.
            again(request, "unavailable", Outcome.withoutJSON, nil, at: now, jitter: jitter)
        case .unavailable(let reason, let retryAfter):
            again(request, "unavailable", reason, retryAfter, at: now, jitter: jitter)
        case .unanswered(let reason, let retryAfter):
            again(
                request, "unavailable", reason, retryAfter, at: now, jitter: jitter,
                isUnanswered: true)
        case .unauthorized(let reason):
            again(request, "auth", reason, nil, at: now, jitter: jitter)
        case .refused(_, let reason) where request.needsAnswer,
            .tooBig(let reason) where request.needsAnswer:
            notice(.error, "read_refused", [("reason", reason)])
            again(request, "refused_read", reason, nil, at: now, jitter: jitter)
        case .done, .refused, .tooBig:
            breaker.succeed()
            if request.isRead { readError = nil }
            requests[id] = nil
            handle(request, outcome, at: now)
        }
    }

    /// What Kafka knows of the partitions of `Effect.askPositions`; those that are not among them
    /// are asked for again. An answer to an earlier question is passed over: meanwhile another
    /// member may have gone on.
    public func positions(
        _ known: [TopicPartition: PartitionPositions], serial: Int, at now: Moment
    ) {
        guard serial == serials.question else { return }
        claimKnows(known, at: now)
    }

    /// The commit of `Effect.commit` was acknowledged, or failed; where partitions of it fared
    /// differently, this is called once for each way. One of an earlier claim is passed over.
    public func committed(
        _ offsets: [TopicPartition: Int64], serial: Int, failed: String?, at now: Moment
    ) {
        guard serial == serials.commit else { return }
        commit.isInFlight = false
        if failed != nil {
            commit.failed = serial
        } else if commit.failed != serial {
            commit.failed = nil
        }
        commit.dueAt = max(commit.dueAt, now.monotonic + (failed == nil ? 0 : Self.commitInterval))
        if let failed {
            notice(.warn, "commit_failed", [("reason", failed)])
        } else {
            var starts: [TopicPartition: Int64] = [:]
            for (source, offset) in offsets {
                guard let partition = partitions[source] else { continue }
                partition.offsets.commit(offset)
                guard partition.awaitsCommit else { continue }
                partition.awaitsCommit = false
                starts[source] = offset
            }
            if drain == nil { read(starts) }
        }
    }

    /// A dead letter was acknowledged by Kafka, or failed and is sent again.
    public func deadLettered(_ id: Int, failed: String?, at now: Moment) {
        guard let pending = deadLetters[id] else { return }
        if let failed {
            notice(
                .error, "dead_letter_failed",
                [("partition", "\(pending.letter.source)"), ("reason", failed)])
            deadLetters[id]?.attempt += 1
            deadLetters[id]?.failure = failed
            deadLetters[id]?.retryAt = now.after(
                retry.delay(afterAttempt: pending.attempt, jitter: 0.5))
            return
        }
        deadLetters[id] = nil
        inFlightBytes -= pending.letter.record.size
        counters.deadLetters[pending.letter.rejection.reason.rawValue, default: 0] += 1
        pending.partition.offsets.release(pending.letter.record.offset)
    }

    /// How many partitions each topic has. A set whose topics differ is not consumed.
    public func topology(_ counts: [String: Int], at now: Moment) {
        let before = mismatched
        mismatched = []
        for (index, set) in plan.sets.enumerated() {
            if Set(set.topics.compactMap { counts[$0] }).count > 1 { mismatched.insert(index) }
        }
        guard mismatched != before else { return }
        for index in mismatched.subtracting(before) {
            let found = plan.sets[index].topics.map { "\($0)=\(counts[$0] ?? 0)" }
            notice(
                .error, "partition_counts_differ", [("topics", found.joined(separator: " "))])
        }
        if let assignment, drain == nil { assign(assignment.sources, at: now) }
    }

    // MARK: Effects out

    /// The next thing to do, nil when there is none for now.
    public func nextEffect(at now: Moment) -> Effect? {
        if let effect = effects.popFirst() { return effect }
        advance(at: now)
        return effects.popFirst()
    }

    /// When `nextEffect` may have something without a new event, in monotonic nanoseconds.
    public var nextDeadline: Int64? {
        var deadline: Int64?
        func consider(_ time: Int64?) {
            guard let time else { return }
            deadline = min(deadline ?? time, time)
        }
        consider(outbox.nextRetry)
        if outbox.hasReady { consider(breaker.nextProbe) }
        consider(drain?.deadline)
        consider(assignment?.retryAt)
        if assignment?.isRunning == true { consider(nextAgendaPage) }
        for lane in lanes {
            if case .waiting(let until) = lane.wire { consider(until) }
            if lane.isAtRest, let since = lane.behindSince { consider(since + Self.behindDelay) }
        }
        if assignment?.isRunning == true {
            // What a busy lane carries along anyway needs no waking.
            for part in assignment!.parts where lanes[part.lane].isAtRest {
                consider(part.fencedAt + Self.renewal)
            }
            if !commit.isInFlight, needsCommit { consider(commit.dueAt) }
        }
        for pending in deadLetters.values { consider(pending.retryAt) }
        consider(overtakenDue)
        return deadline
    }

    /// When an overtaken partition, all of which has settled, is claimed anew: not often, lest a
    /// log that goes on moving keep the others from being read.
    private var overtakenDue: Int64? {
        guard !overtaken.isEmpty, drain == nil, assignment?.isRunning == true,
            overtaken.contains(where: { source in
                guard let partition = partitions[source] else { return false }
                return partition.queue.isEmpty && partition.offsets.isTold
            })
        else { return nil }
        return overtakenNext
    }

    private static let overtakenWait = Duration.seconds(5)

    /// Does what time and earlier events have made due.
    private func advance(at now: Moment) {
        if !deadLetters.isEmpty { sendDeadLettersAgain(at: now) }
        advanceClaim(at: now)
        if let due = overtakenDue, due <= now.monotonic, let assignment {
            overtakenNext = now.after(Self.overtakenWait)
            assign(assignment.sources, at: now)
        }
        if assignment?.isRunning == true {
            // What settles without a write may let more be planned.
            var settled = true
            while settled {
                settled = false
                planQueues(at: now)
                for lane in lanes.indices where pump(lane, at: now) { settled = true }
            }
            commitWhatIsDue(at: now)
        }
        if drain != nil { advanceDrain(at: now) }
        for id in outbox.due(at: now.monotonic, breaker: &breaker) { emit(id) }
    }

    private func sendDeadLettersAgain(at now: Moment) {
        let due = deadLetters.values.filter { ($0.retryAt ?? .max) <= now.monotonic }
        for pending in due.sorted(by: { $0.letter.id < $1.letter.id }) {
            deadLetters[pending.letter.id]?.retryAt = nil
            effects.append(.deadLetter(pending.letter))
        }
    }

    func notice(_ level: Notice.Level, _ event: String, _ fields: [(name: String, value: String)]) {
        effects.append(.notice(Notice(level, event, fields)))
    }

    // MARK: Forgetting

    /// Start-up, a lost assignment and a lost fence are one: everything is forgotten.
    func forgetAll() {
        // What was decided and not yet done is void; what was said stands.
        effects.keep { effect in
            if case .notice = effect { true } else { false }
        }
        for part in assignment?.parts ?? [] { part.dissolve() }
        assignment = nil
        overtaken = []
        partitions = [:]
        requests = flaw == .takesLateAnswers ? requests.compactMapValues(\.leftBehind) : [:]
        outbox.removeAll()
        deadLetters = [:]
        lanes = Array(repeating: Lane(settings: settings), count: settings.lanes)
        commit = CommitState()
        // What is still under way answers to nobody.
        serials.commit += 1
        inFlightBytes = 0
        readError = nil
        breaker.forget()
    }

    /// A stop or a revoke that finds a claim under way has nothing to wait for; a stop clears the
    /// fences that it may have raised.
    private func abandonClaim(at now: Moment) {
        guard let assignment, !assignment.isRunning else { return }
        forgetAll()
        guard drain?.isStop == true, assignment.hasRaised else { return }
        // Without partitions nothing is left to it but the farewell.
        let leaving = Assignment(sources: [], parts: assignment.parts)
        for part in leaving.parts { part.fencedAt = now.monotonic }
        leaving.phase = .running
        self.assignment = leaving
    }

    private func advanceDrain(at now: Moment) {
        guard let drain else { return }
        let isOver = now.monotonic >= drain.deadline
        guard isOver || isDrained else { return }
        if drain.isStop, !isOver, !sayFarewell() { return }
        let undelivered = undeliveredCount + drain.lost
        forgetAll()
        self.drain = nil
        effects.append(drain.isStop ? .finished(undelivered: undelivered) : .release)
    }

    /// Everything that was read has settled and is committed, apart from what a partition that
    /// stands still has given up.
    private var isDrained: Bool {
        partitions.values.allSatisfy { $0.queue.isEmpty && isDelivered($0.offsets) }
            && lanes.allSatisfy { $0.isIdle && $0.batches.isEmpty }
    }

    /// What was read of a partition is settled, and told where it has to be.
    private func isDelivered(_ offsets: OffsetLedger) -> Bool {
        if isReplay { return offsets.isSettled }
        return commit.failed != nil ? offsets.isTold : offsets.isDone
    }

    /// Records that were read and are neither delivered nor rejected.
    var undeliveredCount: Int {
        var count = deadLetters.count
        for partition in partitions.values { count += partition.queue.count + partition.givenUp }
        for lane in lanes {
            for batch in lane.batches {
                count += batch.records.count { $0.partition != nil && !$0.isRejected }
            }
        }
        return count
    }
}

/// A record on its way to the dead-letter topic.
struct PendingDeadLetter {
    var letter: DeadLetter
    var partition: PartitionState
    /// When the record was read, monotonic nanoseconds.
    var readAt: Int64
    var attempt = 1
    /// Why the last attempt failed.
    var failure: String?
    /// Set after a failure: when it is sent again.
    var retryAt: Int64?
}
