internal import BridgeCore
internal import Oracle

/// What the network did to one attempt of a request.
private struct Fate {
    var arrives: Int64?
    var arrivesAgain: Int64?
    var answerIsLost: Bool
}

extension World {
    /// How long an instance waits for an answer.
    var requestTimeout: Int64 { ms(writesAreSlow ? 5_000 : 1_000) }

    /// Where the database is slow and a revoke waits for no answer, many writes of data are slow,
    /// and nothing else is: their answers come amid the next claim's work.
    var writesAreSlow: Bool { circumstances.slowAnswers && circumstances.isHasty }

    /// Sends one attempt of a request. It is answered exactly once, by the timeout at the latest;
    /// what is under way can arrive all the same.
    func send(_ request: Request, from instance: Instance) {
        let fate = fate(of: request)
        let sentInAge = age
        var isAnswered = false
        func answer(_ outcome: Outcome) {
            guard !isAnswered else { return }
            isAnswered = true
            instance.settle(request, outcome)
        }
        func arrive(answering: Bool) {
            // What was under way to a database that was set back since is gone.
            guard age == sentInAge else { return }
            let outcome = serve(request, from: instance)
            step(instance, "request arrived")
            guard answering, !fate.answerIsLost else { return }
            after(way + slowness(of: request)) { answer(outcome) }
        }
        if let time = fate.arrives { after(time) { arrive(answering: true) } }
        if let time = fate.arrivesAgain {
            count("doubled requests")
            after(time) { arrive(answering: false) }
        }
        after(requestTimeout) { answer(.unanswered("timed out", retryAfter: nil)) }
    }

    /// How long a request or an answer is on its way.
    private var way: Int64 { milliseconds(1, 100) / (circumstances.slowAnswers ? 10 : 1) }

    /// How much longer an answer takes where the database is slow; it still comes in time.
    private func slowness(of request: Request) -> Int64 {
        guard circumstances.slowAnswers, !isCalm, others.chance(writesAreSlow ? 0.4 : 0.1) else {
            return 0
        }
        guard writesAreSlow else { return ms(others.int(0..<900)) }
        guard case .patch(let body) = request.method, body.contains(Array("/meta".utf8)) else {
            return 0
        }
        return ms(others.int(0..<4_500))
    }

    private func fate(of request: Request) -> Fate {
        let time = way
        if let most = circumstances.slowBytes, case .patch(let body) = request.method,
            body.count > most
        {
            count("slow requests")
            let isLate = faults.hasFence && others.chance(0.3)
            let arrival = time + requestTimeout + ms(others.int(0..<5_000))
            return Fate(arrives: isLate ? arrival : nil, arrivesAgain: nil, answerIsLost: true)
        }
        guard !isCalm else { return Fate(arrives: time, arrivesAgain: nil, answerIsLost: false) }
        var fate = Fate(
            arrives: random.chance(faults.lostRequest) ? nil : time, arrivesAgain: nil,
            answerIsLost: random.chance(faults.lostAnswer))
        if random.chance(faults.lateRequest) {
            fate.arrives = time + requestTimeout + milliseconds(0, 5_000)
        }
        if case .patch = request.method, random.chance(faults.doubledRequest) {
            fate.arrivesAgain = time + milliseconds(0, 6_000)
        }
        return fate
    }

    /// The database's answer.
    private func serve(_ request: Request, from instance: Instance) -> Outcome {
        if now < downUntil { return .unavailable("HTTP 503", retryAfter: nil) }
        if !isCalm, random.chance(faults.unavailable) {
            return random.pick([
                .unavailable("HTTP 503", retryAfter: nil), .unauthorized("HTTP 401"),
                .unavailable("HTTP 429", retryAfter: .milliseconds(700)),
            ])
        }
        switch request.method {
        case .get(let path, let shallow):
            return .done(body: tree.get(path, shallow: shallow), date: httpDate)
        case .list(let path, let from, let through, let limit):
            let body = tree.list(path, from: from, through: through, limit: limit)
            return .done(body: body, date: httpDate)
        case .patch(let body):
            let outcome = patch(body, from: instance)
            log("\(instance.name) PATCH \(request.id) arrived: \(outcome.word)")
            return outcome
        }
    }

    /// The `Date` header: whole seconds.
    private var httpDate: Int64 { wall / 1_000 * 1_000 }

    private func patch(_ body: [UInt8], from instance: Instance) -> Outcome {
        count("patches")
        let writes: [TreeWrite]
        do { writes = try tree.writes(of: body, time: wall) } catch {
            fail("protocol breach", "\(instance.name): \(error.message)")
            return .refused(status: 400, error.message)
        }
        if body.count > shape.patchBytesMax { return .tooBig("HTTP 400: too big") }
        if now < refusingUntil { return .refused(status: 403, "HTTP 403: everything is refused") }
        if body.contains(poison) {
            count("poison refused")
            return .refused(status: 400, "HTTP 400: poison")
        }
        if faults.hasFence, tree.isFenced(writes) {
            count("fenced")
            return .refused(status: 401, "Permission denied")
        }
        let before = tree.root
        tree.apply(writes)
        watcher.observe(writes, from: instance, before: before, in: self)
        return .done(body: [], date: httpDate)
    }
}

extension [UInt8] {
    /// Whether these bytes stand somewhere in it.
    func contains(_ needle: [UInt8]) -> Bool {
        guard count >= needle.count else { return false }
        for start in 0...count - needle.count
        where self[start] == needle[0] && self[start..<start + needle.count].elementsEqual(needle) {
            return true
        }
        return false
    }
}

extension Outcome {
    var word: String {
        switch self {
        case .done: "done"
        case .unauthorized(let text), .unavailable(let text, _), .unanswered(let text, _),
            .tooBig(let text),
            .refused(_, let text):
            text
        }
    }
}
