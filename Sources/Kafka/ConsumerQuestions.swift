public import BridgeCore
import CRdKafka

/// A question about positions whose two halves come back at different times.
final class PositionsQuestion {
    let partitions: [TopicPartition]
    var commits: [TopicPartition: PartitionEntry]?
    var log: LogPositions?
    var error: KafkaError?

    init(_ partitions: [TopicPartition]) { self.partitions = partitions }
}

/// What the brokers say of the log, without the group.
struct LogPositions {
    var watermarks: [TopicPartition: (low: Int64, high: Int64)] = [:]
    var atTime: [TopicPartition: Int64] = [:]
    var clusterID: String?
    var error: KafkaError?
}

/// Hands a result from the thread for blocking calls to the loop.
private final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// How long one question to a broker may take, in milliseconds.
private let answerMillisecondsMax: Int32 = 10_000

extension Consumer {
    /// Asks Kafka what it knows of partitions: `.positions` or `.positionsFailed` answers. Never
    /// waits.
    ///
    /// - Parameters:
    ///   - partitions: any; they need not be assigned.
    ///   - startTime: milliseconds since 1970, to learn the first offset at or after it.
    public func askPositions(_ partitions: [TopicPartition], startTime: Int64? = nil) {
        guard !isClosed else { return }
        guard !partitions.isEmpty else { return tell(.positions([:])) }
        questionCount += 1
        let number = questionCount
        questions[number] = PositionsQuestion(partitions)
        askCommits(partitions, number: number)
        let box = Box(LogPositions())
        let handle = unsafe handle
        thread.call {
            box.value = unsafe LogPositions(handle, partitions, startTime: startTime)
        } finish: { [weak self] in
            guard let self, let question = questions[number] else { return }
            question.log = box.value
            question.error = question.error ?? box.value.error
            answer(number)
        }
    }

    private func askCommits(_ partitions: [TopicPartition], number: Int) {
        let list = PartitionList(partitions) { _ in nil }
        var request = unsafe rd_kafka_ListConsumerGroupOffsets_new(group, list.pointer)
        let options = unsafe rd_kafka_AdminOptions_new(
            handle, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS)
        unsafe rd_kafka_AdminOptions_set_request_timeout(
            options, answerMillisecondsMax, nil, 0)
        unsafe rd_kafka_AdminOptions_set_opaque(
            options, UnsafeMutableRawPointer(bitPattern: number))
        unsafe rd_kafka_ListConsumerGroupOffsets(handle, &request, 1, options, mainQueue)
        unsafe rd_kafka_AdminOptions_destroy(options)
        unsafe rd_kafka_ListConsumerGroupOffsets_destroy(request)
    }

    /// The half of an answer that comes by the queue.
    func takeCommitted(_ event: OpaquePointer) {
        let number = unsafe Int(bitPattern: rd_kafka_event_opaque(event))
        guard let question = questions[number] else { return }
        let code = unsafe rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            question.error = unsafe KafkaError(
                code, text: String(cString: rd_kafka_event_error_string(event)))
            question.commits = [:]
            return answer(number)
        }
        var count = 0
        let result = unsafe rd_kafka_event_ListConsumerGroupOffsets_result(event)
        let groups = unsafe rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count)
        question.commits = [:]
        for index in 0..<count {
            let group = unsafe groups![index]
            if let error = unsafe rd_kafka_group_result_error(group) {
                question.error = unsafe KafkaError(
                    rd_kafka_error_code(error), text: String(cString: rd_kafka_error_string(error)))
            }
            for entry in unsafe PartitionEntry.copy(rd_kafka_group_result_partitions(group)) {
                question.error = question.error ?? entry.error
                question.commits?[entry.partition] = entry
            }
        }
        answer(number)
    }

    /// Answers when both halves are there.
    private func answer(_ number: Int) {
        guard let question = questions[number], let commits = question.commits,
            let log = question.log
        else { return }
        questions[number] = nil
        if let error = question.error { return tell(.positionsFailed(question.partitions, error)) }
        var positions: [TopicPartition: PartitionPositions] = [:]
        for partition in question.partitions {
            let (low, high) = log.watermarks[partition]!
            positions[partition] = PartitionPositions(
                low: low, high: high, committed: commits[partition]?.offset,
                metadata: commits[partition]?.metadata ?? "", atStartTime: log.atTime[partition],
                clusterID: log.clusterID)
        }
        tell(.positions(positions))
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
        of suspects: [TopicPartition] = [], unread: [TopicPartition] = []
    ) {
        guard !isRenewing, !isClosed else { return }
        var behind = unread.filter { readers[$0] == nil && assignment.contains($0) }
        ends = ends.filter { behind.contains($0.key) }
        for reader in readers.values
        where unsafe suspects.contains(reader.partition) || reader.isBehind(handle: handle) {
            behind.append(reader.partition)
        }
        guard !behind.isEmpty else { return }
        isRenewing = true
        let box = Box<[TopicPartition: Int64]>([:])
        let handle = unsafe handle
        let asked = behind
        thread.call {
            for partition in asked {
                var low: Int64 = 0
                var high: Int64 = 0
                let code = unsafe rd_kafka_query_watermark_offsets(
                    handle, partition.topic, partition.partition, &low, &high,
                    answerMillisecondsMax)
                // A broker that does not answer is not asked for each of its partitions.
                guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { return }
                box.value[partition] = high
            }
        } finish: { [weak self] in
            guard let self else { return }
            isRenewing = false
            for (partition, end) in box.value {
                guard let reader = readers[partition] else {
                    if assignment.contains(partition) { ends[partition] = end }
                    continue
                }
                unsafe reader.learn(end: end, handle: handle)
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

extension LogPositions {
    /// Asks the brokers and waits for them.
    fileprivate init(_ handle: OpaquePointer, _ partitions: [TopicPartition], startTime: Int64?) {
        for partition in partitions {
            var low: Int64 = 0
            var high: Int64 = 0
            let code = unsafe rd_kafka_query_watermark_offsets(
                handle, partition.topic, partition.partition, &low, &high, answerMillisecondsMax)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                error = KafkaError(code)
                error?.partition = partition
                return
            }
            watermarks[partition] = (low, high)
        }
        clusterID = unsafe Self.clusterID(handle)
        if let startTime { unsafe askTimes(handle, partitions, startTime: startTime) }
    }

    private static func clusterID(_ handle: OpaquePointer) -> String? {
        guard let id = unsafe rd_kafka_clusterid(handle, answerMillisecondsMax) else { return nil }
        defer { unsafe rd_kafka_mem_free(handle, id) }
        return unsafe String(cString: id)
    }

    private mutating func askTimes(
        _ handle: OpaquePointer, _ partitions: [TopicPartition], startTime: Int64
    ) {
        let list = PartitionList(partitions) { _ in startTime }
        let code = unsafe rd_kafka_offsets_for_times(handle, list.pointer, answerMillisecondsMax)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            error = KafkaError(code)
            return
        }
        for entry in unsafe PartitionEntry.copy(list.pointer) {
            if let failure = entry.error { error = failure }
            // None at or after that time: the end.
            atTime[entry.partition] = entry.offset ?? watermarks[entry.partition]!.high
        }
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
