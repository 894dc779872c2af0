public import BridgeCore
public import Configuration
internal import EventLoop
internal import Kafka
public import Telemetry

/// `firebridge replay --from-dead-letters`: rejected records go into their own topics again, each
/// once.
public final class LetterReplay {
    /// Which letters.
    public struct Request: Sendable {
        /// Rejected at this time or later, in milliseconds since 1970.
        public var since: Int64?
        /// Rejected for this reason.
        public var reason: Rejection.Reason?
        /// Of this conversation.
        public var conversation: String?

        /// Describes letters.
        public init(
            since: Int64? = nil, reason: Rejection.Reason? = nil, conversation: String? = nil
        ) {
            self.since = since
            self.reason = reason
            self.conversation = conversation
        }
    }

    private let configuration: Configuration
    private let request: Request
    private let log: Log
    private let progress: any OneShotProgress
    private let isDryRun: Bool
    private let plan: MirrorPlan
    private let consumer: Consumer
    private var producer: Producer?
    private var conversations: ConversationReader
    private let topic: String

    private var range: TopicRange
    private var memory: LetterMemory
    private var counts: [String: Int] = [:]
    private var waiting:
        [Int: (partition: TopicPartition, source: String, letter: Int64, bytes: Int)] = [:]
    private var waitingBytes = 0
    private var lastToken = 0
    private var interruption: Interruption
    /// What ended it half-way. What is under way is awaited and remembered first.
    private var failure: OneShotFailure?
    private var complaint = "nothing happens"
    private var tally = LetterTally()
    private var lines: [String] = []

    /// The most letters and bytes on their way at once.
    private static let waitingMax = 2000
    /// What `replay` remembers is kept as the commits of a group of its own.
    private static let groupSuffix = ".replay"

    /// Prepares a replay. Blocks the signals that it takes care of: make it before any thread
    /// starts.
    public init(
        _ configuration: Configuration, _ request: Request, isDryRun: Bool, log: Log,
        progress: any OneShotProgress
    ) throws(OneShotFailure) {
        self.configuration = configuration
        self.request = request
        self.isDryRun = isDryRun
        self.log = log
        self.progress = progress
        memory = LetterMemory(isKept: !isDryRun)
        topic = configuration.delivery.deadLetterTopic
        do {
            plan = try configuration.plan()
            interruption = try Interruption()
            consumer = try Consumer(
                brokers: configuration.kafka.brokers,
                group: configuration.settings.group + Self.groupSuffix, topics: [],
                properties: configuration.properties)
            range = TopicRange(consumer)
            conversations = ConversationReader(plan: plan)
            guard !isDryRun else { return }
            producer = try Producer(
                brokers: configuration.kafka.brokers,
                properties: configuration.producerProperties)
        } catch {
            throw OneShotFailure(.configuration, "\(error)")
        }
    }

    /// Replays what is there at the start, and tells what was done, line by line.
    public func run() throws(OneShotFailure) -> [String] {
        try findLetters()
        range.take()
        range.begin()
        var patience = Patience(configuration)
        while true {
            takeKafka()
            takeDeliveries()
            let isIdle = !read()
            if range.isRead || interruption.hasCome, waiting.isEmpty { break }
            remember(at: Clock.monotonic())
            progress.show("replays", range.readCount, of: range.total)
            if patience.hasEnded(at: range.readCount - Int64(waiting.count)) {
                end(KafkaQuestions.failure(complaint))
                break
            }
            if isIdle { wait() }
        }
        try rememberAll()
        progress.end()
        return try summary()
    }

    /// Leaves Kafka.
    public func close() {
        producer?.close(within: .seconds(3))
        consumer.close(within: .seconds(3))
    }

    // MARK: What there is

