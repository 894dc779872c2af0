public import BridgeCore
import CRdKafka
import Glibc

/// What became of a record that a producer took.
public enum ProducerEvent: Sendable {
    /// The broker has it at this offset on all in-sync replicas, or never will (`error`). After
    /// `KafkaError.isTooLarge` it may fit without its value.
    case delivered(token: Int, offset: Int64?, error: KafkaError?)
    /// Something went wrong that concerns no single record.
    case error(KafkaError)
    /// librdkafka's log: a syslog level (3 error, 4 warning, 6 info, 7 debug) and a line.
    case log(level: Int, text: String)
}

/// An idempotent producer that waits for all in-sync replicas, polled from one thread.
@safe
public final class Producer {
    /// Records that were taken and whose `.delivered` has not been returned yet.
    public private(set) var pending = 0

    private let handle: OpaquePointer
    private let queue: OpaquePointer
    private let event = EventDescriptor()
    private let thread: BlockingThread
    private let properties: [(name: String, value: String)]
    private var ownEvents: [ProducerEvent] = []
    /// How many of these were taken: to remove the first of many would move all others.
    private var eventsTaken = 0
    private var preparedTopics = unsafe [OpaquePointer]()
    private var isClosed = false

    /// What users may change.
    private static let defaults: [(String, String)] = [
        // A topic that is missing would come with the broker's defaults: a retention of days.
        ("allow.auto.create.topics", "false"),
        ("linger.ms", "5"),
        ("compression.codec", "lz4"),
        // The broker decides what is too large, not a limit of ours.
        ("message.max.bytes", "104857600"),
        // A request that is too large fails as a whole. With small ones no record is refused for
        // the company it keeps: a larger record travels alone.
        ("batch.size", "16384"),
        ("socket.timeout.ms", "15000"),
        ("socket.connection.setup.timeout.ms", "10000"),
        ("socket.keepalive.enable", "true"),
        ("socket.nagle.disable", "true"),
        ("connections.max.idle.ms", "180000"),
        ("reconnect.backoff.max.ms", "2000"),
        ("topic.metadata.refresh.interval.ms", "10000"),
        ("log.connection.close", "false"),
    ]

    /// Makes a producer; no broker needs to be there yet.
    ///
    /// - Parameters:
    ///   - brokers: `host:port` each.
    ///   - properties: librdkafka's; a consumer's own are ignored, so that one set serves both.
    ///   - clientID: how the brokers name this client in their logs and metrics, where
    ///     `client.id` of the properties does not say it.
    public init(
        brokers: [String], properties: [(name: String, value: String)] = [],
        clientID: String = "firebridge"
    ) throws(KafkaError) {
        self.properties = properties
        let list = try PropertyList(
            user: properties, over: Self.defaults + [("client.id", clientID)],
            under: [
                ("enable.idempotence", "true"), ("acks", "all"), ("log.queue", "true"),
                ("bootstrap.servers", brokers.joined(separator: ",")),
            ])
        list.setEvents(RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        unsafe handle = try list.makeHandle(RD_KAFKA_PRODUCER, user: properties)
        unsafe queue = rd_kafka_queue_get_main(handle)
        unsafe rd_kafka_set_log_queue(handle, queue)
        thread = BlockingThread(descriptor: event)
        unsafe event.watch(queue)
    }

    deinit { if !isClosed { abandon() } }

    /// Readable when `nextEvent` may have something new; non-blocking, tells of changes only. Call
    /// `drainDescriptor`, then `nextEvent` until nil.
    public var descriptor: Int32 { event.number }

    /// Makes `descriptor` wait for the next change. Call it before looking, never after.
    public func drainDescriptor() { event.drain() }

    /// Begins to look for the leaders of topics. The first record of a topic that was not prepared
    /// waits for librdkafka's next look at its topics, which it takes once a second.
    public func prepare(topics: [String]) {
        for topic in topics {
            guard let topic = unsafe rd_kafka_topic_new(handle, topic, nil) else { continue }
            unsafe preparedTopics.append(topic)
        }
    }

    /// Takes a record, copied; `.delivered` tells what became of it, under its token.
    ///
    /// - Parameters:
    ///   - partition: nil leaves it to the partitioner: by key where there is one.
    ///   - timestamp: milliseconds since 1970; nil is now.
    /// - Throws: `isTooLarge` at once where even the client's limit is passed; `_QUEUE_FULL` when
    ///   too much is pending: poll, and produce again later.
    public func produce(
        topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?,
        headers: [Header] = [], timestamp: Int64? = nil, token: Int = 0
    ) throws(KafkaError) {
        guard !isClosed else { throw KafkaError(RD_KAFKA_RESP_ERR__DESTROY) }
        let list = unsafe headers.isEmpty ? nil : Self.list(headers)
        let code = unsafe Self.withBytes(key) { key, keySize in
            unsafe Self.withBytes(value) { value, valueSize in
                unsafe firebridge_produce(
                    handle, topic, partition ?? -1, key, keySize, value, valueSize, list,
                    timestamp ?? 0, UnsafeMutableRawPointer(bitPattern: token))
            }
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            if let list = unsafe list { unsafe rd_kafka_headers_destroy(list) }
            throw KafkaError(code)
        }
        pending += 1
    }

    /// The next thing that happened, nil when there is nothing now. Never waits.
    public func nextEvent() -> ProducerEvent? {
        while eventsTaken == ownEvents.count {
            ownEvents.removeAll(keepingCapacity: true)
            eventsTaken = 0
            guard poll(milliseconds: 0) else { return nil }
        }
        return takeEvent()
    }

    /// Waits until every record is delivered or refused, within a limit, and returns whether it is
    /// so. The events are kept for `nextEvent`.
    @discardableResult
    public func flush(within limit: Duration) -> Bool {
        guard !isClosed else { return pending == 0 }
        let deadline = Deadline(in: limit)
        // With a flush under way nothing lingers.
        unsafe rd_kafka_flush(handle, 0)
        while unsafe rd_kafka_outq_len(handle) > 0, !deadline.hasPassed {
            _ = poll(milliseconds: deadline.milliseconds(max: 20))
        }
        while poll(milliseconds: 0) {}
        return unsafe rd_kafka_outq_len(handle) == 0
    }

    /// Frees everything within a limit, as far as possible, and returns whether it was. What is not
    /// delivered is dropped: `flush` before.
    @discardableResult
    public func close(within limit: Duration) -> Bool {
        guard !isClosed else { return true }
        let deadline = Deadline(in: limit)
        let completion = abandon()
        thread.wait(for: completion, until: deadline)
        return completion.isDone
    }

    @discardableResult
    private func abandon() -> Completion {
        isClosed = true
        unsafe EventDescriptor.unwatch(queue)
        unsafe rd_kafka_set_log_queue(handle, nil)
        unsafe rd_kafka_queue_destroy(queue)
        unsafe preparedTopics.forEach { unsafe rd_kafka_topic_destroy($0) }
        let completion = Completion()
        let handle = unsafe handle
        thread.call {
            unsafe rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
            unsafe rd_kafka_destroy(handle)
        } finish: {
            completion.isDone = true
        }
        return completion
    }
}

// From C and to C.
extension Producer {
    private func takeEvent() -> ProducerEvent {
        let event = ownEvents[eventsTaken]
        eventsTaken += 1
        if case .delivered = event { pending -= 1 }
        return event
    }

