internal import BridgeCore
internal import Kafka

/// What is read once: partitions of a topic, each from an offset to where it ended at the start.
struct TopicRange {
    private let consumer: Consumer
    private(set) var starts: [TopicPartition: Int64] = [:]
    private(set) var ends: [TopicPartition: Int64] = [:]

    init(_ consumer: Consumer) { self.consumer = consumer }

    /// Adds a partition, unless nothing of it is to be read.
    mutating func add(_ partition: TopicPartition, from start: Int64, to end: Int64) {
        guard start < end else { return }
        starts[partition] = start
        ends[partition] = end
    }

    var partitions: [TopicPartition] { starts.keys.sorted() }

    /// Takes the partitions from Kafka by hand.
    func take() { consumer.take(partitions) }

    /// Begins to read, also once more.
    func begin() { consumer.read(starts) }

    /// How many offsets there are.
    var total: Int64 {
        ends.reduce(0) { $0 + $1.value - (starts[$1.key] ?? $1.value) }
    }

    /// How many of them have been read. Gaps, as transactions leave, count as read.
    var readCount: Int64 {
        ends.reduce(0) { sum, entry in
            sum + max(0, min(position(of: entry.key), entry.value) - (starts[entry.key] ?? 0))
        }
    }

    /// Everything has been read.
    var isRead: Bool { ends.allSatisfy { position(of: $0.key) >= $0.value } }

    /// The next records of a partition.
    func records(of partition: TopicPartition, max: Int = 1000, bytesMax: Int) -> [Record] {
        guard let end = ends[partition] else { return [] }
        return consumer.records(of: partition, max: max, bytesMax: bytesMax)
            .filter { $0.offset < end }
    }

    private func position(of partition: TopicPartition) -> Int64 {
        consumer.progress(of: partition)?.position ?? 0
    }
}
