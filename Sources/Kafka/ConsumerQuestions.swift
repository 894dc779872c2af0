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
    public func askPositions(
        _ partitions: [TopicPartition], startTime: Int64? = nil, serial: Int = 0
    ) {
        guard !isClosed else { return }
        guard !partitions.isEmpty else { return tell(.positions([:], serial: serial)) }
        let box = Box(Result<[TopicPartition: PartitionPositions], KafkaError>.success([:]))
        let handle = unsafe handle
        thread.call {
            do throws(KafkaError) {
                let question = unsafe PositionsQuestion(handle: handle, partitions: partitions)
                box.value = .success(try question.answer(startTime: startTime))
            } catch {
                box.value = .failure(error)
            }
        } finish: { [weak self] in
            switch box.value {
            case .success(let positions): self?.tell(.positions(positions, serial: serial))
            case .failure(let error):
                self?.tell(.positionsFailed(partitions, serial: serial, error))
            }
        }
    }

    /// Asks how many partitions topics have: `.topics` or `.topicsFailed` answers. Never waits.
    public func askTopics(_ topics: [String]) {
        guard !isClosed else { return }
        let box = Box(Result<[String: Int], KafkaError>.success([:]))
        let handle = unsafe handle
        thread.call {
            do throws(KafkaError) {
                var counts: [String: Int] = [:]
                for topic in topics { counts[topic] = try unsafe partitionCount(topic, handle) }
                box.value = .success(counts)
            } catch {
                box.value = .failure(error)
            }
        } finish: { [weak self] in
            switch box.value {
            case .success(let counts): self?.tell(.topics(counts))
            case .failure(let error): self?.tell(.topicsFailed(error))
            }
        }
    }

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

    /// Asks where the partitions end that have records waiting or stand still, so that their lag
    /// stays true: while no more is read of them nothing is fetched, and no fetch tells of what has
    /// been appended since. Never waits; `progress` has the answers when they have come.
    ///
    /// - Parameter suspects: asked about too, whatever is known of them.
    /// - Parameter unread: assigned, and not being read: `ends` has the answers.
    public func renewEnds(
        of suspects: [TopicPartition] = [], unread: [TopicPartition] = [], at now: Moment
    ) {
        guard !isRenewing else { return }
        let unread = unread.filter { readers[$0] == nil && assignment.contains($0) }
        ends = ends.filter { unread.contains($0.key) }
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
        let box = Box<(ends: [TopicPartition: Int64], silent: TopicPartition?)>(([:], nil))
        let handle = unsafe handle
        thread.call {
            for partition in asked {
                var low: Int64 = 0
                var high: Int64 = 0
                let code = unsafe rd_kafka_query_watermark_offsets(
                    handle, partition.topic, partition.partition, &low, &high,
                    endMillisecondsMax)
                // A broker that does not answer is not asked for each of its partitions.
                guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                    box.value.silent = partition
                    return
                }
                box.value.ends[partition] = high
            }
        } finish: { [weak self] in
            guard let self else { return }
            isRenewing = false
            let (found, unanswered) = box.value
            silent.removeAll { found[$0] != nil || $0 == unanswered || !assignment.contains($0) }
            if let unanswered { silent.append(unanswered) }
            for (partition, end) in found {
                guard let reader = readers[partition] else {
                    if assignment.contains(partition) { ends[partition] = end }
                    continue
                }
                unsafe reader.learn(end: end, askedAt: now, handle: handle)
            }
        }
    }

    private func wake(_ partition: TopicPartition) {
        isWaking = true
        wakes += 1
        let handle = unsafe handle
        thread.call {
            var low: Int64 = 0
            var high: Int64 = 0
            _ = unsafe rd_kafka_query_watermark_offsets(
                handle, partition.topic, partition.partition, &low, &high, answerMillisecondsMax)
        } finish: { [weak self] in
            self?.isWaking = false
        }
    }
}

/// Asks the brokers what they know of partitions, and waits for them.
@safe
private struct PositionsQuestion {
    let handle: OpaquePointer
    let partitions: [TopicPartition]

    func answer(
        startTime: Int64?
    ) throws(KafkaError) -> [TopicPartition: PartitionPositions] {
        var positions: [TopicPartition: PartitionPositions] = [:]
        for partition in partitions { positions[partition] = try ends(of: partition) }
        for entry in try commits() {
            positions[entry.partition]?.committed = entry.offset
            positions[entry.partition]?.metadata = entry.metadata
        }
        if let startTime {
            for entry in try offsets(at: startTime) {
                // None at or after that time: the end.
                let end = positions[entry.partition]?.high
                positions[entry.partition]?.atStartTime = entry.offset ?? end
            }
        }
        let clusterID = clusterID()
        for partition in partitions { positions[partition]?.clusterID = clusterID }
        return positions
    }

    private func ends(of partition: TopicPartition) throws(KafkaError) -> PartitionPositions {
        var low: Int64 = 0
        var high: Int64 = 0
        let code = unsafe rd_kafka_query_watermark_offsets(
            handle, partition.topic, partition.partition, &low, &high, answerMillisecondsMax)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            var error = KafkaError(code)
            error.partition = partition
            throw error
        }
        return PartitionPositions(low: low, high: high, committed: nil)
    }

    /// What the group has committed.
    ///
    /// `rd_kafka_ListConsumerGroupOffsets` would not need a thread, but aborts the process where
    /// the coordinator goes away meanwhile (confluentinc/librdkafka#3663).
    private func commits() throws(KafkaError) -> [PartitionEntry] {
        let list = PartitionList(partitions) { _ in nil }
        try KafkaError.check(
            unsafe rd_kafka_committed(handle, list.pointer, answerMillisecondsMax))
        return try entries(of: list)
    }

    private func offsets(at time: Int64) throws(KafkaError) -> [PartitionEntry] {
        let list = PartitionList(partitions) { _ in time }
        try KafkaError.check(
            unsafe rd_kafka_offsets_for_times(handle, list.pointer, answerMillisecondsMax))
        return try entries(of: list)
    }

    private func entries(of list: borrowing PartitionList) throws(KafkaError) -> [PartitionEntry] {
        let entries = unsafe PartitionEntry.copy(list.pointer)
        for entry in entries { if let error = entry.error { throw error } }
        return entries
    }

    private func clusterID() -> String? {
        guard let id = unsafe rd_kafka_clusterid(handle, answerMillisecondsMax) else { return nil }
        defer { unsafe rd_kafka_mem_free(handle, id) }
        return unsafe String(cString: id)
    }
}

/// Asks a broker for a topic's partitions and waits for it; 0 where the topic does not exist.
private func partitionCount(
    _ topic: String, _ handle: OpaquePointer
) throws(KafkaError) -> Int {
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
        case RD_KAFKA_RESP_ERR_NO_ERROR: return unsafe Int(found.partition_cnt)
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: return 0
        case let code: throw KafkaError(code, text: "topic \(topic): \(KafkaError(code).text)")
        }
    }
    return 0
}
