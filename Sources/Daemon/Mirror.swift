internal import BridgeCore
public import Configuration
internal import EventLoop
internal import HTTPClient
internal import Kafka
public import Telemetry
internal import TreeClient

/// The shell around one core: it obeys the core's effects and brings it what happens, in one
/// thread.
///
/// It has no sleep of its own: the daemon waits for `descriptors` in `wait`, then calls `turn`.
public final class Mirror {
    /// How a mirror came to its end.
    public enum End: Equatable, Sendable {
        /// After `stop`; so many records were read and not delivered.
        case drained(undelivered: Int)
        /// Kafka's client is dead.
        case failed(String)
    }

    /// The version, for `build_info` and user agents.
    public static let version = "0.1.0"

    let configuration: Configuration
    let plan: MirrorPlan
    let log: Log
    let metrics: FirebridgeMetrics
    let http: HTTPClient
    let tree: TreeClient
    private(set) var consumer: Consumer
    let bridge: Bridge
    let deadLetters: DeadLetterQueue
    var health = Health()
    /// Kafka's time of the last record of each partition, for `lag_seconds`.
    var lastTimestamps: [TopicPartition: Int64] = [:]
    /// The offset after the last record of each partition.
    private var nextOffsets: [TopicPartition: Int64] = [:]
    private(set) var end: End?
    private var nextTopicCheck: Int64 = 0
    private var nextLook: Int64 = 0
    private var nextWatch: Int64 = 0
    private var knowsTopics = false
    /// How many partitions topics had when that was last told.
    private var counts: [String: Int] = [:]
    /// An assignment that waits for the numbers of partitions.
    private(set) var waiting: [TopicPartition]?
    /// Partitions are being given back: their series are gone already.
    private(set) var isRevoking = false
    private var lastRead: TopicPartition?
    private var hasMoreToRead = false
    private var progress = Progress.ofThisProcess()
    private var isAskingTopics = false
    private var chunkRate = Rate()
    private var watch: ConsumerWatch
    private var isStopping = false

    /// How often topics, partition counts and the ends of full partitions are looked up.
    private static let topicCheckInterval = Duration.seconds(10)
    /// How long the loop may stand while a client that is replaced says that it leaves.
    private static let partingLimit = Duration.milliseconds(200)
    /// Records per partition and call, and per turn, so that no part of the loop starves another.
    private static let recordsPerCall = 1000
    private static let recordsPerTurn = 8000

    /// Joins the group and gets ready to write.
    ///
    /// - Parameter previous: the mirror before a reload: what it has counted goes on.
    public init(
        _ configuration: Configuration, log: Log, metrics: FirebridgeMetrics,
        after previous: Mirror? = nil
    ) throws {
        self.configuration = configuration
        self.log = log
        self.metrics = metrics
        plan = try configuration.plan()
        let database = try Database(configuration)
        http = database.http
        tree = database.tree
        bridge = Bridge(
            plan: plan, settings: configuration.settings, owner: Database.randomOwner(),
            counters: previous?.bridge.counters ?? Counters())
        watch = ConsumerWatch(configuration.properties)
        consumer = try Self.makeConsumer(configuration, plan)
        deadLetters = DeadLetterQueue(
            topic: configuration.delivery.deadLetterTopic, brokers: configuration.kafka.brokers,
            properties: configuration.producerProperties)
    }

    /// The topics that must exist: those of mappings, and where there may be dead letters, theirs.
    private var neededTopics: [String] {
        let rejects = configuration.settings.reject == .deadLetter
        return plan.topics + (rejects ? [configuration.delivery.deadLetterTopic] : [])
    }

    // MARK: The loop's three calls

    /// Sleeps until something happens to this mirror or one of `others`, at most so long and until
    /// these times of the monotonic clock, and says which of the others are ready.
    public func wait(for others: [Int32], timeout: Duration?, until: [Int64?] = []) -> [Bool] {
        let own = [consumer.descriptor] + (deadLetters.descriptor.map { [$0] } ?? [])
        let ready = http.wait(for: own + others, timeout: shorter(timeout, until))
        return Array(ready.dropFirst(own.count))
    }

