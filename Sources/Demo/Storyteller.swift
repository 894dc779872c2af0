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

    private let origin: Playback
    private var playback: Playback
    private let producer: Producer

    /// Where the producer's queue is full: when to try again, in nanoseconds.
    private static let pause: Int64 = 10_000_000

    /// Begins now.
    init(_ producer: Producer, _ recording: Recording) {
        self.producer = producer
        let now = Clock.now()
        beginning = now.monotonic
        origin = Playback(recording, beginning: now.wall)
        playback = origin
    }

    /// A producer for it. It finds its way to the broker meanwhile, so that the first record does not
    /// wait: make it early.
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
    /// - Parameter told: is given the place of each chunk that goes out.
    /// - Returns: when the next record is due, by the monotonic clock.
    func tell(until now: Int64, _ told: ([UInt8]) -> Void) -> Int64 {
        while true {
            let due = beginning + playback.nextAt * 1_000_000
            guard due <= now else { return due }
            var ahead = playback
            let cue = ahead.next()
            do throws(KafkaError) {
                try producer.produce(
                    topic: cue.record.topic, key: cue.record.key, value: cue.record.value,
                    timestamp: cue.record.timestamp)
            } catch {
                // The broker is slow: the record will be told later.
                return now + Self.pause
            }
            playback = ahead
            records += 1
            if cue.isFirst { conversations += 1 }
            if let chunk = cue.chunk { told(chunk) }
        }
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

    /// What was produced, in its order. It is told once more instead of being kept.
    var log: some Sequence<LogRecord> {
        sequence(state: (playback: origin, left: records)) { state -> LogRecord? in
            guard state.left > 0 else { return nil }
            state.left -= 1
            return state.playback.next().record
        }
    }
}
