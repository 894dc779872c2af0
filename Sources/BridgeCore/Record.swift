/// One partition of one topic.
public struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The topic's name.
    public var topic: String
    /// The partition's number.
    public var partition: Int32

    /// Makes a partition's name.
    public init(_ topic: String, _ partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// By topic, then by number.
    public static func < (a: Self, b: Self) -> Bool {
        (a.topic, a.partition) < (b.topic, b.partition)
    }

    /// `topic/number`.
    public var description: String { "\(topic)/\(partition)" }
}

/// A Kafka record's header. Names may repeat; a value may be absent.
public struct Header: Hashable, Sendable {
    /// The header's name.
    public var name: String
    /// The header's value, nil where Kafka has none.
    public var value: [UInt8]?

    /// Makes a header.
    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}

/// A Kafka record, copied out of librdkafka at the door.
public struct Record: Hashable, Sendable {
    /// Where it stands in its partition.
    public var offset: Int64
    /// Kafka's own time of it in milliseconds since 1970, nil where it has none or one that RFC
    /// 3339 cannot write: a producer may say anything.
    public private(set) var timestamp: Int64?
    /// The key, nil where it has none.
    public var key: [UInt8]?
    /// The value, nil for a tombstone.
    public var value: [UInt8]?
    /// The headers, in order.
    public var headers: [Header]

    /// Makes a record.
    public init(
        offset: Int64, timestamp: Int64?, key: [UInt8]?, value: [UInt8]?, headers: [Header] = []
    ) {
        self.offset = offset
        self.timestamp = timestamp.flatMap { Timestamp.writable.contains($0) ? $0 : nil }
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// The bytes that the record keeps in memory, roughly.
    public var size: Int {
        var size = 96 + (key?.count ?? 0) + (value?.count ?? 0)
        for header in headers { size += 48 + header.name.utf8.count + (header.value?.count ?? 0) }
        return size
    }
}
