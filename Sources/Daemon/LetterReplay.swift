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
    private let signals: SignalDescriptor
    private let plan: MirrorPlan
    private let consumer: Consumer
    private var producer: Producer?
    private var conversations: ConversationReader
    private let topic: String

    private var range: TopicRange
    private var done: [TopicPartition: ReplayedLetters] = [:]
    /// The same once everything that is on its way has arrived.
    private var planned: [TopicPartition: ReplayedLetters] = [:]
    /// The letter after the last one that was read.
    private var next: [TopicPartition: Int64] = [:]
    private var counts: [String: Int] = [:]
    private var waiting: [Int: (partition: TopicPartition, letter: Int64, bytes: Int)] = [:]
    private var waitingBytes = 0
    private var lastToken = 0
    private var unremembered: Set<TopicPartition> = []
    private var committing = 0
    private var commitAt: Int64 = 0
    private var isInterrupted = false
    private var isUnreachable = false
    private var complaint = "nothing happens"
    private var tally = LetterTally()
    private var lines: [String] = []

    /// The most letters and bytes on their way at once.
    private static let waitingMax = 2000
    private static let commitInterval: Int64 = 500_000_000
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
        topic = configuration.delivery.deadLetterTopic
        do {
            plan = try MirrorPlan(mappings: configuration.mappings)
            signals = try SignalDescriptor([.terminate, .interrupt])
            consumer = try Consumer(
                brokers: configuration.kafka.brokers,
                group: configuration.settings.group + Self.groupSuffix, topics: [],
                properties: configuration.properties)
            range = TopicRange(consumer)
            conversations = ConversationReader(plan: plan)
            guard !isDryRun else { return }
            // A broker that is gone is not waited for longer than by the other commands.
            let isSet = configuration.properties.contains {
                ["message.timeout.ms", "delivery.timeout.ms"].contains($0.name)
            }
            producer = try Producer(
                brokers: configuration.kafka.brokers,
                properties: configuration.properties
                    + (isSet ? [] : [("message.timeout.ms", "30000")]))
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
            try takeKafka()
            try takeDeliveries()
            let isIdle = !read()
            if range.isRead || isInterrupted, waiting.isEmpty { break }
            remember(at: Clock.monotonic())
            progress.show("replays", range.readCount, of: range.total)
            if patience.hasEnded(at: range.readCount - Int64(waiting.count)) {
                throw OneShotFailure(.unreachable, "Kafka: \(complaint)")
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
        let questions = KafkaQuestions(consumer: consumer, signals: signals)
        counts = try questions.partitions(of: plan.topics + [topic])
        guard let count = counts[topic], count > 0 else {
            throw OneShotFailure(.unreachable, "Kafka has no topic '\(topic)' for this client")
        }
        let partitions = (0..<Int32(count)).map { TopicPartition(topic, $0) }
        for (partition, known) in try questions.positions(of: partitions) {
            let letters = ReplayedLetters(
                committed: known.committed, metadata: known.metadata, low: known.low)
            done[partition] = letters
            planned[partition] = letters
            next[partition] = letters.next
            range.add(partition, from: letters.next, to: known.high)
        }
    }

    // MARK: Letters

    /// Whether anything was read.
    private func read() -> Bool {
        guard !isInterrupted else { return false }
        var found = false
        for partition in range.partitions {
            guard waiting.count < Self.waitingMax,
                waitingBytes < configuration.settings.inFlightBytesMax
            else { return found }
            for record in range.records(of: partition, max: 200, bytesMax: 1 << 20)
            where !isInterrupted {
                found = true
                // Offsets without a record are none.
                if let first = next[partition], first < record.offset {
                    note(first...(record.offset - 1), of: partition)
                }
                next[partition] = record.offset + 1
                take(record, of: partition)
            }
        }
        return found
    }

    private func take(_ record: Record, of partition: TopicPartition) {
        guard done[partition]?.contains(record.offset) != true else { return tally.before += 1 }
        guard let letter = Letter(record) else { return tally.foreign += 1 }
        guard isWanted(letter) else { return tally.otherwise += 1 }
        guard let partitions = counts[letter.source.topic], partitions > 0,
            letter.source.topic != topic
        else {
            tally.unmapped[letter.source.topic, default: 0] += 1
            return
        }
        guard !letter.isValueOmitted else {
            tally.omitted += 1
            lines.append("cannot be replayed, its value was omitted: \(name(of: letter))")
            if !isDryRun { note(record.offset...record.offset, of: partition) }
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
        guard plan(offset, of: partition) else { return }
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
            waiting[lastToken] = (partition, offset, record.size)
            waitingBytes += record.size
        } catch {
            fail(offset, of: partition, error)
        }
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

    private func takeDeliveries() throws(OneShotFailure) {
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
                        isUnreachable = true
                        isInterrupted = true
                    }
                } else {
                    tally.replayed += 1
                    note(letter.letter...letter.letter, of: letter.partition)
                }
            case .error(let error): try hear(error)
            case .log(let level, let text):
                log.write(level <= 4 ? .warn : .debug, "librdkafka", [("text", .text(text))])
            }
        }
    }

    private func takeKafka() throws(OneShotFailure) {
        consumer.drainDescriptor()
        while let event = consumer.nextEvent() {
            switch event {
            case .error(let error): try hear(error)
            case .committed(let offsets, let error):
                committing -= 1
                guard let error else { continue }
                unremembered.formUnion(offsets.keys)
                complaint = error.description
                log.warn("commit_failed", ["reason": .text(error.description)])
            default: continue
            }
        }
    }

    private func hear(_ error: KafkaError) throws(OneShotFailure) {
        complaint = error.description
        switch error.action {
        case .fatal, .haltPartition: throw KafkaQuestions.failure(error.description)
        case .alarm, .note, .awaitAssignment:
            log.warn("kafka_error", ["reason": .text(error.description)])
        }
    }

    private func wait() {
        consumer.wakeStalled()
        let descriptors =
            [consumer.descriptor, signals.number] + [producer?.descriptor].compactMap { $0 }
        let ready = Poll.wait(for: descriptors, timeout: .milliseconds(200))
        guard ready[1], let signal = signals.next() else { return }
        if isInterrupted { ThisProcess.exitNow(Daemon.Exit.undelivered.rawValue) }
        log.info("stopping", ["signal": .text("\(signal)")])
        isInterrupted = true
    }

    // MARK: What is remembered

    private func note(_ range: ClosedRange<Int64>, of partition: TopicPartition) {
        guard !isDryRun else { return }
        done[partition]?.note(range)
        planned[partition]?.note(range)
        unremembered.insert(partition)
    }

    /// Whether a letter more can be remembered.
    private func plan(_ offset: Int64, of partition: TopicPartition) -> Bool {
        var next = planned[partition]
        next?.note(offset...offset)
        guard next?.fits ?? true else {
            complaint =
                "more letters were passed over between those that were replayed than can be "
                + "remembered; replay without --reason, --since and --conversation first"
            isInterrupted = true
            return false
        }
        planned[partition] = next
        return true
    }

    private func remember(at now: Int64) {
        guard !unremembered.isEmpty, committing == 0, now >= commitAt else { return }
        commitAt = now + Self.commitInterval
        for partition in unremembered.sorted() {
            // What is on its way leaves holes for the moment.
            guard let letters = done[partition], letters.fits else { continue }
            committing += 1
            unremembered.remove(partition)
            consumer.commit([partition: letters.next], metadata: letters.metadata)
        }
    }

    /// Waits until everything is remembered.
    private func rememberAll() throws(OneShotFailure) {
        let deadline = Clock.monotonic() + KafkaQuestions.patience.nanoseconds
        while !unremembered.isEmpty || committing > 0 {
            guard Clock.monotonic() < deadline else {
                throw OneShotFailure(
                    .undelivered,
                    "\(tally.replayed) letters were replayed, but Kafka does not take the commit "
                        + "that remembers it (\(complaint)): the same again would replay some twice"
                )
            }
            remember(at: Clock.monotonic())
            _ = Poll.wait(for: [consumer.descriptor], timeout: .milliseconds(100))
            try takeKafka()
        }
    }

    // MARK: What was done

    private func summary() throws(OneShotFailure) -> [String] {
        lines += tally.lines(isDryRun: isDryRun)
        guard tally.failed == 0, !isInterrupted else {
            for line in lines { progress.say(line) }
            throw OneShotFailure(
                isUnreachable ? .unreachable : .undelivered,
                (tally.failed > 0
                    ? "\(tally.failed) letters were not taken: \(complaint)"
                    : "stopped half-way: \(complaint)") + "; the same again goes on with the rest")
        }
        return lines
    }
}
