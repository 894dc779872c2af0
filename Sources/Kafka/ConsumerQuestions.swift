public import BridgeCore
import CRdKafka

/// Hands a result from the thread for blocking calls to the loop.
private final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// How long one question to a broker may take, in milliseconds.
private let answerMillisecondsMax: Int32 = 10_000
/// Where it ends is asked often: a leader that is gone must not hold up other questions for long.
private let endMillisecondsMax: Int32 = 3000

extension Consumer {
    /// Asks Kafka what it knows of partitions: `.positions` or `.positionsFailed` answers. Never
    /// waits.
    ///
    /// - Parameters:
    ///   - partitions: any; they need not be assigned.
    ///   - startTime: milliseconds since 1970, to learn the first offset at or after it.
    ///   - serial: comes back with the answer.
    ///   - inPart: a partition of which nothing is told keeps none from the others' answer:
    ///     `.positionsFailed` names it, then comes `.positions`.
    public func askPositions(
        _ partitions: [TopicPartition], startTime: Int64? = nil, serial: Int = 0,
        inPart: Bool = false
    ) {
        guard !isClosed else { return }
        guard !partitions.isEmpty else { return tell(.positions([:], serial: serial)) }
        let question = unsafe PositionsQuestion(handle: handle, partitions: partitions)
        ask(question.parts(startTime: startTime), question.ask) { consumer, _, error in
            if let error = error ?? (inPart && !question.positions.isEmpty ? nil : question.failure)
            {
                return consumer.tell(.positionsFailed(partitions, serial: serial, error))
            }
            if let error = question.failure {
                consumer.tell(
                    .positionsFailed(question.failures.keys.sorted(), serial: serial, error))
            }
            consumer.tell(.positions(question.positions, serial: serial))
        }
    }

    /// Asks how many partitions topics have: `.topics` or `.topicsFailed` answers. Never waits.
    ///
    /// - Parameter inPart: a topic that may not be described keeps none from the others' answer:
    ///   `.topicsFailed` names it in its partition, then comes `.topics`.
    public func askTopics(_ topics: [String], inPart: Bool = false) {
        let handle = unsafe handle
        ask(topics) { (topic) throws(KafkaError) in
            (topic, try unsafe TopicMetadata(topic, handle))
        } finish: { consumer, found, error in
            let failures = found.compactMap(\.1.error)
            if let error = error ?? (inPart && failures.count < topics.count ? nil : failures.first)
            {
                return consumer.tell(.topicsFailed(error))
            }
            for failure in failures { consumer.tell(.topicsFailed(failure)) }
            let known = found.filter { $0.1.error == nil }.map { ($0.0, $0.1.leaders.count) }
            consumer.tell(.topics(Dictionary(known) { $1 }))
        }
    }

    /// Puts questions one after the other until one fails, a call each: others come in between, and
    /// each answer shows that this client moves, however slow the brokers are and however many
    /// questions there are.
    private func ask<Question, Answer>(
        _ questions: some Collection<Question>,
        _ question: @escaping (Question) throws(KafkaError) -> Answer,
        after answers: [Answer] = [],
        finish: @escaping (Consumer, [Answer], KafkaError?) -> Void
    ) {
        guard !isClosed else { return }
        guard let first = questions.first else { return finish(self, answers, nil) }
        let box = Box(Result<Answer, KafkaError>?.none)
        thread.call {
            do throws(KafkaError) {
                box.value = .success(try question(first))
            } catch {
                box.value = .failure(error)
            }
        } finish: { [weak self] in
            switch box.value {
            case .success(let answer):
                self?.ask(
                    questions.dropFirst(), question, after: answers + [answer], finish: finish)
            case .failure(let error): if let self { finish(self, answers, error) }
            case nil: break
            }
        }
    }

    /// How many questions are with the thread that waits for answers.
    public var openQuestions: Int { thread.pending }
    /// How many were answered or have failed in their time, which is 10 s at most, since this
    /// client was made.
    public var answeredQuestions: Int { thread.finished }

    /// Wakes librdkafka where it sleeps although there is more to fetch. Call it when no queue has
    /// records left; it never waits.
    ///
    /// At 2.0.2 a partition whose queue was full is not fetched again until its leader's thread
    /// happens to wake, up to a second later. Any request to that leader wakes the thread: its
    /// watermarks are asked, one question at a time, which also renews the high watermark.
    public func wakeStalled() {
        guard !isWaking else { return }
        for reader in readers.values where unsafe reader.takeStall(handle: handle) {
            wake(reader.partition)
            return
        }
    }

