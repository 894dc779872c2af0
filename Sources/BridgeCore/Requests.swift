internal import JSON

/// A request and what its answer is for.
struct PendingRequest {
    var id: Int
    var method: Request.Method
    var purpose: Purpose
    var attempt = 0
    var isInFlight = false

    /// What an answer is for.
    enum Purpose {
        /// The first batch of a lane, and the watermarks that it carries.
        case batch(lane: Int, marks: [Mark])
        /// Fence and watermarks alone, before the lane's first batch goes again.
        case probe(lane: Int)
        /// Whether that batch has landed after all.
        case watermarkAfterProbe(lane: Int)
        case fencesAfterRefusal(lane: Int)
        case claim(Assignment.Step)
        case eraseMarks(Part)
        case listing(Part, Conversation)
        /// The erase mark of a listing that shows only that there is one.
        case eraseMark(Part, Conversation, sequences: Set<Int64>)
        case entry(Part, Conversation, Adoption)
        case meta(Part, Conversation, Adoption)
        case chunkIndexes(Part, Conversation, Adoption)
        case firstChunk(Conversation, Adoption)
        case status(Conversation, path: [UInt8])
        case guardValues(Conversation, path: [UInt8])
        case guardedNode(Conversation, path: [UInt8], [GuardValue])
        case agenda(Part)
        /// Whether another group is live.
        case rivals
        case farewell
    }

    /// A watermark on its way to the tree.
    struct Mark {
        var partition: PartitionState
        var next: Int64
    }

    /// Whether its assignment is gone (`Flaw.takesLateAnswers`).
    var isLeftBehind = false

    /// A batch on its way, as what an assignment that is gone leaves behind.
    var leftBehind: PendingRequest? {
        guard case .batch = purpose, isInFlight else { return nil }
        var copy = self
        copy.isLeftBehind = true
        return copy
    }

    var isRead: Bool {
        if case .patch = method { return false }
        return true
    }

    /// Whether it is asked again until there is an answer. A refusal is one where the question was
    /// who refuses.
    var needsAnswer: Bool {
        if case .fencesAfterRefusal = purpose { return false }
        return isRead
    }
}

/// Requests that are ready to go or wait for their next attempt.
struct Outbox {
    /// The most reads on the wire at once.
    static let readsMax = 32

    private var writes = Deque<Int>()
    private var reads = Deque<Int>()
    private var waiting: [(until: Int64, id: Int, isRead: Bool)] = []
    private var readsInFlight = 0

    var hasReady: Bool { !writes.isEmpty || (!reads.isEmpty && readsInFlight < Self.readsMax) }

    var nextRetry: Int64? { waiting.min { $0.until < $1.until }?.until }

    mutating func add(_ request: PendingRequest) {
        if request.isRead { reads.append(request.id) } else { writes.append(request.id) }
    }

    mutating func wait(_ request: PendingRequest, until: Int64) {
        waiting.append((until, request.id, request.isRead))
    }

    mutating func returned(_ request: PendingRequest) {
        if request.isRead { readsInFlight -= 1 }
    }

    mutating func removeAll() { self = Outbox() }

    /// The requests that may go now, writes first.
    mutating func due(at now: Int64, breaker: inout Breaker) -> [Int] {
        if !waiting.isEmpty {
            let ripe = waiting.filter { $0.until <= now }
            waiting.removeAll { $0.until <= now }
            for entry in ripe.sorted(by: { ($0.until, $0.id) < ($1.until, $1.id) }) {
                if entry.isRead { reads.append(entry.id) } else { writes.append(entry.id) }
            }
        }
        var ids: [Int] = []
        while let id = writes.first, breaker.admits(id, at: now) {
            _ = writes.popFirst()
            ids.append(id)
        }
        while readsInFlight < Self.readsMax, let id = reads.first, breaker.admits(id, at: now) {
            _ = reads.popFirst()
            readsInFlight += 1
            ids.append(id)
        }
        return ids
    }
}

