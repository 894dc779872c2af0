internal import BridgeCore
internal import EventLoop

/// Whether both sides of a mirror still move: what a sign of life to a watchdog and `/healthz`
/// stand for.
///
/// A broker or database that fails is no reason to say no: then questions fail, in their time, and
/// that is an answer. Only a client that does not even fail in time is wedged.
struct Progress {
    /// Since when Kafka's client owes an answer, by the monotonic clock.
    private var owedSince: Int64?
    private var answers = 0
    private var lastTurn: Int64?
    /// The process was held up: what has come meanwhile is taken in first.
    private var mercyUntil = Int64.min
    /// How long Kafka's client may answer nothing: a minute past the time limit of any question.
    private let answerLimit: Duration

    /// How long past its own time limit a request may be.
    static let requestGrace = Duration.seconds(60)
    /// A loop that sleeps longer between two turns was stopped, or its machine was.
    static let turnMax = Duration.seconds(30)

    init(answerLimit: Duration = .seconds(70)) { self.answerLimit = answerLimit }

    /// The loop begins another turn.
    mutating func turned(at now: Int64) {
        if wasHeldUp(now) { mercyUntil = now + Self.turnMax.nanoseconds }
        lastTurn = now
    }

    private func wasHeldUp(_ now: Int64) -> Bool {
        lastTurn.map { now - $0 > Self.turnMax.nanoseconds } ?? false
    }

    /// How many questions Kafka's client owes an answer to, and how many it has answered or refused
    /// since it was made: with each of them it moves.
    mutating func kafka(owes open: Int, answered: Int, at now: Int64) {
        if open == 0 {
            owedSince = nil
        } else if answered != answers || owedSince == nil {
            owedSince = now
        }
        answers = answered
    }

    /// What does not move, nil where all does.
    ///
    /// - Parameter overdue: how long the oldest request to the database is past its time limit.
    func wedged(at now: Int64, overdue: Duration?) -> String? {
        if now < mercyUntil || wasHeldUp(now) { return nil }
        if let owedSince, .nanoseconds(now - owedSince) > answerLimit {
            let limit = answerLimit.components.seconds
            return "Kafka's client has answered nothing for \(limit) s"
        }
        if let overdue, overdue > Self.requestGrace {
            return "a request to the database is \(overdue.components.seconds) s past its time"
        }
        return nil
    }
}

extension Progress {
    /// As patient as it should be; the tests make it less so.
    static func ofThisProcess() -> Progress {
        guard let text = Environment.value("FIREBRIDGE_TEST_ANSWER_LIMIT_MS"),
            let limit = Int(text)
        else { return Progress() }
        return Progress(answerLimit: .milliseconds(limit))
    }
}
