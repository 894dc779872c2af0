public import BridgeCore
import CRdKafka

/// A member of a consumer group, polled from one thread.
///
/// Everything that happens comes out of `nextEvent` and `records`; nothing calls back. An
/// assignment is answered at once with nothing to read, so that the group is not held up while
/// start offsets are being found, and `read` begins later. Each partition has its own queue: not
/// reading it is the whole of back-pressure, and librdkafka stops fetching it at a bound of its
/// own.
@safe
public final class Consumer {
    /// The consumer group.
    public let group: String
    /// The topics that are subscribed to.
    public private(set) var topics: [String] = []
    /// What the group gave this member and has not taken back.
    public internal(set) var assignment: Set<TopicPartition> = []
    /// The group wants everything back and `release` has not been called.
    public private(set) var isRevoking = false

    let handle: OpaquePointer
    let mainQueue: OpaquePointer
    let event = EventDescriptor()
    let thread: BlockingThread
    let properties: [(name: String, value: String)]
    var readers: [TopicPartition: PartitionReader] = [:]
    /// Where partitions begin and end that are not being read, as last asked (`renewEnds`).
    public internal(set) var bounds: [TopicPartition: PartitionBounds] = [:]
    /// Events that did not come by the queue, the oldest first.
    var ownEvents: [ConsumerEvent] = []
    var isWaking = false
    var isRenewing = false
    /// Whose leaders did not say where they end, the longest ago first.
    var silent: [TopicPartition] = []
    /// How often a sleeping fetch had to be woken.
    public internal(set) var wakes = 0
    var hasFailed = false
    var isClosed = false

    /// Joins a group. No broker needs to be there yet.
    ///
    /// - Parameters:
    ///   - brokers: `host:port` each.
    ///   - group: the group's id.
    ///   - topics: what to subscribe to; may be empty until `subscribe`.
    ///   - properties: librdkafka's, over the defaults of this class; see `PropertyRules`.
    ///   - clientID: how the brokers name this client in their logs and metrics, where
    ///     `client.id` of the properties does not say it.
    public init(
        brokers: [String], group: String, topics: [String],
        properties: [(name: String, value: String)] = [], clientID: String = "firebridge"
    ) throws(KafkaError) {
        self.group = group
        self.properties = properties
        let list = try PropertyList(
            user: Self.named(properties, for: topics),
            over: Self.defaults + [("client.id", clientID)],
            under: Self.fixed + [
                ("bootstrap.servers", brokers.joined(separator: ",")), ("group.id", group),
            ])
        list.setEvents(
            RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR
                | RD_KAFKA_EVENT_LOG)
        unsafe handle = try list.makeHandle(RD_KAFKA_CONSUMER, user: properties)
        unsafe rd_kafka_poll_set_consumer(handle)
        unsafe mainQueue = rd_kafka_queue_get_consumer(handle)
        unsafe rd_kafka_set_log_queue(handle, mainQueue)
        thread = BlockingThread(descriptor: event)
        unsafe event.watch(mainQueue)
        try subscribe(topics)
    }

    /// Kafka gives a member whose `group.instance.id` it knows the assignment that it had, whatever
    /// topics it asks for now (KAFKA-12759): who asks for other topics is another member.
    private static func named(
        _ properties: [(name: String, value: String)], for topics: [String]
    ) -> [(name: String, value: String)] {
        let hash = FNV1a.hash(topics.sorted().joined(separator: "\n").utf8)
        return properties.map { name, value in
            guard name.lowercased() == "group.instance.id", !topics.isEmpty, !value.isEmpty else {
                return (name, value)
            }
            return (name, "\(value)-\(String(hash, radix: 36))")
        }
    }

    /// Lets go of everything without waiting; `close` is the polite way.
    deinit { if !isClosed { abandon() } }

    /// Readable when `nextEvent` or `records` may have something new. It is non-blocking and tells
    /// of changes only: call `drainDescriptor`, then `nextEvent` until nil and `records` until
    /// empty (or as far as there is room, and again when there is room).
    public var descriptor: Int32 { event.number }

    /// Makes `descriptor` wait for the next change. Call it before looking, never after.
    public func drainDescriptor() { event.drain() }

    /// Changes the subscription; the group is joined anew. Topics that do not exist are picked up
    /// when they appear. None leaves the group.
    public func subscribe(_ topics: [String]) throws(KafkaError) {
        for topic in topics where topic.utf8.first == UInt8(ascii: "^") {
            throw KafkaError(
                code: "_INVALID_ARG", text: "topic \"\(topic)\": a pattern is not a topic's name",
                action: .fatal)
        }
        guard !isClosed else { return }
        self.topics = topics
        guard !topics.isEmpty else {
            try KafkaError.check(unsafe rd_kafka_unsubscribe(handle))
            return
        }
        let list = PartitionList(topics: topics)
        try KafkaError.check(unsafe rd_kafka_subscribe(handle, list.pointer))
    }

    /// Takes partitions by hand, in place of any others: without a subscription there is no group
    /// that gives or takes them, and nothing of the group changes.
    public func take(_ partitions: [TopicPartition]) {
        precondition(topics.isEmpty, "what is subscribed to is assigned by the group")
        readers.removeAll()
        assignment = Set(partitions)
    }