    /// Does what there is to do, without waiting.
    public func turn() {
        let now = moment()
        progress.turned(at: now.monotonic)
        if now.monotonic >= nextTopicCheck {
            nextTopicCheck = now.after(Self.topicCheckInterval)
            // Where answers take longer than this interval questions would pile up.
            if !isAskingTopics { consumer.askTopics(neededTopics, inPart: true) }
            isAskingTopics = true
            consumer.fetchAgain(health.unfetched)
            let halted = bridge.report(at: now).partitions.filter { $0.halted != nil }
            consumer.renewEnds(
                of: watch.suspects(at: now.monotonic) + bridge.endsWanted(at: now),
                unread: halted.map(\.source), at: now)
        }
        takeKafka(at: now)
        lookAtPartitions(at: now)
        watchConsumer(at: now)
        takeAnswers(at: now)
        takeDeadLetters(at: now)
        read(at: now)
        obey(at: moment())
    }

    /// Delivers what was read, then ends.
    public func stop() {
        isStopping = true
        bridge.stop(at: moment())
        obey(at: moment())
    }

    /// Leaves the group and frees what it can, within a limit; false where Kafka's threads may
    /// still be at work.
    @discardableResult
    public func close(within limit: Duration) -> Bool {
        tree.cancelAll()
        metrics.removeAssignment()
        let isFree = deadLetters.close(within: limit / 4)
        return consumer.close(within: limit) && isFree
    }

    func moment() -> Moment {
        let now = Clock.now()
        return Moment(monotonic: now.monotonic, wall: now.wall)
    }

    private func shorter(_ timeout: Duration?, _ until: [Int64?]) -> Duration? {
        if hasMoreToRead { return .zero }
        let own = [bridge.nextDeadline, tree.deadline, log.nextTick, nextTopicCheck]
        guard let next = (own + until).compactMap({ $0 }).min() else { return timeout }
        let left = Duration.nanoseconds(max(0, next - Clock.now().monotonic))
        return timeout.map { min($0, left) } ?? left
    }

    // MARK: How it is

    /// What does not move any more and will not by itself; nil where all moves.
    func wedged(at now: Moment) -> String? {
        progress.wedged(at: now.monotonic, overdue: tree.overdue(at: now))
    }

    /// How things are, in a line; tokens are counted from one call to the next.
    func statusLine(at now: Moment) -> String {
        let chunks = bridge.counters.writes[.chunk] ?? 0
        var line = StatusLine()
        line.alarms = notReadyReasons(at: now)
        line.partitions = consumer.reading.count
        let partitions = bridge.report(at: now).partitions
        line.lag = partitions.compactMap { lagSeconds(of: $0, at: now) }.max() ?? 0
        line.tokensPerSecond = chunkRate.next(chunks, at: now.monotonic)
        return line.text
    }

    // MARK: What happened

    private func takeKafka(at now: Moment) {
        consumer.drainDescriptor()
        while let event = consumer.nextEvent() {
            switch event {
            case .assigned(let partitions):
                health.isJoined = true
                health.kafkaWorks(.group)
                health.forget(.positions)
                health.forget(.commits)
                log.info("assigned", ["partitions": .text(names(partitions))])
                isRevoking = false
                // Topics whose numbers of partitions differ must not be read, not even briefly.
                if knowsTopics { bridge.assign(partitions, at: now) } else { waiting = partitions }
            case .revoked(let partitions, let lost):
                log.info("revoked", ["partitions": .text(names(partitions)), "lost": .flag(lost)])
                isRevoking = true
                health.isJoined = false
                waiting = nil
                for partition in partitions { forget(partition) }
                if lost {
                    bridge.lose(at: now)
                    consumer.release()
                } else {
                    bridge.revoke(at: now)
                }
            case .committed(let offsets, let serial, let error):
                committed(error, at: now)
                bridge.committed(
                    offsets, serial: serial, failed: error?.description, at: now)
            case .positions(let known, let serial):
                health.kafkaWorks(.positions)
                bridge.positions(known, serial: serial, at: now)
            case .positionsFailed(_, let serial, let error):
                tell(error, .positions, at: now)
                bridge.positions([:], serial: serial, at: now)
            case .topics(let told):
                isAskingTopics = false
                counts.merge(told) { $1 }
                health.kafkaWorks(.topics)
                for (topic, count) in told where count > 0 { health.forget(.topic(topic)) }
                let missing = told.filter { $0.value == 0 }.map(\.key).sorted()
                for topic in missing { log.warn("topic_missing", ["topic": .text(topic)]) }
                health.missingTopics = missing.filter(plan.topics.contains)
                health.missingDeadLetterTopic = missing.first { !plan.topics.contains($0) }
                bridge.topology(counts.filter { $0.value > 0 }, at: now)
                knowsTopics = true
                if let partitions = waiting { bridge.assign(partitions, at: now) }
                waiting = nil
            case .topicsFailed(let error):
                isAskingTopics = false
                tell(error, error.partition == nil ? .topics : Health.Kind(error), at: now)
                nextTopicCheck = min(nextTopicCheck, now.after(.seconds(1)))
            case .error(let error): tell(error, Health.Kind(error), at: now)
            case .log(let level, let text):
                log.write(level <= 4 ? .warn : .debug, "librdkafka", [("text", .text(text))])
            }
        }
        progress.kafka(
            owes: consumer.openQuestions, answered: consumer.answeredQuestions, at: now.monotonic)
    }

