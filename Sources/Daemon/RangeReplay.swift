internal import BridgeCore
public import Configuration
internal import EventLoop
internal import HTTPClient
internal import Kafka
public import Telemetry
internal import TreeClient

/// `firebridge replay --topic`: a range of a topic is mirrored once more, by the core itself.
public final class RangeReplay {
    /// What is to be mirrored.
    public struct Request: Sendable {
        /// The topic.
        public var topic: String
        /// Records of this time and later ones, in milliseconds since 1970.
        public var since: Int64
        /// Only this conversation's; nil for all.
        public var conversation: String?
        /// Whether event nodes are written too.
        public var writesEvents: Bool

        /// Describes a range.
        public init(
            topic: String, since: Int64, conversation: String? = nil, writesEvents: Bool = false
        ) {
            self.topic = topic
            self.since = since
            self.conversation = conversation
            self.writesEvents = writesEvents
        }
    }

    private let configuration: Configuration
    private let request: Request
    private let log: Log
    private let progress: any OneShotProgress
    private let plan: MirrorPlan
    private let consumer: Consumer
    /// What Kafka said of the partitions at the start.
    private var known: [TopicPartition: PartitionPositions] = [:]
    private var range: TopicRange
    /// What the database will not have. Values that were left out, since such a record comes later,
    /// are mirrored after all.
    private var refused: [TopicPartition: Set<Int64>] = [:]
    private var interruption: Interruption
    private var complaint = "nothing happens"

    /// Prepares a replay. Blocks the signals that it takes care of: make it before any thread
    /// starts.
    public init(
        _ configuration: Configuration, _ request: Request, log: Log,
        progress: any OneShotProgress
    ) throws(OneShotFailure) {
        self.configuration = configuration
        self.request = request
        self.log = log
        self.progress = progress
        do {
            plan = try configuration.plan()
            interruption = try Interruption()
            consumer = try Consumer(
                brokers: configuration.kafka.brokers, group: configuration.settings.group,
                topics: [], properties: configuration.properties)
            range = TopicRange(consumer)
        } catch {
            throw OneShotFailure(.configuration, "\(error)")
        }
        guard plan.topics.contains(where: { $0.utf8.elementsEqual(request.topic.utf8) }) else {
            throw OneShotFailure(
                .usage,
                "--topic: no mapping has '\(request.topic)': expected one of "
                    + plan.topics.joined(separator: ", "))
        }
    }