    /// Asks where the partitions end that have records waiting, stand still or have not been
    /// fetched yet, so that their lag stays true: while no more is read of them nothing is fetched,
    /// and no fetch tells of what has been appended or removed since. Never waits; `progress` has
    /// the answers when they have come.
    ///
    /// - Parameter suspects: asked about too, whatever is known of them.
    /// - Parameter unread: assigned, and not being read: `bounds` has the answers.
    public func renewEnds(
        of suspects: [TopicPartition] = [], unread: [TopicPartition] = [], at now: Moment
    ) {
        guard !isRenewing else { return }
        let unread = unread.filter { readers[$0] == nil && assignment.contains($0) }
        bounds = bounds.filter { unread.contains($0.key) }
        let behind = readers.values.filter { reader in
            unsafe suspects.contains(reader.partition) || reader.isBehind(handle: handle)
        }
        ask(unread + behind.map(\.partition), at: now)
    }

    /// Asks where these partitions end, of which one has been read to the end that is known: the
    /// client keeps that end also while their leaders are out of reach. What got no answer is left
    /// to `renewEnds`, which is called more rarely. Never waits.
    public func askEnds(of partitions: [TopicPartition], at now: Moment) {
        ask(partitions.filter { readers[$0] != nil && !silent.contains($0) }, at: now)
    }

    /// - Parameter now: what the answers will be as old as.
    private func ask(_ partitions: [TopicPartition], at now: Moment) {
        guard !isRenewing, !isClosed, !partitions.isEmpty else { return }
        isRenewing = true
        // A partition without a leader costs the whole time limit: it must not hide the others.
        let asked = partitions.filter { !silent.contains($0) } + silent.filter(partitions.contains)
        let handle = unsafe handle
        ask(asked) { (partition) throws(KafkaError) in
            (partition, try unsafe watermarks(of: partition, handle, endMillisecondsMax))
        } finish: { consumer, found, error in
            // A broker that does not answer is not asked for each of its partitions.
            consumer.learn(Dictionary(found) { $1 }, silent: error?.partition, askedAt: now)
        }
    }

    private func learn(
        _ found: [TopicPartition: PartitionBounds], silent unanswered: TopicPartition?,
        askedAt: Moment
    ) {
        isRenewing = false
        silent.removeAll { found[$0] != nil || $0 == unanswered || !assignment.contains($0) }
        if let unanswered { silent.append(unanswered) }
        for (partition, told) in found {
            guard let reader = readers[partition] else {
                if assignment.contains(partition) { bounds[partition] = told }
                continue
            }
            unsafe reader.learn(told, askedAt: askedAt, handle: handle)
        }
    }

    private func wake(_ partition: TopicPartition) {
        isWaking = true
        wakes += 1
        let handle = unsafe handle
        thread.call {
            _ = try? unsafe watermarks(of: partition, handle, answerMillisecondsMax)
        } finish: { [weak self] in
            self?.isWaking = false
        }
    }
}

/// Asks the brokers what they know of partitions, in parts that each wait for one answer.
///
/// It is with the thread while that asks, and with the loop between two parts.
@safe
private final class PositionsQuestion {
    /// What one call asks.
    enum Part {
        case leaders(String)
        case ends(TopicPartition)
        case commits
        case offsets(time: Int64)
        case clusterID
    }

    /// What has been answered so far.
    private(set) var positions: [TopicPartition: PartitionPositions] = [:]
    /// Of which nothing is told, and why.
    private(set) var failures: [TopicPartition: KafkaError] = [:]
    private var leaders: [TopicPartition: Int32] = [:]
    /// Brokers that have not answered: they are not asked for each of their partitions.
    private var silent: [Int32: KafkaError] = [:]
    private let handle: OpaquePointer
    private let partitions: [TopicPartition]

    init(handle: OpaquePointer, partitions: [TopicPartition]) {
        unsafe self.handle = handle
        self.partitions = partitions
    }

    /// What is to be asked, in this order.
    func parts(startTime: Int64?) -> [Part] {
        Set(partitions.map(\.topic)).sorted().map(Part.leaders) + partitions.map(Part.ends)
            + [.commits] + (startTime.map { [.offsets(time: $0)] } ?? [])
            + [.clusterID]
    }

    func ask(_ part: Part) throws(KafkaError) {
        switch part {
        case .leaders(let topic):
            let metadata = try unsafe TopicMetadata(topic, handle)
            for (number, leader) in metadata.leaders {
                leaders[TopicPartition(topic, number)] = leader
            }
            guard let error = metadata.error else { return }
            for partition in partitions where partition.topic == topic { fail(partition, error) }
        case .ends(let partition): askEnds(of: partition)
        case .commits:
            for entry in try commits() {
                if let error = entry.error { fail(entry.partition, error) }
                positions[entry.partition]?.committed = entry.offset
                positions[entry.partition]?.metadata = entry.metadata
            }
        case .offsets(let time):
            for entry in try offsets(at: time) {
                if let error = entry.error { fail(entry.partition, error) }
                // None at or after that time: the end.
                let end = positions[entry.partition]?.high
                positions[entry.partition]?.atStartTime = entry.offset ?? end
            }
        case .clusterID:
            let clusterID = clusterID()
            for partition in partitions { positions[partition]?.clusterID = clusterID }
        }
    }