extension Bridge {
    func get(_ path: [UInt8], shallow: Bool = false, for purpose: PendingRequest.Purpose) {
        send(.get(path: path, shallow: shallow), for: purpose)
    }

    func list(
        _ path: [UInt8], from: [UInt8]? = nil, through: [UInt8]? = nil, limit: Int,
        for purpose: PendingRequest.Purpose
    ) {
        send(.list(path: path, from: from, through: through, limit: limit), for: purpose)
    }

    /// - Parameter failures: how many attempts at the same thing have failed, for the next wait.
    func patch(_ body: [UInt8], for purpose: PendingRequest.Purpose, failures: Int = 0) {
        send(.patch(body), for: purpose, failures: failures)
    }

    private func send(
        _ method: Request.Method, for purpose: PendingRequest.Purpose, failures: Int = 0
    ) {
        serials.request += 1
        let request = PendingRequest(
            id: serials.request, method: method, purpose: purpose, attempt: failures)
        requests[request.id] = request
        outbox.add(request)
    }

    /// Hands a request out; forgotten ones are passed over.
    func emit(_ id: Int) {
        guard var request = requests[id] else { return }
        if breaker.isProbe(id), let small = replaceByProbe(request) {
            breaker.replaceProbe(with: small.id)
            request = small
        }
        request.attempt += 1
        request.isInFlight = true
        requests[request.id] = request
        if case .patch(let body) = request.method {
            counters.bytesSent += body.count
            counters.patchesSent += 1
        }
        effects.append(
            .request(Request(id: request.id, method: request.method, attempt: request.attempt)))
    }

    /// The same request again, after its wait.
    func again(
        _ request: PendingRequest, _ kind: String, _ reason: String, _ retryAfter: Duration?,
        at now: Moment, jitter: Double, isUnanswered: Bool = false
    ) {
        counters.retries[kind, default: 0] += 1
        let delay = retry.delay(
            afterAttempt: request.attempt, jitter: jitter, retryAfter: retryAfter)
        let until = now.after(delay)
        breaker.fail(request.id, until: until)
        requests[request.id]?.isInFlight = false
        switch request.purpose {
        case .batch(let lane, let marks):
            lanes[lane].lastError = reason
            lanes[lane].inDoubt = marks
            lanes[lane].failures = request.attempt
            if isUnanswered { lanes[lane].unanswered += 1 }
        case .probe(let lane): lanes[lane].lastError = reason
        default: break
        }
        let next = isUnanswered ? replaceByProbe(request) ?? request : request
        outbox.wait(next, until: until)
        if request.isRead { readError = reason }
        notice(
            .warn, "request_failed",
            [
                ("class", kind), ("reason", reason), ("attempt", "\(request.attempt)"),
                ("retry_in", "\(delay.milliseconds)ms"),
            ])
    }

    /// Hands an answer to whoever asked.
    func handle(_ request: PendingRequest, _ outcome: Outcome, at now: Moment) {
        switch request.purpose {
        case .batch(let lane, let marks): batchAnswered(lane, marks, outcome, at: now)
        case .probe(let lane):
            probeAnswered(lane, outcome, attempt: request.attempt, at: now)
        case .watermarkAfterProbe(let lane): watermarkAnswered(lane, outcome, at: now)
        case .fencesAfterRefusal(let lane): fencesAnswered(lane, outcome, at: now)
        case .claim(let step): claimAnswered(step, outcome, at: now)
        case .rivals:
            guard case .done(let body, let date) = outcome else { return }
            rivalsRead(tape(of: body), date: date, at: now)
        case .farewell: drain?.farewell = .done
        default:
            guard case .done(let body, _) = outcome else { return }
            readAnswered(request.purpose, tape(of: body), at: now)
        }
    }

    /// A GET's answer as a tape; `settle` lets none pass that is no JSON.
    func tape(of body: [UInt8]) -> JSONTape { (try? parser.parse(body)) ?? .null }
}
