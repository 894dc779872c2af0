import CRdKafka

extension Consumer {
    /// Leaves the group and frees everything, as far as that is possible within `limit`, and
    /// returns whether it was. Commit before; afterwards every call is without effect.
    ///
    /// When a broker is silent, librdkafka's threads may outlive this: end the process then without
    /// its exit handlers' help (`_exit`).
    @discardableResult
    public func close(within limit: Duration) -> Bool {
        guard !isClosed else { return true }
        let deadline = Deadline(in: limit)
        if !hasFailed { leave(by: Deadline(in: limit * 0.7)) }
        let completion = abandon()
        thread.wait(for: completion, until: deadline)
        return completion.isDone
    }

    /// Leaves the group. The queue is a new one: with the consumer's own, librdkafka can hang
    /// (#4884).
    private func leave(by deadline: Deadline) {
        if isRevoking { release() }
        guard let queue = unsafe rd_kafka_queue_new(handle) else { return }
        defer { unsafe rd_kafka_queue_destroy(queue) }
        if let error = unsafe KafkaError(
            consuming: rd_kafka_consumer_close_queue(handle, queue))
        {
            return tell(.error(error))
        }
        while unsafe rd_kafka_consumer_closed(handle) == 0, !deadline.hasPassed {
            unsafe answerRebalance(rd_kafka_queue_poll(mainQueue, 0))
            unsafe answerRebalance(rd_kafka_queue_poll(queue, deadline.milliseconds(max: 20)))
        }
    }

    private func answerRebalance(_ event: OpaquePointer?) {
        guard let event = unsafe event else { return }
        if unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE { unassign() }
        unsafe rd_kafka_event_destroy(event)
    }

    /// Frees everything without waiting: the handle's end may block, so it is left to the thread,
    /// behind whatever call is still using the handle.
    @discardableResult
    func abandon() -> Completion {
        isClosed = true
        readers.removeAll()
        assignment.removeAll()
        unsafe EventDescriptor.unwatch(mainQueue)
        unsafe rd_kafka_set_log_queue(handle, nil)
        unsafe rd_kafka_queue_destroy(mainQueue)
        let completion = Completion()
        let handle = unsafe handle
        thread.call {
            unsafe rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        } finish: {
            completion.isDone = true
        }
        return completion
    }
}
