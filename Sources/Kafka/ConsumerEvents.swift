import BridgeCore
import CRdKafka

extension Consumer {
    /// The next thing that happened, nil when there is nothing now. Never waits.
    ///
    /// It must be called often, at least once in `max.poll.interval.ms`, or the group gives this
    /// member up.
    public func nextEvent() -> ConsumerEvent? {
        thread.finishCalls()
        while ownEvents.isEmpty {
            guard !isClosed, let event = unsafe rd_kafka_queue_poll(mainQueue, 0) else {
                return nil
            }
            unsafe translate(event)
            unsafe rd_kafka_event_destroy(event)
        }
        return ownEvents.removeFirst()
    }

    /// Turns one of librdkafka's events into ours: one, none or several.
    func translate(_ event: OpaquePointer) {
        switch unsafe rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_REBALANCE: unsafe takeRebalance(event)
        case RD_KAFKA_EVENT_OFFSET_COMMIT: unsafe takeCommit(event)
        case RD_KAFKA_EVENT_ERROR: unsafe takeError(event)
        case RD_KAFKA_EVENT_LOG: unsafe takeLog(event)
        case RD_KAFKA_EVENT_FETCH:
            preconditionFailure("a record came by the main queue: a partition was not split")
        default: break
        }
    }

    private func takeRebalance(_ event: OpaquePointer) {
        let partitions = unsafe PartitionEntry.copy(rd_kafka_event_topic_partition_list(event))
            .map(\.partition)
        switch unsafe rd_kafka_event_error(event) {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS: accept(partitions)
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS: giveUp(partitions)
        case let code:
            tell(.error(KafkaError(code)))
            unassign()
        }
    }

    private func takeCommit(_ event: OpaquePointer) {
        let general = unsafe rd_kafka_event_error(event)
        let entries = unsafe PartitionEntry.copy(rd_kafka_event_topic_partition_list(event))
        let isPartial = entries.contains { $0.error != nil }
        // One event for each way in which partitions fared.
        var offsets: [String: [TopicPartition: Int64]] = [:]
        var errors: [String: KafkaError] = [:]
        for entry in entries {
            guard let offset = entry.offset else { continue }
            var error = entry.error
            if !isPartial, general != RD_KAFKA_RESP_ERR_NO_ERROR { error = KafkaError(general) }
            error?.partition = nil
            offsets[error?.code ?? "", default: [:]][entry.partition] = offset
            errors[error?.code ?? ""] = error
        }
        let serial = unsafe Int(bitPattern: rd_kafka_event_opaque(event))
        // What failed comes last, lest a success be taken for the end of it.
        for (code, offsets) in offsets.sorted(by: { $0.key < $1.key }) {
            tell(.committed(offsets, serial: serial, error: errors[code]))
        }
    }

    private func takeError(_ event: OpaquePointer) {
        var error = unsafe KafkaError(
            rd_kafka_event_error(event), text: String(cString: rd_kafka_event_error_string(event)),
            isFatal: rd_kafka_event_error_is_fatal(event) != 0)
        if error.action == .fatal {
            hasFailed = true
            error = unsafe KafkaError.fatal(handle) ?? error
        }
        error.text = Properties.redact(error.text, properties)
        if let place = unsafe rd_kafka_event_topic_partition(event) {
            error.partition = unsafe TopicPartition(
                String(cString: place.pointee.topic), place.pointee.partition)
            unsafe rd_kafka_topic_partition_destroy(place)
        }
        tell(.error(error))
    }

    private func takeLog(_ event: OpaquePointer) {
        guard let (level, facility, text) = unsafe LogLine.copy(event) else { return }
        tell(.log(level: level, text: Properties.redact("\(facility): \(text)", properties)))
    }
}

/// A line of librdkafka's log.
enum LogLine {
    static func copy(_ event: OpaquePointer) -> (level: Int, facility: String, text: String)? {
        var facility: UnsafePointer<CChar>?
        var text: UnsafePointer<CChar>?
        var level: Int32 = 0
        guard unsafe rd_kafka_event_log(event, &facility, &text, &level) == 0,
            let facility = unsafe facility, let text = unsafe text
        else { return nil }
        return unsafe (Int(level), String(cString: facility), String(cString: text))
    }
}
