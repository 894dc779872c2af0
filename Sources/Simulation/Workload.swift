internal import BridgeCore
internal import Oracle

/// One record in a partition of the simulated Kafka.
struct LoggedRecord {
    /// What must become of a record.
    enum Fate: Equatable {
        /// It takes effect.
        case effect
        /// It is rejected for this reason, always.
        case rejected(Rejection.Reason)
        /// It is rejected where it reaches the database; it may be superseded before.
        case harmless
    }

    var record: Record
    var fate: Fate
}

/// The logs of one world, and what they must leave.
struct Workload {
    /// A write that every listener is to see.
    struct Event {
        var offset: Int64
        var value: Node?
    }

    private(set) var logs: [TopicPartition: [LoggedRecord]] = [:]
    /// The end of each log: at least one more than the last offset.
    private(set) var ends: [TopicPartition: Int64] = [:]
    /// The records that take effect, apart from those of value mappings, in the order in which they
    /// were written.
    private(set) var valid: [(record: LogRecord, place: Place)] = []
    /// The nodes that the value mappings leave.
    private(set) var valueTree = Node.object([:])
    /// The events of each event node, in order of the log.
    private(set) var events: [[[UInt8]]: [Event]] = [:]
    private(set) var eventSource: [[[UInt8]]: TopicPartition] = [:]
    /// The records that are events.
    private(set) var eventOffsets: [TopicPartition: Set<Int64>] = [:]
    /// All partitions, in order.
    let partitions: [TopicPartition]

    init(seed: UInt64, shape: Shape, faults: Faults, random: inout SplitMix64) {
        partitions = shape.plan.topics.sorted().flatMap { topic in
            (0..<shape.partitions).map { TopicPartition(topic, $0) }
        }
        for partition in partitions {
            logs[partition] = []
            ends[partition] = 0
        }
        var streams = HardStreams(seed: seed)
        var records = streams.records(conversations: shape.conversations)
        if shape.settings.stallStatus { records = cutShort(records, &random) }
        for record in records {
            let partition = TopicPartition(
                record.topic, Int32(hash(record.key ?? []) % UInt64(shape.partitions)))
            if random.chance(faults.badRecord) {
                let (value, reason) = badValue(like: record, random: &random)
                append(
                    record, value: value, fate: .rejected(reason), to: partition, faults, &random)
            }
            let poison =
                random.chance(faults.poisonRecord)
                ? poisonValue(like: record, random: &random) : nil
            if let poison, poison.comesFirst {
                append(
                    record, value: poison.value, fate: poison.fate, to: partition, faults, &random)
            }
            append(record, value: record.value, fate: .effect, to: partition, faults, &random)
            let offset = logs[partition]!.last!.record.offset
            valid.append((record, Place(partition: partition, offset: offset)))
            if let poison, !poison.comesFirst {
                append(
                    record, value: poison.value, fate: poison.fate, to: partition, faults, &random)
            }
            if record.topic == LogRecord.messages, random.chance(faults.oversizeRecord) {
                append(
                    record, value: oversizeValue(like: record), fate: .rejected(.tooLarge),
                    to: partition, faults, &random)
            }
        }
        if faults.offsetGap > 0 {
            for partition in partitions where random.chance(0.3) { ends[partition]! += 2 }
        }
        if shape.valueRecords > 0 { addValues(shape, faults, &random) }
    }

    private mutating func addValues(
        _ shape: Shape, _ faults: Faults, _ random: inout SplitMix64
    ) {
        let values = ValueRecords(count: shape.valueRecords, faults: faults, random: &random)
        for (topic, key, value, fate) in values.records {
            let partition = TopicPartition(topic, Int32(hash(key) % UInt64(shape.partitions)))
            let record = LogRecord(
                topic: topic, key: key, value: [], timestamp: HardStreams.beginning)
            append(record, value: value, fate: fate, to: partition, faults, &random)
        }
        valueTree = values.tree
    }

    private mutating func append(
        _ record: LogRecord, value: [UInt8]?, fate: LoggedRecord.Fate,
        to partition: TopicPartition, _ faults: Faults, _ random: inout SplitMix64
    ) {
        if random.chance(faults.offsetGap) { ends[partition]! += Int64(random.int(1..<4)) }
        let offset = ends[partition]!
        ends[partition] = offset + 1
        logs[partition]!.append(
            LoggedRecord(
                record: Record(
                    offset: offset, timestamp: record.timestamp, key: record.key, value: value),
                fate: fate))
        guard fate == .effect else { return }
        for (path, value) in Oracle.events(of: record) {
            events[path, default: []].append(Event(offset: offset, value: value))
            eventSource[path] = partition
            eventOffsets[partition, default: []].insert(offset)
        }
    }

    /// The offset after the last record of a partition.
    func afterLast(_ partition: TopicPartition) -> Int64 {
        (logs[partition]!.last?.record.offset ?? -1) + 1
    }

    /// The fate of the record at an offset, nil where there is none.
    func fate(_ partition: TopicPartition, _ offset: Int64) -> LoggedRecord.Fate? {
        let log = logs[partition]!
        let index = log.firstIndex(notBefore: offset)
        return index < log.count && log[index].record.offset == offset ? log[index].fate : nil
    }
}

extension [LoggedRecord] {
    /// The index of the first record at or after an offset.
    func firstIndex(notBefore offset: Int64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].record.offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Without the last records of some conversations, as if their workers had died.
private func cutShort(_ records: [LogRecord], _ random: inout SplitMix64) -> [LogRecord] {
    let numbers = Dictionary(grouping: records.indices) { records[$0].key ?? [] }
    var lost: Set<Int> = []
    for indices in numbers.values.sorted(by: { $0[0] < $1[0] }) where random.chance(0.4) {
        lost.formUnion(indices.suffix(random.int(1..<indices.count + 1)))
    }
    return records.indices.filter { !lost.contains($0) }.map { records[$0] }
}

private func hash(_ key: [UInt8]) -> UInt64 {
    key.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}