    /// A commit that came too late for its assignment says nothing of the next one.
    private func committed(_ error: KafkaError?, at now: Moment) {
        if let error {
            guard error.action != .awaitAssignment else { return }
            health.kafkaFailed(error, .commits, at: now)
        } else {
            health.kafkaWorks(.commits)
            health.kafkaWorks(.group)
        }
    }

    private func tell(_ error: KafkaError, _ kind: Health.Kind, at now: Moment) {
        if error.action != .haltPartition { health.kafkaFailed(error, kind, at: now) }
        switch error.action {
        case .note, .awaitAssignment:
            log.warn("kafka_error", ["reason": .text(error.description)])
        case .alarm: log.error("kafka_error", ["reason": .text(error.description)])
        case .haltPartition:
            log.error("partition_halted", ["reason": .text(error.description)])
            guard let partition = error.partition else { return }
            health.halted[partition] = error.description
            if error.saysThatOffsetIsGone { bridge.logMoved(of: partition) }
        case .fatal:
            log.error("kafka_failed", ["reason": .text(error.description)])
            end = .failed(error.description)
        }
    }

    private func takeAnswers(at now: Moment) {
        while let event = http.nextEvent() { tree.handle(event, now: now) }
        tree.tick(now: now)
        while let answer = tree.nextAnswer() {
            metrics.requests[answer.code].add()
            metrics.requestSeconds[].observe(answer.seconds)
            if case .done = answer.outcome { metrics.writeBytes[].add(answer.bytes) }
            bridge.settle(
                answer.requestID, answer.outcome, at: now, jitter: Double.random(in: 0..<1))
        }
        while let notice = tree.nextNotice() { write(notice) }
    }

    private func takeDeadLetters(at now: Moment) {
        for result in deadLetters.results() {
            bridge.deadLettered(result.id, failed: result.failure, at: now)
        }
        for text in deadLetters.complaints() {
            log.warn("kafka_error", ["reason": .text(text), "client": "dead letters"])
        }
    }

    /// Which partitions are fetched again; and where they end, when their leaders said so: for the
    /// stall check. What Kafka's client remembers will not do: it stays as it was while nothing
    /// can be fetched.
    private func lookAtPartitions(at now: Moment) {
        guard now.monotonic >= nextLook else { return }
        nextLook = now.after(.seconds(1))
        for partition in health.unfetched
        where consumer.progress(of: partition)?.failure == nil {
            health.forget(.fetch(partition))
        }
        for partition in consumer.reading {
            guard let progress = consumer.progress(of: partition), let told = progress.told,
                let toldAt = progress.toldAt
            else { continue }
            // Transactions' markers at the end are no records: the core never sees their offsets.
            let isRead = progress.position >= told
            bridge.ends([partition: isRead ? nextOffsets[partition] ?? 0 : told], at: toldAt)
        }
        consumer.askEnds(of: bridge.endsWanted(at: now), at: now)
    }

    // MARK: A client that stands still

    private static func makeConsumer(
        _ configuration: Configuration, _ plan: MirrorPlan
    ) throws(KafkaError) -> Consumer {
        try Consumer(
            brokers: configuration.kafka.brokers, group: configuration.settings.group,
            topics: plan.topics, properties: configuration.properties)
    }

