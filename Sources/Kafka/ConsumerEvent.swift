public import BridgeCore

/// What a consumer has to say, in the order in which it happened.
public enum ConsumerEvent: Sendable {
    /// The group gave this member these partitions, and nothing beside them. Nothing is read yet:
    /// answer with `Consumer.read` when their start offsets are known, however long that takes.
    case assigned([TopicPartition])
    /// The group takes all partitions back. Answer with `Consumer.release` when what is in flight
    /// has settled. With `lost` another member may have them already: nothing can be committed any
    /// more.
    case revoked([TopicPartition], lost: Bool)
    /// The result of the `Consumer.commit` with this serial, for these partitions of it.
    case committed([TopicPartition: Int64], serial: Int, error: KafkaError?)
    /// The answer to the `Consumer.askPositions` with this serial.
    case positions([TopicPartition: PartitionPositions], serial: Int)
    /// The `Consumer.askPositions` with this serial has no answer for these; ask again.
    case positionsFailed([TopicPartition], serial: Int, KafkaError)
    /// The answer to `Consumer.askTopics`: partitions by topic, 0 for a topic that does not exist.
    case topics([String: Int])
    /// `Consumer.askTopics` has no answer, or none for the topic of the error's partition; ask
    /// again.
    case topicsFailed(KafkaError)
    /// Something went wrong, see `KafkaError.action`. With `.haltPartition` the partition gives no
    /// more records, and `KafkaError.partition` says which, until `Consumer.read` names a new
    /// offset for it.
    case error(KafkaError)
    /// librdkafka's log: a syslog level (3 error, 4 warning, 6 info, 7 debug) and a line.
    case log(level: Int, text: String)
}

/// How far a partition has been read.
public struct PartitionProgress: Equatable, Sendable {
    /// The offset of the next record to be returned by `Consumer.records`.
    public var position: Int64
    /// The offset that the next record produced will get, as of the last fetch or answer of the
    /// leader's; nil before the first.
    public var high: Int64?
    /// Where the log began when the leader was last asked; nil where a fetch knows better, or it
    /// was never asked.
    public var low: Int64?
    /// Where the leader said, when it was last asked (`Consumer.askEnds`), that what can be read
    /// ends; an open transaction is not counted. Nil before.
    public var told: Int64?
    /// When that was asked.
    public var toldAt: Moment?
    /// Why the last fetch gave nothing, if it failed and neither a record nor the end came since.
    public var failure: KafkaError?
    /// Why it stands still, if it does.
    public var halted: KafkaError?

    /// Records that are still to be read, nil while the end is unknown. What retention has removed
    /// never will be.
    public var lag: Int64? {
        high.map { PartitionBounds(low: low ?? 0, high: $0).records(from: position) }
    }
    /// Whether everything has been returned, as of the last fetch. Transactions' markers and
    /// removed records at the end do not count as unread; an open transaction does.
    public var isAtEnd: Bool { high.map { position >= $0 } ?? false }
}

/// Where a partition's log begins and ends.
public struct PartitionBounds: Equatable, Sendable {
    /// The first offset that is there.
    public var low: Int64
    /// The offset that the next record will get.
    public var high: Int64

    /// How many records are there from an offset on.
    public func records(from offset: Int64) -> Int64 { max(0, high - max(offset, low)) }
}
