import BridgeCore
import CRdKafka
import Glibc

/// One partition's own queue, split from the main one so that back-pressure is not reading it.
@safe
final class PartitionReader {
    /// How many messages are taken out of C at a time.
    static let batchMax = 512
    /// The longest key that is remembered.
    private static let keyBytesMax = 128

    let partition: TopicPartition
    /// The offset of the next record to be returned.
    private(set) var position: Int64
    /// Why nothing more is returned.
    private(set) var halted: KafkaError?
    /// What the last fetch met instead of records or the end.
    private(set) var failure: KafkaError?
    /// Where librdkafka last reported that nothing more is there.
    private var end: Int64?
    /// Whether the queue was empty when it was last read.
    private var isDry = false
    /// Where the leader was last asked on behalf of this dry queue.
    private var woken: Int64?
    /// Where the leader said that the log begins and ends, and what the last fetch said when it
    /// did.
    private var asked: (told: PartitionBounds, at: Moment, fetched: Int64?)?
    /// A typical record's bytes, so that a batch does not overshoot the caller's limit by much.
    private var typicalSize = 1024
    /// Keys that came before, each where its hash says: records of one conversation share its
    /// bytes.
    private var keys = [[UInt8]](repeating: [], count: 1024)
    private let queue: OpaquePointer

    /// Splits the partition's queue. To be done before `rd_kafka_assign`, else records get lost or
    /// out of order.
    init(
        _ partition: TopicPartition, at position: Int64, handle: OpaquePointer,
        descriptor: EventDescriptor
    ) {
        self.partition = partition
        self.position = position
        unsafe queue = rd_kafka_queue_get_partition(
            handle, partition.topic, partition.partition)
        unsafe rd_kafka_queue_forward(queue, nil)
        unsafe descriptor.watch(queue)
    }

    deinit {
        unsafe EventDescriptor.unwatch(queue)
        unsafe rd_kafka_queue_destroy(queue)
    }

    /// Begins anew at an offset.
    func restart(at position: Int64) {
        self.position = position
        (halted, end, woken, isDry, asked) = (nil, nil, nil, false, nil)
    }

    /// Appends up to `max` records, stopping after `bytesMax`, until the queue is empty.
    ///
    /// Errors that the queue held are appended to `errors`; one that halts the partition ends the
    /// reading before its offset.
    func read(
        into records: inout [Record], max: Int, bytesMax: Int, errors: inout [KafkaError]
    ) {
        var bytes = 0
        let countMax = records.count + max
        isDry = false
        unsafe withUnsafeTemporaryAllocation(
            of: UnsafeMutablePointer<rd_kafka_message_t>?.self, capacity: Self.batchMax
        ) { messages in
            while halted == nil, records.count < countMax, bytes < bytesMax {
                let fitting = (bytesMax - bytes) / typicalSize + 1
                let wanted = min(Self.batchMax, countMax - records.count, fitting)
                let count = unsafe rd_kafka_consume_batch_queue(
                    queue, 0, messages.baseAddress, wanted)
                guard count > 0 else {
                    isDry = true
                    return
                }
                let before = bytes
                for index in 0..<count {
                    let message = unsafe messages[index]!
                    if halted == nil {
                        unsafe take(message, into: &records, bytes: &bytes, errors: &errors)
                    }
                    unsafe rd_kafka_message_destroy(message)
                }
                typicalSize = Swift.max(64, (bytes - before) / count)
            }
        }
    }