    private func askEnds(of partition: TopicPartition) {
        guard failures[partition] == nil else { return }
        guard let leader = leaders[partition], leader >= 0 else {
            return fail(partition, KafkaError(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE))
        }
        if let error = silent[leader] { return fail(partition, error) }
        do throws(KafkaError) {
            let told = try unsafe watermarks(of: partition, handle, answerMillisecondsMax)
            positions[partition] = PartitionPositions(
                low: told.low, high: told.high, committed: nil)
        } catch {
            if ["_TIMED_OUT", "_TRANSPORT"].contains(error.code) { silent[leader] = error }
            fail(partition, error)
        }
    }

    private func fail(_ partition: TopicPartition, _ error: KafkaError) {
        var error = error
        error.partition = partition
        failures[partition] = error
        positions[partition] = nil
    }

    /// One of the failures.
    var failure: KafkaError? { failures.min { $0.key < $1.key }?.value }

    private var answered: [TopicPartition] { partitions.filter { positions[$0] != nil } }

    /// What the group has committed.
    ///
    /// `rd_kafka_ListConsumerGroupOffsets` would not need a thread, but aborts the process where
    /// the coordinator goes away meanwhile (confluentinc/librdkafka#3663).
    private func commits() throws(KafkaError) -> [PartitionEntry] {
        guard !answered.isEmpty else { return [] }
        let list = PartitionList(answered) { _ in nil }
        try KafkaError.check(
            unsafe rd_kafka_committed(handle, list.pointer, answerMillisecondsMax))
        return unsafe PartitionEntry.copy(list.pointer)
    }

    private func offsets(at time: Int64) throws(KafkaError) -> [PartitionEntry] {
        guard !answered.isEmpty else { return [] }
        let list = PartitionList(answered) { _ in time }
        try KafkaError.check(
            unsafe rd_kafka_offsets_for_times(handle, list.pointer, answerMillisecondsMax))
        return unsafe PartitionEntry.copy(list.pointer)
    }

    private func clusterID() -> String? {
        guard let id = unsafe rd_kafka_clusterid(handle, answerMillisecondsMax) else { return nil }
        defer { unsafe rd_kafka_mem_free(handle, id) }
        return unsafe String(cString: id)
    }
}

/// Asks a partition's leader where it begins and ends, and waits for it.
private func watermarks(
    of partition: TopicPartition, _ handle: OpaquePointer, _ millisecondsMax: Int32
) throws(KafkaError) -> PartitionBounds {
    var low: Int64 = 0
    var high: Int64 = 0
    let code = unsafe rd_kafka_query_watermark_offsets(
        handle, partition.topic, partition.partition, &low, &high, millisecondsMax)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
        var error = KafkaError(code)
        error.partition = partition
        throw error
    }
    return PartitionBounds(low: low, high: high)
}

/// What a broker knows of a topic: asked for, and waited for.
private struct TopicMetadata {
    /// The brokers that lead its partitions, by number; negative where none does. Empty where the
    /// topic does not exist.
    private(set) var leaders: [Int32: Int32] = [:]
    /// Why nothing is told of this topic; its partition's number is negative.
    private(set) var error: KafkaError?

    init(_ topic: String, _ handle: OpaquePointer) throws(KafkaError) {
        guard let local = unsafe rd_kafka_topic_new(handle, topic, nil) else {
            throw KafkaError(rd_kafka_last_error())
        }
        defer { unsafe rd_kafka_topic_destroy(local) }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        try KafkaError.check(
            unsafe rd_kafka_metadata(handle, 0, local, &metadata, answerMillisecondsMax))
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        for index in 0..<Int(unsafe metadata!.pointee.topic_cnt) {
            let found = unsafe metadata!.pointee.topics[index]
            switch unsafe found.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR:
                for number in 0..<Int(unsafe found.partition_cnt) {
                    let partition = unsafe found.partitions[number]
                    leaders[unsafe partition.id] = unsafe partition.leader
                }
            case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: break
            case let code:
                error = KafkaError(code, text: "topic \(topic): \(KafkaError(code).text)")
                error?.partition = TopicPartition(topic, -1)
            }
        }
    }
}