    private func findLetters() throws(OneShotFailure) {
        let questions = KafkaQuestions(consumer: consumer, signals: interruption.signals)
        counts = try questions.partitions(of: plan.topics + [topic])
        guard let count = counts[topic], count > 0 else {
            throw OneShotFailure(.unreachable, "Kafka has no topic '\(topic)' for this client")
        }
        let partitions = (0..<Int32(count)).map { TopicPartition(topic, $0) }
        let topics = plan.topics.filter { counts[$0] ?? 0 > 0 && $0 != topic }
        for (partition, known) in try questions.positions(of: partitions) {
            let letters = ReplayedLetters(
                committed: known.committed, metadata: known.metadata, low: known.low,
                topics: topics)
            memory.begin(partition, with: letters)
            range.add(partition, from: letters.start, to: known.high)
        }
    }

    /// Nothing more is read, for this reason.
    private func end(_ reason: OneShotFailure) {
        failure = failure ?? reason
        interruption.interrupt()
    }

    // MARK: Letters

    /// Whether anything was read.
    private func read() -> Bool {
        guard !interruption.hasCome else { return false }
        var found = false
        for partition in range.partitions {
            guard waiting.count < Self.waitingMax,
                waitingBytes < configuration.settings.inFlightBytesMax
            else { return found }
            for record in range.records(of: partition, max: 200, bytesMax: 1 << 20)
            where !interruption.hasCome {
                found = true
                memory.read(record.offset, of: partition)
                take(record, of: partition)
            }
        }
        return found
    }

    private func take(_ record: Record, of partition: TopicPartition) {
        guard let letter = Letter(record) else {
            tally.foreign += 1
            // No configuration makes a letter of it.
            return memory.note(record.offset...record.offset, of: partition)
        }
        let source = letter.source.topic
        memory.pass(record.offset, of: source, in: partition)
        guard !memory.contains(record.offset, of: source, in: partition) else {
            return tally.before += 1
        }
        guard let partitions = counts[source], partitions > 0, source != topic else {
            return tally.unmapped[source, default: 0] += 1
        }
        guard isWanted(letter) else { return tally.otherwise += 1 }
        guard !letter.isValueOmitted else {
            tally.omitted += 1
            lines.append("cannot be replayed, its value was omitted: \(name(of: letter))")
            memory.note(record.offset...record.offset, of: partition)
            return
        }
        guard !isDryRun else {
            tally.replayed += 1
            lines.append(
                "would replay \(name(of: letter)): \(letter.reason): \(letter.message)")
            return
        }
        produce(letter, record.offset, of: partition, partitions: partitions)
    }

    private func isWanted(_ letter: Letter) -> Bool {
        if let reason = request.reason, reason.rawValue != letter.reason { return false }
        if let since = request.since, letter.time ?? .max < since { return false }
        guard let id = request.conversation else { return true }
        return conversations.isRecord(letter.record, from: letter.source, of: Array(id.utf8))
    }

    private func produce(
        _ letter: Letter, _ offset: Int64, of partition: TopicPartition, partitions: Int
    ) {
        guard memory.plan(offset, of: letter.source.topic, in: partition) else {
            return end(OneShotFailure(.undelivered, tooMuch(before: offset, of: partition)))
        }
        let record = letter.record
        lastToken += 1
        do throws(KafkaError) {
            // Into its own partition, whatever partitioner its producer had. A topic that was made
            // anew with fewer partitions gets it by its key.
            try producer?.produce(
                topic: letter.source.topic,
                partition: Int(letter.source.partition) < partitions
                    ? letter.source.partition : nil,
                key: record.key, value: record.value, headers: record.headers,
                timestamp: record.timestamp, token: lastToken)
            waiting[lastToken] = (partition, letter.source.topic, offset, record.size)
            waitingBytes += record.size
        } catch {
            fail(offset, of: partition, error)
        }
    }

    /// Why no more can be replayed from here on.
    private func tooMuch(before offset: Int64, of partition: TopicPartition) -> String {
        let isChosen =
            request.reason != nil || request.since != nil || request.conversation != nil
        return "stopped at \(partition)@\(offset): what was replayed between the many letters that "
            + "were passed over cannot be remembered any more; "
            + (isChosen
                ? "replay without --reason, --since and --conversation first"
                : "letters of too many topics stand there that no mapping has: map these topics "
                    + "too, or give up what was left before: set the offset of group "
                    + "'\(configuration.settings.group + Self.groupSuffix)' there to \(offset)")
    }

