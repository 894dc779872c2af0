internal import BridgeCore
internal import Configuration
internal import EventLoop
internal import HTTPClient
internal import TreeClient

/// A database that is asked until it answers, many requests at a time, as long as it answers
/// anything now and then.
final class PatientTree {
    private let http: HTTPClient
    private let tree: TreeClient
    private let patience: Duration
    private let signals: SignalDescriptor?
    private var lastID = 0
    /// Whether a signal has ended the waiting.
    private(set) var isInterrupted = false

    /// The most requests at once.
    private static let requestsMax = 32
    private static let pauseMax = Duration.seconds(2)

    /// - Parameter signals: what ends the waiting.
    init(_ configuration: Configuration, signals: SignalDescriptor? = nil) throws {
        self.signals = signals
        let database = try Database(configuration)
        http = database.http
        tree = database.tree
        patience = max(.seconds(30), configuration.delivery.requestTimeout * 3)
    }

    /// The outcomes, in order; those of failures that may pass where patience has ended.
    func ask(_ methods: [Request.Method]) -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: methods.count)
        var waiting = Array(methods.indices.reversed())
        var asked: [Int: Int] = [:]
        var pause = Duration.milliseconds(100)
        var deadline = Clock.monotonic() + patience.nanoseconds
        var retryAt: Int64 = 0
        while outcomes.contains(where: { $0 == nil }) {
            while asked.count < Self.requestsMax, retryAt <= Clock.monotonic(),
                let index = waiting.popLast()
            {
                lastID += 1
                asked[lastID] = index
                tree.send(methods[index], requestID: lastID, now: .now)
            }
            guard !turn(until: asked.isEmpty ? retryAt : nil) else {
                isInterrupted = true
                tree.cancelAll()
                return outcomes.map { $0 ?? .unavailable("stopped by a signal", retryAfter: nil) }
            }
            while let answer = tree.nextAnswer() {
                guard let index = asked.removeValue(forKey: answer.requestID) else { continue }
                switch answer.outcome {
                case .unavailable, .unanswered, .unauthorized:
                    guard Clock.monotonic() < deadline else {
                        outcomes[index] = answer.outcome
                        continue
                    }
                    waiting.append(index)
                    retryAt = Clock.monotonic() + pause.nanoseconds
                    pause = min(pause * 2, Self.pauseMax)
                case .done, .refused, .tooBig:
                    outcomes[index] = answer.outcome
                    pause = .milliseconds(100)
                    deadline = Clock.monotonic() + patience.nanoseconds
                }
            }
        }
        return outcomes.map { $0! }
    }

    /// Whether a signal came.
    private func turn(until time: Int64?) -> Bool {
        let due = [tree.deadline, time].compactMap { $0 }.min().map {
            Duration.nanoseconds(max(0, $0 - Clock.monotonic()))
        }
        _ = http.wait(for: signals.map { [$0.number] } ?? [], timeout: due)
        if signals?.next() != nil { return true }
        while let event = http.nextEvent() { tree.handle(event, now: .now) }
        tree.tick(now: .now)
        // What it says of tokens shows in the outcomes.
        while tree.nextNotice() != nil {}
        return false
    }
}

extension Moment {
    /// What this machine's clocks say.
    static var now: Moment {
        let (monotonic, wall) = Clock.now()
        return Moment(monotonic: monotonic, wall: wall)
    }
}