    /// Tells what a replay would mirror, line by line. It needs no database.
    public func look() throws(OneShotFailure) -> [String] {
        try findRange { _ throws(OneShotFailure) in [:] }
        let survey = try survey()
        var lines = [
            "\(survey.records) records of \(request.topic) since \(text(request.since)), "
                + "in \(range.partitions.count) partitions"
        ]
        for (kind, count) in survey.taken.sorted(by: { $0.key < $1.key }) {
            lines.append("would mirror \(count) of kind \(kind) again")
        }
        for (reason, count) in survey.rejected.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines.append("would pass over \(count) that cannot be written: \(reason.rawValue)")
        }
        return lines
    }

    /// Mirrors the range, and tells what was done.
    public func run() throws(OneShotFailure) -> [String] {
        let tree = try refuseLiveBridge()
        try findRange { partitions throws(OneShotFailure) in
            do throws(Erasure.Failure) {
                return try Replay.latestStarts(
                    of: partitions, plan: plan, group: configuration.settings.group, tree.ask)
            } catch {
                throw Self.failure(error, of: tree)
            }
        }
        guard !range.partitions.isEmpty else {
            return ["nothing in \(request.topic) since \(text(request.since))"]
        }
        guard ReplaySurvey.isNeeded(for: request.topic, of: plan) else { return try mirror(nil) }
        while true {
            let known = refused
            let lines = try mirror(survey())
            if refused == known { return lines }
        }
    }

    /// Leaves Kafka.
    public func close() { consumer.close(within: .seconds(3)) }

    // MARK: Before anything is written

    private func refuseLiveBridge() throws(OneShotFailure) -> PatientTree {
        let tree: PatientTree
        do {
            tree = try PatientTree(configuration, signals: interruption.signals)
        } catch {
            throw OneShotFailure(.configuration, "\(error)")
        }
        do throws(Erasure.Failure) {
            try Erasure.refuseLiveBridge(wall: Clock.now().wall, tree.ask)
            return tree
        } catch {
            throw Self.failure(error, of: tree)
        }
    }

    private static func failure(_ failure: Erasure.Failure, of tree: PatientTree) -> OneShotFailure
    {
        tree.isInterrupted
            ? OneShotFailure(.undelivered, "stopped; nothing has been written")
            : OneShotFailure(failure, advice: "run the same again once it answers")
    }

    /// - Parameter latestStarts: where partitions must begin at the latest.
    private func findRange(
        latestStarts: ([TopicPartition]) throws(OneShotFailure) -> [TopicPartition: Int64]
    ) throws(OneShotFailure) {
        let questions = KafkaQuestions(consumer: consumer, signals: interruption.signals)
        let set = plan.sets.first { $0.topics.contains(request.topic) }
        let counts = try questions.partitions(of: set?.topics ?? [request.topic])
        guard let count = counts[request.topic], count > 0 else {
            throw OneShotFailure(
                .unreachable, "Kafka has no topic '\(request.topic)' for this client")
        }
        guard Set(counts.values.filter { $0 > 0 }).count <= 1 else {
            throw OneShotFailure(
                .unreachable,
                "topics \(counts.keys.sorted().joined(separator: ", ")) differ in their number of "
                    + "partitions and are not consumed")
        }
        let partitions = (0..<Int32(count)).map { TopicPartition(request.topic, $0) }
        // 1970 is the beginning, also for a broker that finds no times.
        let time = request.since > 0 ? request.since : nil
        known = try questions.positions(of: partitions, since: time)
        let latest = try latestStarts(partitions)
        for (partition, positions) in known {
            let begins = time == nil ? positions.low : positions.atStartTime ?? positions.high
            let start = max(positions.low, min(begins, latest[partition] ?? begins))
            known[partition]?.atStartTime = start
            range.add(partition, from: start, to: positions.high)
        }
        range.take()
    }

    /// Reads the range once and writes nothing.
    private func survey() throws(OneShotFailure) -> ReplaySurvey {
        var survey = ReplaySurvey(of: replay, plan: plan, refused: refused)
        range.begin()
        var patience = Patience(configuration)
        while !range.isRead {
            try takeKafka()
            var wasIdle = true
            for partition in range.partitions {
                let records = range.records(of: partition, bytesMax: 1 << 20)
                if !records.isEmpty { wasIdle = false }
                survey.read(records, from: partition)
            }
            progress.show("reads", range.readCount, of: range.total)
            if patience.hasEnded(at: range.readCount) { throw unreachable() }
            guard wasIdle else { continue }
            consumer.wakeStalled()
            let ready = Poll.wait(
                for: [consumer.descriptor, interruption.signals.number], timeout: .milliseconds(200)
            )
            if ready[1], interruption.signals.next() != nil {
                throw OneShotFailure(.undelivered, "stopped; nothing has been written")
            }
        }
        progress.end()
        return survey
    }

    private var replay: Replay {
        Replay(
            conversation: request.conversation.map { Array($0.utf8) },
            writesEvents: request.writesEvents)
    }

    // MARK: Reading

    private func takeKafka() throws(OneShotFailure) {
        consumer.drainDescriptor()
        while let event = consumer.nextEvent() {
            guard case .error(let error) = event else { continue }
            complaint = error.description
            try error.hear(log)
        }
    }

    private func unreachable() -> OneShotFailure {
        OneShotFailure(
            .unreachable,
            "no progress for a while: \(complaint); run the same again once that is over")
    }

    // MARK: Mirroring

    private func mirror(_ survey: ReplaySurvey?) throws(OneShotFailure) -> [String] {
        let database: Database
        do {
            database = try Database(configuration)
        } catch {
            throw OneShotFailure(.configuration, "\(error)")
        }
        var settings = configuration.settings.replaying(
            survey.map(replay.knowing) ?? replay)
        settings.retryMax = min(settings.retryMax, .seconds(5))
        let bridge = Bridge(plan: plan, settings: settings, owner: Database.randomOwner())
        bridge.assign(range.partitions, at: .now)
        var patience = Patience(configuration)
        var isStopping = false
        while true {
            try takeKafka()
            takeAnswers(of: database, to: bridge)
            let isIdle = !read(into: bridge)
            if let left = try obey(bridge, database) {
                refused.merge(bridge.refused) { $0.union($1) }
                return try finish(bridge, undelivered: left)
            }
            if !isStopping, bridge.isReplaying, range.isRead || interruption.hasCome {
                isStopping = true
                bridge.stop(at: .now)
                continue
            }
            let settled = settled(in: bridge)
            progress.show("mirrors", settled, of: range.total)
            if patience.hasEnded(at: settled + (isStopping ? 1 : 0)) { throw unreachable() }
            if isIdle { wait(for: bridge, database) }
        }
    }

    private func settled(in bridge: Bridge) -> Int64 {
        bridge.report(at: .now).partitions.reduce(0) { sum, partition in
            sum + max(0, partition.settled - (range.starts[partition.source] ?? partition.settled))
        }
    }

    private func wait(for bridge: Bridge, _ database: Database) {
        consumer.wakeStalled()
        let due = [bridge.nextDeadline, database.tree.deadline].compactMap { $0 }.min().map {
            Duration.nanoseconds(max(0, $0 - Clock.monotonic()))
        }
        let ready = database.http.wait(
            for: [consumer.descriptor, interruption.signals.number],
            timeout: min(due ?? .seconds(1), .seconds(1)))
        if ready[1] { interruption.take(log) }
    }

    private func takeAnswers(of database: Database, to bridge: Bridge) {
        while let event = database.http.nextEvent() { database.tree.handle(event, now: .now) }
        database.tree.tick(now: .now)
        while let answer = database.tree.nextAnswer() {
            bridge.settle(
                answer.requestID, answer.outcome, at: .now, jitter: Double.random(in: 0..<1))
        }
        while let notice = database.tree.nextNotice() { tell(notice) }
    }

    /// Whether anything was read.
    private func read(into bridge: Bridge) -> Bool {
        guard !interruption.hasCome else { return false }
        var found = false
        for partition in consumer.reading {
            let room = bridge.room(for: partition)
            guard room > 0 else { continue }
            let records = range.records(of: partition, bytesMax: min(room, 1 << 20))
            guard !records.isEmpty else { continue }
            found = true
            bridge.consume(records, from: partition, at: .now)
        }
        return found
    }

    /// Does what the core wants; how many records were left, once it has finished.
    private func obey(_ bridge: Bridge, _ database: Database) throws(OneShotFailure) -> Int? {
        while let effect = bridge.nextEffect(at: .now) {
            switch effect {
            case .request(let request): database.tree.send(request, now: .now)
            case .askPositions(_, let serial):
                bridge.positions(known, serial: serial, at: .now)
            case .read(let offsets): consumer.read(offsets)
            case .finished(let undelivered): return undelivered
            case .notice(let notice): tell(notice)
            case .commit, .deadLetter, .release:
                preconditionFailure("a replay neither commits nor rejects nor shares")
            }
        }
        return nil
    }

    private func tell(_ notice: Notice) {
        if notice.level != .info { complaint = notice.description }
        log.write(
            notice.level == .info ? .info : notice.level == .warn ? .warn : .error, notice.event,
            notice.fields.map { ($0.name, .text($0.value)) })
    }

    private func finish(
        _ bridge: Bridge, undelivered: Int
    ) throws(OneShotFailure) -> [String] {
        progress.end()
        if let refusal = bridge.refusal { throw OneShotFailure(.unreachable, refusal) }
        guard range.isRead, !interruption.hasCome, undelivered == 0 else {
            throw OneShotFailure(
                .undelivered, "stopped half-way: run the same again to mirror the rest")
        }
        let counters = bridge.counters
        let rest = [counters.rejected.values.reduce(0, +), counters.passedOver.values.reduce(0, +)]
        let mirrored = counters.consumed.values.reduce(0, +) - rest.reduce(0, +)
        var lines = ["mirrored \(mirrored) records of \(request.topic) again"]
        for (key, count) in counters.rejected.sorted(by: {
            $0.key.reason.rawValue < $1.key.reason.rawValue
        }) {
            lines.append("passed over \(count) that cannot be written: \(key.reason.rawValue)")
        }
        for (reason, text) in Self.passedOver {
            guard let count = counters.passedOver[reason] else { continue }
            lines.append("passed over \(count) \(text)")
        }
        return lines
    }

    private static let passedOver: KeyValuePairs<Counters.PassedOver, String> = [
        .known: "of which the tree holds the same, or something later",
        .leftOut: "that are left out: not asked for, or followed by a later value",
        .erased: "of erased conversations",
    ]

    private func text(_ time: Int64) -> String {
        String(decoding: Timestamp.text(milliseconds: time), as: UTF8.self)
    }
}

extension Notice {
    /// The event and its fields, in one line.
    fileprivate var description: String {
        event + fields.map { " \($0.name)=\($0.value)" }.joined()
    }
}