    /// Begins to read assigned partitions at these offsets; those that are already being read go on
    /// where they are, unless named again.
    ///
    /// What is not assigned (any more) is passed over.
    public func read(_ starts: [TopicPartition: Int64]) {
        guard !isRevoking, !isClosed else { return }
        for (partition, offset) in starts where assignment.contains(partition) {
            if let reader = readers[partition] {
                reader.restart(at: offset)
            } else {
                readers[partition] = unsafe PartitionReader(
                    partition, at: offset, handle: handle, descriptor: event)
            }
        }
        // With the eager protocol an assignment is replaced as a whole; a partition that stands
        // still is left out, else it would be fetched and fail over and over.
        let running = readers.values.filter { $0.halted == nil }.map(\.partition).sorted()
        assign(PartitionList(running) { readers[$0]!.position })
    }

    /// Takes records that have arrived, in order, up to `max` and about `bytesMax`.
    ///
    /// The queue is empty when fewer come than both limits allow. What went wrong comes as an
    /// event.
    public func records(of partition: TopicPartition, max: Int, bytesMax: Int) -> [Record] {
        var records: [Record] = []
        var errors: [KafkaError] = []
        readers[partition]?.read(
            into: &records, max: max, bytesMax: bytesMax, errors: &errors)
        for error in errors { tell(.error(error)) }
        return records
    }

    /// Fetches partitions again that a broker refused, from where they are. Never waits.
    ///
    /// librdkafka tells of the end only once: without this the next record alone would tell that
    /// one may be read again.
    public func fetchAgain(_ partitions: [TopicPartition]) {
        let refused = partitions.filter { partition in
            readers[partition].map { $0.failure != nil && $0.halted == nil } ?? false
        }
        guard !refused.isEmpty, !isRevoking, !isClosed else { return }
        let list = PartitionList(refused) { readers[$0]!.position }
        if let error = unsafe KafkaError(
            consuming: rd_kafka_seek_partitions(handle, list.pointer, 0))
        {
            tell(.error(error))
        }
    }

    /// The partitions that are being read, those that stand still included.
    public var reading: [TopicPartition] { readers.keys.sorted() }

    /// How far a partition has been read, nil unless `read` began it.
    public func progress(of partition: TopicPartition) -> PartitionProgress? {
        unsafe readers[partition]?.progress(handle: handle)
    }

    /// Whether the broker has given this member's partitions away, or may have.
    public var isAssignmentLost: Bool {
        unsafe isClosed || rd_kafka_assignment_lost(handle) != 0
    }

    /// Commits offsets (of the next record to be read) with metadata; `.committed` tells the
    /// result.
    ///
    /// What is not assigned or was lost is refused here: the broker would take it and so rewind
    /// another member's work.
    ///
    /// - Parameter serial: comes back with the results.
    public func commit(
        _ offsets: [TopicPartition: Int64], metadata: String, serial: Int = 0
    ) {
        let isLost = isAssignmentLost
        let own = offsets.filter { !isLost && assignment.contains($0.key) }
        let foreign = offsets.filter { own[$0.key] == nil }
        if !foreign.isEmpty {
            let error = KafkaError(RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST)
            tell(.committed(foreign, serial: serial, error: error))
        }
        guard !own.isEmpty else { return }
        let list = PartitionList(own, metadata: metadata)
        let code = unsafe rd_kafka_commit_queue(
            handle, list.pointer, mainQueue, nil, UnsafeMutableRawPointer(bitPattern: serial))
        if code != RD_KAFKA_RESP_ERR_NO_ERROR {
            tell(.committed(own, serial: serial, error: KafkaError(code)))
        }
    }

    /// Gives all partitions back: the answer to `.revoked`.
    public func release() {
        guard isRevoking, !isClosed else { return }
        isRevoking = false
        unassign()
    }
}

extension Consumer {
    /// The group gives partitions: taken at once with nothing to read, see `read`.
    func accept(_ partitions: [TopicPartition]) {
        readers.removeAll()
        isRevoking = false
        assignment = Set(partitions)
        assign(PartitionList([]) { _ in nil })
        tell(.assigned(partitions.sorted()))
    }

    /// The group takes partitions: they stay until `release`.
    func giveUp(_ partitions: [TopicPartition]) {
        isRevoking = true
        let isLost = isAssignmentLost
        if isLost { assignment.removeAll() }
        tell(.revoked(partitions.sorted(), lost: isLost))
    }

    /// Ends reading and answers a rebalance with nothing.
    func unassign() {
        assignment.removeAll()
        unsafe report(rd_kafka_assign(handle, nil))
        readers.removeAll()
    }

    /// An event of our own, in the order of the others.
    func tell(_ event: ConsumerEvent) {
        ownEvents.append(event)
        self.event.signal()
    }

    private func assign(_ list: borrowing PartitionList) {
        unsafe report(rd_kafka_assign(handle, list.pointer))
    }

    private func report(_ code: rd_kafka_resp_err_t) {
        if code != RD_KAFKA_RESP_ERR_NO_ERROR { tell(.error(KafkaError(code))) }
    }
}
