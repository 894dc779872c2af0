internal import BridgeCore
internal import Configuration
internal import EventLoop
internal import Kafka
internal import Telemetry

/// Why a one-shot command did not do what it was asked for.
public struct OneShotFailure: Error, Sendable, CustomStringConvertible {
    /// How the process should exit (contract section 4).
    public enum Kind: Sendable {
        /// The command line cannot be meant so.
        case usage
        /// A service was unreachable, or a bridge is live.
        case unreachable
        /// It was stopped before it was done.
        case undelivered
        /// The configuration cannot be used.
        case configuration
    }

    /// How the process should exit.
    public var kind: Kind
    /// What is wrong, and what to do.
    public var description: String

    /// Makes a failure.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// How far a one-shot command is, for whoever waits for it.
public protocol OneShotProgress: AnyObject {
    /// So many of `total` are done.
    func show(_ what: String, _ done: Int64, of total: Int64)
    /// A line that stays.
    func say(_ line: String)
    /// Nothing more is shown.
    func end()
}

/// Questions to Kafka, each waited for.
struct KafkaQuestions {
    let consumer: Consumer
    /// What ends the waiting.
    let signals: SignalDescriptor
    /// How long nothing at all may be answered.
    var patience = Self.patience

    static let patience = Duration.seconds(30)

    /// How many partitions topics have; 0 where one does not exist.
    func partitions(of topics: [String]) throws(OneShotFailure) -> [String: Int] {
        try answer {
            consumer.askTopics(topics)
        } pick: {
            if case .topics(let counts) = $0 { counts } else { nil }
        }
    }

    /// What Kafka knows of partitions, and of the group's commits.
    func positions(
        of partitions: [TopicPartition], since time: Int64? = nil
    ) throws(OneShotFailure) -> [TopicPartition: PartitionPositions] {
        try answer {
            consumer.askPositions(partitions, startTime: time)
        } pick: {
            if case .positions(let known, _) = $0 { known } else { nil }
        }
    }

    /// Asks, and asks again after a failure that may pass. Partitions are asked about one after
    /// the other: thousands of them, far away, take long, and each answer is worth waiting on. Only
    /// what comes further than before counts, lest who fails at the same place each time go on for
    /// ever.
    private func answer<Answer>(
        _ ask: () -> Void, pick: (ConsumerEvent) -> Answer?
    ) throws(OneShotFailure) -> Answer {
        var deadline = Clock.monotonic() + patience.nanoseconds
        var complaint = "no answer"
        var askAt: Int64? = 0
        var answeredBefore = consumer.answeredQuestions
        var furthest = 0
        while Clock.monotonic() < deadline {
            if let at = askAt, at <= Clock.monotonic() {
                askAt = nil
                ask()
            }
            _ = Poll.wait(
                for: [consumer.descriptor, signals.number], timeout: .milliseconds(100))
            guard signals.next() == nil else {
                throw OneShotFailure(.undelivered, "stopped before anything was done")
            }
            consumer.drainDescriptor()
            while let event = consumer.nextEvent() {
                if let answer = pick(event) { return answer }
                switch event {
                case .positionsFailed(_, _, let error), .topicsFailed(let error):
                    complaint = error.description
                    askAt = Clock.monotonic() + 500_000_000
                    answeredBefore = consumer.answeredQuestions
                case .error(let error):
                    complaint = error.description
                    if error.action == .fatal { throw Self.failure(complaint) }
                default: continue
                }
            }
            if consumer.answeredQuestions - answeredBefore > furthest {
                furthest = consumer.answeredQuestions - answeredBefore
                deadline = Clock.monotonic() + patience.nanoseconds
            }
        }
        throw Self.failure(complaint)
    }

    static func failure(_ text: String) -> OneShotFailure {
        OneShotFailure(.unreachable, "Kafka: \(text)")
    }
}

/// How long a one-shot command waits without getting any further.
struct Patience {
    private let limit: Duration
    private var last: Int64 = -1
    private var since = Clock.monotonic()

    init(_ configuration: Configuration) {
        limit = max(.seconds(30), configuration.delivery.requestTimeout * 3)
    }

    /// Whether it has been there for too long.
    mutating func hasEnded(at count: Int64) -> Bool {
        let now = Clock.monotonic()
        if count != last {
            last = count
            since = now
        }
        return now - since >= limit.nanoseconds
    }
}

/// SIGTERM and SIGINT to a one-shot command: the first lets it finish what is under way, the second
/// ends it as it stands, which loses nothing.
struct Interruption {
    let signals: SignalDescriptor
    private(set) var hasCome = false

    init() throws { signals = try SignalDescriptor([.terminate, .interrupt]) }

    /// What is under way is the last: because of a signal, or of something as final.
    mutating func interrupt() { hasCome = true }

    /// Takes the signal that has come, if one has.
    mutating func take(_ log: Log) {
        guard let signal = signals.next() else { return }
        if hasCome { ThisProcess.exitNow(Daemon.Exit.undelivered.rawValue) }
        log.info("stopping", ["signal": .text("\(signal)")])
        hasCome = true
    }
}

extension KafkaError {
    /// Ends a one-shot command, or is told and may pass.
    func hear(_ log: Log) throws(OneShotFailure) {
        switch action {
        case .fatal, .haltPartition: throw KafkaQuestions.failure(description)
        case .alarm, .note, .awaitAssignment:
            log.warn("kafka_error", ["reason": .text(description)])
        }
    }
}