    private func watchConsumer(at now: Moment) {
        guard now.monotonic >= nextWatch, !isStopping, end == nil else { return }
        nextWatch = now.after(.seconds(1))
        let looks = consumer.reading.compactMap { partition -> ConsumerWatch.Look? in
            guard let progress = consumer.progress(of: partition) else { return nil }
            let hasRoom = bridge.room(for: partition) > 0
            return ConsumerWatch.Look(partition, progress, hasRoom: hasRoom)
        }
        let reason = watch.judge(
            looks, awaitsGroup: health.awaitsGroup(topics: plan.topics),
            isKafkaWell: health.isKafkaWell, at: now.monotonic)
        if let reason { replaceConsumer(because: reason, at: now) }
    }

    /// Everything is forgotten, as when an assignment is lost, and a new client joins the group.
    private func replaceConsumer(because reason: String, at now: Moment) {
        log.error("consumer_stuck", ["reason": .text(reason)])
        let fresh: Consumer
        do throws(KafkaError) {
            fresh = try Self.makeConsumer(configuration, plan)
        } catch {
            // The old one is not dead: it goes on with what it still gives, and is judged again
            // later.
            return log.error("kafka_error", ["reason": .text(error.description)])
        }
        for partition in consumer.assignment { forget(partition) }
        bridge.lose(at: now)
        obey(at: now)
        let old = consumer
        consumer = fresh
        old.close(within: Self.partingLimit)
        health = Health()
        (waiting, isRevoking, isAskingTopics) = (nil, false, false)
        progress.kafka(owes: 0, answered: 0, at: now.monotonic)
        nextTopicCheck = now.monotonic
    }

    // MARK: Reading

    /// Partitions take turns, so that none fills the room of all: their lanes write at the same time.
    private func read(at now: Moment) {
        hasMoreToRead = false
        var left = Self.recordsPerTurn
        // After the one that was read last: where room is scarce each gets its turn.
        var full = consumer.reading
        if let lastRead, let next = full.firstIndex(where: { lastRead < $0 }) {
            full = Array(full[next...] + full[..<next])
        }
        while left > 0, !full.isEmpty {
            full = full.filter { partition in
                let room = bridge.room(for: partition)
                guard room > 0, left > 0 else { return false }
                let records = consumer.records(
                    of: partition, max: Self.recordsPerCall, bytesMax: min(room, 1 << 20))
                guard let last = records.last else { return false }
                left -= records.count
                lastRead = partition
                lastTimestamps[partition] = last.timestamp
                nextOffsets[partition] = last.offset + 1
                bridge.consume(records, from: partition, at: now)
                obey(at: now)
                return true
            }
        }
        if left == Self.recordsPerTurn {
            consumer.wakeStalled()
        } else {
            hasMoreToRead = left < Self.recordsPerTurn / 2
        }
    }

    // MARK: What the core wants

    private func obey(at now: Moment) {
        while let effect = bridge.nextEffect(at: now) {
            switch effect {
            case .request(let request): tree.send(request, now: now)
            case .askPositions(let partitions, let serial):
                var startTime: Int64?
                if case .time(let time) = configuration.settings.start { startTime = time }
                consumer.askPositions(
                    partitions, startTime: startTime, serial: serial, inPart: true)
            case .read(let starts):
                for partition in starts.keys { health.halted[partition] = nil }
                consumer.read(starts)
            case .commit(let offsets, let serial):
                consumer.commit(offsets, metadata: Bridge.commitMark, serial: serial)
            case .deadLetter(let letter): deadLetters.append(letter)
            case .release: consumer.release()
            case .finished(let undelivered): end = .drained(undelivered: undelivered)
            case .notice(let notice): write(notice)
            }
        }
    }

    private func write(_ notice: Notice) {
        let level: LogLevel =
            switch notice.level {
            case .info: .info
            case .warn: .warn
            case .error: .error
            }
        log.write(level, notice.event, notice.fields.map { ($0.name, .text($0.value)) })
    }

    private func forget(_ partition: TopicPartition) {
        lastTimestamps[partition] = nil
        nextOffsets[partition] = nil
        health.halted[partition] = nil
        health.forget(.fetch(partition))
        metrics.removePartition(topic: partition.topic, partition: partition.partition)
    }

    private func names(_ partitions: [TopicPartition]) -> String {
        partitions.map(\.description).joined(separator: " ")
    }
}