    private func fail(_ offset: Int64, of partition: TopicPartition, _ error: KafkaError) {
        tally.failed += 1
        complaint = error.description
        log.error(
            "letter_not_replayed",
            [
                "partition": .text("\(partition)"), "offset": .integer(offset),
                "reason": .text(error.description),
            ])
    }

    private func name(of letter: Letter) -> String {
        "\(letter.source)@\(letter.record.offset)"
    }

    // MARK: What Kafka says

    private func takeDeliveries() {
        guard let producer else { return }
        producer.drainDescriptor()
        while let event = producer.nextEvent() {
            switch event {
            case .delivered(let token, _, let error):
                guard let letter = waiting.removeValue(forKey: token) else { continue }
                waitingBytes -= letter.bytes
                if let error {
                    fail(letter.letter, of: letter.partition, error)
                    // The rest would only fail like this one.
                    if error.code == "_MSG_TIMED_OUT" || error.action == .fatal {
                        end(KafkaQuestions.failure(error.description))
                    }
                } else {
                    tally.replayed += 1
                    memory.note(letter.letter, of: letter.source, in: letter.partition)
                }
            case .error(let error): hear(error)
            case .log(let level, let text):
                log.write(level <= 4 ? .warn : .debug, "librdkafka", [("text", .text(text))])
            }
        }
    }

    private func takeKafka() {
        consumer.drainDescriptor()
        while let event = consumer.nextEvent() {
            switch event {
            case .error(let error): hear(error)
            case .committed(let offsets, _, let error):
                memory.committed(offsets.keys, failed: error != nil)
                guard let error else { continue }
                complaint = error.description
                log.warn("commit_failed", ["reason": .text(error.description)])
            default: continue
            }
        }
    }

    /// What does not pass ends it, as a signal would: letters are on their way, and were
    /// acknowledged and not remembered yet. They would go twice.
    private func hear(_ error: KafkaError) {
        complaint = error.description
        do throws(OneShotFailure) { try error.hear(log) } catch { end(error) }
    }

    private func wait() {
        consumer.wakeStalled()
        let descriptors =
            [consumer.descriptor, interruption.signals.number]
            + [producer?.descriptor].compactMap { $0 }
        let ready = Poll.wait(for: descriptors, timeout: .milliseconds(200))
        if ready[1] { interruption.take(log) }
    }

    // MARK: What is remembered

    private func remember(at now: Int64) {
        for (partition, letters) in memory.commits(at: now) {
            consumer.commit([partition: letters.next], metadata: letters.metadata)
        }
    }

    /// Waits until everything is remembered.
    private func rememberAll() throws(OneShotFailure) {
        let deadline = Clock.monotonic() + KafkaQuestions.patience.nanoseconds
        while !memory.isTold {
            guard Clock.monotonic() < deadline else {
                throw OneShotFailure(
                    .undelivered,
                    "\(tally.replayed) letters were replayed, but Kafka does not take the commit "
                        + "that remembers it (\(complaint)): the same again would replay some twice"
                )
            }
            remember(at: Clock.monotonic())
            _ = Poll.wait(for: [consumer.descriptor], timeout: .milliseconds(100))
            takeKafka()
            takeDeliveries()
        }
    }

    // MARK: What was done

    private func summary() throws(OneShotFailure) -> [String] {
        lines += tally.lines(isDryRun: isDryRun)
        guard tally.failed == 0, !interruption.hasCome else {
            for line in lines { progress.say(line) }
            if let failure, failure.kind == .undelivered { throw failure }
            let what =
                tally.failed > 0
                ? "\(tally.failed) letters were not taken: \(complaint)"
                : failure?.description ?? "stopped half-way"
            throw OneShotFailure(
                failure?.kind ?? .undelivered, "\(what); the same again goes on with the rest")
        }
        return lines
    }
}