    private func take(
        _ message: UnsafeMutablePointer<rd_kafka_message_t>, into records: inout [Record],
        bytes: inout Int, errors: inout [KafkaError]
    ) {
        let offset = unsafe message.pointee.offset
        guard unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            unsafe takeError(message, into: &errors)
            return
        }
        // What was fetched before a restart or a new assignment of the same partition.
        guard offset >= position else { return }
        let record = unsafe Record(
            offset: offset, timestamp: timestamp(of: message), key: key(of: message),
            value: copy(message.pointee.payload, message.pointee.len),
            headers: headers(of: message))
        position = offset + 1
        failure = nil
        bytes += record.size
        records.append(record)
    }

    private func takeError(
        _ message: UnsafeMutablePointer<rd_kafka_message_t>, into errors: inout [KafkaError]
    ) {
        let offset = unsafe message.pointee.offset
        if unsafe message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
            position = max(position, offset)
            end = position
            failure = nil
            return
        }
        var error = unsafe KafkaError(
            message.pointee.err, text: String(cString: rd_kafka_message_errstr(message)))
        error.partition = partition
        error.offset = offset >= 0 ? offset : nil
        failure = error
        if error.action == .haltPartition { halted = error }
        errors.append(error)
    }

    /// How far it has been read.
    func progress(handle: OpaquePointer) -> PartitionProgress {
        var high = unsafe highWatermark(handle)
        var low: Int64?
        // A later fetch knows better, also where the log has become shorter.
        if let asked, asked.fetched == high {
            high = max(high ?? 0, asked.told.high)
            low = asked.told.low
        }
        return PartitionProgress(
            position: position, high: high, low: low, told: asked?.told.high, toldAt: asked?.at,
            failure: failure, halted: halted)
    }

    /// Whether the end is worth asking for: what is full or stands still is not fetched, and hears
    /// of nothing new; nor is what a broker refuses, so that nothing may be known yet.
    func isBehind(handle: OpaquePointer) -> Bool {
        guard halted == nil, let high = unsafe highWatermark(handle) else { return true }
        return position < high
    }

    /// The leader, asked at that time, has said where the log begins and ends.
    func learn(_ told: PartitionBounds, askedAt: Moment, handle: OpaquePointer) {
        asked = unsafe (told, askedAt, highWatermark(handle))
    }

    /// Whether more is known to be there than the empty queue got, so that librdkafka may sleep for
    /// up to a second before it fetches on. True once for each position: when a fetch is under way,
    /// its answer does what a second question would do.
    func takeStall(handle: OpaquePointer) -> Bool {
        guard isDry, halted == nil, end != position, woken != position,
            let high = unsafe highWatermark(handle), position < high
        else { return false }
        woken = position
        return true
    }

    private func highWatermark(_ handle: OpaquePointer) -> Int64? {
        var low: Int64 = -1
        var high: Int64 = -1
        let code = unsafe rd_kafka_get_watermark_offsets(
            handle, partition.topic, partition.partition, &low, &high)
        return code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
    }
}

// Copying: one pass, no text, and no list of headers where there is none.
extension PartitionReader {
    private func copy(_ start: UnsafeMutableRawPointer?, _ count: Int) -> [UInt8]? {
        guard let start = unsafe start else { return nil }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The key, with the bytes of an earlier record of the same key where one is remembered.
    private func key(of message: UnsafeMutablePointer<rd_kafka_message_t>) -> [UInt8]? {
        guard let start = unsafe message.pointee.key else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: message.pointee.key_len)
        guard bytes.count <= Self.keyBytesMax else { return unsafe [UInt8](bytes) }
        // What tells ids apart stands at their end.
        let hash = unsafe bytes.suffix(8).reduce(UInt(0)) { $0 &* 31 &+ UInt($1) }
        let place = Int(hash % UInt(keys.count))
        let isSame =
            unsafe bytes.count == keys[place].count
            && keys[place].withUnsafeBytes { last in
                unsafe last.count == 0 || memcmp(last.baseAddress!, start, last.count) == 0
            }
        if !isSame { keys[place] = unsafe [UInt8](bytes) }
        return keys[place]
    }

    private func timestamp(of message: UnsafeMutablePointer<rd_kafka_message_t>) -> Int64? {
        var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let time = unsafe rd_kafka_message_timestamp(message, &type)
        return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || time < 0 ? nil : time
    }

    private func headers(of message: UnsafeMutablePointer<rd_kafka_message_t>) -> [Header] {
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return []
        }
        var headers: [Header] = []
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while unsafe rd_kafka_header_get_all(list, headers.count, &name, &value, &size)
            == RD_KAFKA_RESP_ERR_NO_ERROR
        {
            let bytes = unsafe value.map {
                unsafe [UInt8](UnsafeRawBufferPointer(start: $0, count: size))
            }
            headers.append(Header(name: unsafe String(cString: name!), value: bytes))
        }
        return headers
    }
}
