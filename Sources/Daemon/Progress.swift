internal import BridgeCore

/// Whether both sides of a mirror still move: what a sign of life to a watchdog and `/healthz`
/// stand for.
///
/// A broker or database that fails is no reason to say no: then questions fail, in their time, and
/// that is an answer. Only a client that does not even fail in time is wedged.
struct Progress {
    /// Since when Kafka's client owes an answer, by the monotonic clock.
    private var owedSince: Int64?
    private let answerLimit: Duration
    private var lastTurn: Int64?
    /// The process was held up: what has come meanwhile is taken in first.
    private var mercyUntil = Int64.min

    /// How long past its own time limit a request may be.
    static let requestGrace = Duration.seconds(60)
    /// A loop that sleeps longer between two turns was stopped, or its machine was.
    static let turnMax = Duration.seconds(30)

    /// - Parameter topics: how many topics one question is about, each with a time limit of 10 s.
    init(topics: Int) { answerLimit = .seconds(60 + 10 * topics) }

    /// The loop begins another turn.
    mutating func turned(at now: Int64) {
        if wasHeldUp(now) { mercyUntil = now + Self.turnMax.nanoseconds }
        lastTurn = now
    }

    private func wasHeldUp(_ now: Int64) -> Bool {
        lastTurn.map { now - $0 > Self.turnMax.nanoseconds } ?? false
    }

    /// Kafka's client was asked something that it answers or refuses within its time.
    mutating func kafkaAsked(at now: Int64) { owedSince = owedSince ?? now }

    /// It has answered something: it moves.
    mutating func kafkaAnswered(owes: Bool, at now: Int64) { owedSince = owes ? now : nil }

    /// What does not move, nil where all does.
    ///
    /// - Parameter overdue: how long the oldest request to the database is past its time limit.
    func wedged(at now: Int64, overdue: Duration?) -> String? {
        if now < mercyUntil || wasHeldUp(now) { return nil }
        if let owedSince, .nanoseconds(now - owedSince) > answerLimit {
            return "Kafka's client has answered nothing for \(answerLimit.components.seconds) s"
        }
        if let overdue, overdue > Self.requestGrace {
            return "a request to the database is \(overdue.components.seconds) s past its time"
        }
        return nil
    }
}
