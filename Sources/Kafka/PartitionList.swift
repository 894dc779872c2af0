import BridgeCore
import CRdKafka
import Glibc

/// A `rd_kafka_topic_partition_list_t`. Freed right after each call: a list that librdkafka has
/// resolved keeps references that make the handle's end hang.
@safe
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    /// Topics alone, to subscribe to.
    init(topics: [String]) {
        unsafe pointer = rd_kafka_topic_partition_list_new(Int32(topics.count))
        for topic in topics {
            unsafe rd_kafka_topic_partition_list_add(pointer, topic, -1)
        }
    }

    /// Partitions, with offsets where there is one (or a time, for the question about times).
    init(_ partitions: some Sequence<TopicPartition>, offset: (TopicPartition) -> Int64?) {
        unsafe pointer = rd_kafka_topic_partition_list_new(16)
        for partition in partitions {
            let entry = unsafe rd_kafka_topic_partition_list_add(
                pointer, partition.topic, partition.partition)
            if let offset = offset(partition) { unsafe entry!.pointee.offset = offset }
        }
    }

    /// Offsets to commit, all under the same metadata.
    init(_ offsets: [TopicPartition: Int64], metadata: String) {
        self.init(offsets.keys.sorted()) { offsets[$0] }
        guard !metadata.isEmpty else { return }
        for index in 0..<Int(unsafe pointer.pointee.cnt) {
            // librdkafka frees it with `free`.
            unsafe pointer.pointee.elems[index].metadata = UnsafeMutableRawPointer(
                strdup(metadata))
            unsafe pointer.pointee.elems[index].metadata_size = metadata.utf8.count
        }
    }

    deinit { unsafe rd_kafka_topic_partition_list_destroy(pointer) }
}

/// One entry of a list, copied out of C.
struct PartitionEntry {
    var partition: TopicPartition
    /// nil where librdkafka has a logical offset or none.
    var offset: Int64?
    var metadata: String
    var error: KafkaError?

    /// All entries of a list that stays librdkafka's.
    static func copy(
        _ list: UnsafePointer<rd_kafka_topic_partition_list_t>?
    ) -> [PartitionEntry] {
        guard let list = unsafe list else { return [] }
        return unsafe (0..<Int(list.pointee.cnt)).map { index in
            let entry = unsafe list.pointee.elems[index]
            let partition = unsafe TopicPartition(
                String(cString: entry.topic), entry.partition)
            var error = unsafe entry.err == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(entry.err)
            error?.partition = partition
            let metadata = unsafe UnsafeRawBufferPointer(
                start: entry.metadata, count: entry.metadata == nil ? 0 : entry.metadata_size)
            return unsafe PartitionEntry(
                partition: partition, offset: entry.offset < 0 ? nil : entry.offset,
                metadata: String(decoding: metadata, as: UTF8.self), error: error)
        }
    }
}