    /// Takes one event out of the queue; whether there was one.
    private func poll(milliseconds: Int32) -> Bool {
        guard !isClosed, let event = unsafe rd_kafka_queue_poll(queue, milliseconds) else {
            return false
        }
        switch unsafe rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR: unsafe takeReports(event)
        case RD_KAFKA_EVENT_ERROR: ownEvents.append(.error(unsafe error(event)))
        case RD_KAFKA_EVENT_LOG: unsafe takeLog(event)
        default: break
        }
        unsafe rd_kafka_event_destroy(event)
        return true
    }

    private func takeReports(_ event: OpaquePointer) {
        while let message = unsafe rd_kafka_event_message_next(event) {
            let code = unsafe message.pointee.err
            // Not rd_kafka_message_errstr: of a delivery report it gives the record's own value.
            let error = code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
            let offset = unsafe message.pointee.offset
            let token = unsafe Int(bitPattern: message.pointee._private)
            ownEvents.append(
                .delivered(token: token, offset: offset >= 0 ? offset : nil, error: error))
        }
    }

    private func error(_ event: OpaquePointer) -> KafkaError {
        var error = unsafe KafkaError(
            rd_kafka_event_error(event), text: String(cString: rd_kafka_event_error_string(event)),
            isFatal: rd_kafka_event_error_is_fatal(event) != 0)
        if error.action == .fatal { error = unsafe KafkaError.fatal(handle) ?? error }
        error.text = Properties.redact(error.text, properties)
        return error
    }

    private func takeLog(_ event: OpaquePointer) {
        guard let (level, facility, text) = unsafe LogLine.copy(event) else { return }
        // That a consumer's property has no effect here is as it should be.
        guard facility != "CONFWARN" else { return }
        ownEvents.append(
            .log(level: level, text: Properties.redact("\(facility): \(text)", properties)))
    }

    private static func list(_ headers: [Header]) -> OpaquePointer? {
        let list = unsafe rd_kafka_headers_new(headers.count)
        for header in headers {
            unsafe withBytes(header.value) { value, size in
                _ = unsafe rd_kafka_header_add(list, header.name, -1, value, size)
            }
        }
        return unsafe list
    }

    /// The bytes for C: nil is a null pointer, and none at all is a pointer to no bytes.
    private static func withBytes<Result>(
        _ bytes: [UInt8]?, _ body: (UnsafeRawPointer?, Int) -> Result
    ) -> Result {
        guard let bytes else { return body(nil, 0) }
        guard !bytes.isEmpty else {
            return unsafe withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
                unsafe body($0.baseAddress, 0)
            }
        }
        return unsafe bytes.withUnsafeBytes { unsafe body($0.baseAddress, $0.count) }
    }
}
