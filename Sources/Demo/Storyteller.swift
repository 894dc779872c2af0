internal import EventLoop
internal import Kafka
internal import Oracle

/// Produces the recorded conversations at their own pace.
final class Storyteller {
    /// When the first record was due, by the monotonic clock.
    let beginning: Int64
    /// How many records were produced.
    private(set) var records = 0
    /// Of how many conversations.
    private(set) var conversations = 0
    /// What the broker refused for good.
    private(set) var refusal: String?

    private let recording: Recording
    /// When the playback began, in milliseconds since 1970.
    private let beginningWall: Int64
    private let origin: Playback
    private var playback: Playback
    private let producer: Producer
    /// What is being told once more, the latest begun last.
    private var retellings: [Retelling] = []
    private var retellingsBegun = 0
    /// The records that were told once more, with how many had been produced before each.
    private var retold: [(position: Int, record: LogRecord)] = []
    /// By conversation: which retelling is its latest.
    private var latest: [[UInt8]: Int] = [:]

    /// Where the producer's queue is full: when to try again, in nanoseconds.
    private static let pause: Int64 = 10_000_000

    /// Begins now.
    init(_ producer: Producer, _ recording: Recording) {
        self.producer = producer
        self.recording = recording
        let now = Clock.now()
        beginning = now.monotonic
        beginningWall = now.wall
        origin = Playback(recording, beginning: now.wall)
        playback = origin
    }

    /// A producer for it. It finds its way to the broker meanwhile, so that the first record does
    /// not wait: make it early.
    static func producer(broker: String) throws(DemoFailure) -> Producer {
        do throws(KafkaError) {
            let producer = try Producer(
                brokers: [broker], properties: [("linger.ms", "0")], clientID: "firebridge-demo")
            producer.prepare(topics: DemoBroker.mirrored)
            return producer
        } catch {
            throw DemoFailure(.wrong, "cannot make a producer: \(error)")
        }
    }

    /// Readable when there is news from the broker.
    var descriptor: Int32 { producer.descriptor }

    /// Produces what is due.
    ///
    /// - Parameter told: is given the place of each chunk that goes out and that readers will see:
    ///   not those of a run that has been superseded.
    /// - Returns: when the next record is due, by the monotonic clock.
    func tell(until now: Int64, _ told: ([UInt8]) -> Void) -> Int64 {
        while true {
            let retelling = retellings.indices.min { retellings[$0].due < retellings[$1].due }
            let retellingDue = retelling.map { retellings[$0].due } ?? .max
            let due = beginning + min(playback.nextAt, retellingDue) * 1_000_000
            guard due <= now else { return due }
            let isSent =
                if let retelling, retellingDue < playback.nextAt {
                    tellAgain(retelling, told)
                } else {
                    tellOn(told)
                }
            // The broker is slow: the record will be told later.
            guard isSent else { return now + Self.pause }
        }
    }

    /// Begins to tell a conversation's answer once more.
    ///
    /// - Returns: false where nothing of it has been told yet.
    func regenerate(_ conversation: [UInt8], at now: Int64) -> Bool {
        guard
            let retelling = Retelling(
                conversation, of: recording, number: retellingsBegun + 1,
                at: (now - beginning) / 1_000_000, beginning: beginningWall)
        else { return false }
        retellingsBegun += 1
        latest[conversation] = retellingsBegun
        retellings.append(retelling)
        return true
    }

    private func tellOn(_ told: ([UInt8]) -> Void) -> Bool {
        var ahead = playback
        let cue = ahead.next()
        guard send(cue.record) else { return false }
        playback = ahead
        if cue.isFirst { conversations += 1 }
        if let chunk = cue.chunk, cue.record.key.map({ latest[$0] == nil }) ?? true { told(chunk) }
        return true
    }

    private func tellAgain(_ index: Int, _ told: ([UInt8]) -> Void) -> Bool {
        var ahead = retellings[index]
        let cue = ahead.next()
        let position = records
        guard send(cue.record) else { return false }
        retold.append((position, cue.record))
        if let chunk = cue.chunk, latest[ahead.conversation] == ahead.number { told(chunk) }
        retellings[index] = ahead
        if ahead.nextAt == nil { retellings.remove(at: index) }
        return true
    }

    private func send(_ record: LogRecord) -> Bool {
        do throws(KafkaError) {
            try producer.produce(
                topic: record.topic, key: record.key, value: record.value,
                timestamp: record.timestamp)
        } catch {
            return false
        }
        records += 1
        return true
    }

    /// Takes in what became of the records.
    func turn() {
        producer.drainDescriptor()
        while let event = producer.nextEvent() {
            if case .delivered(_, _, let error?) = event { refusal = "\(error)" }
        }
    }

    /// Waits until the broker has everything.
    func flush(within limit: Duration) {
        producer.flush(within: limit)
        turn()
    }

    /// What was produced, in its order. It is told once more instead of being kept, save what was
    /// told at a reader's wish.
    var log: some Sequence<LogRecord> {
        sequence(
            state: (playback: origin, told: 0, retold: retold[...])
        ) { [records] state -> LogRecord? in
            guard state.told < records else { return nil }
            defer { state.told += 1 }
            if let next = state.retold.first, next.position == state.told {
                state.retold.removeFirst()
                return next.record
            }
            return state.playback.next().record
        }
    }
}
