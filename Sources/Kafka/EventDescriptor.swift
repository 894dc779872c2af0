import CRdKafka
import Glibc

/// An eventfd: readable from the first write on until it is drained. librdkafka's queues and the
/// thread for blocking calls write to it, so it is closed only when the last of them has let go.
final class EventDescriptor {
    let number: Int32

    init() {
        number = firebridge_eventfd()
        precondition(number >= 0, "no file descriptor is left for an eventfd: errno \(errno)")
    }

    /// Makes it readable.
    func signal() {
        var one: UInt64 = 1
        _ = unsafe write(number, &one, 8)
    }

    /// Makes it wait for the next write.
    func drain() {
        var count: UInt64 = 0
        _ = unsafe read(number, &count, 8)
    }

    /// Lets a queue write to it whenever the queue turns from empty to not empty.
    func watch(_ queue: OpaquePointer) {
        var one: UInt64 = 1
        unsafe rd_kafka_queue_io_event_enable(queue, number, &one, 8)
    }

    /// Ends `watch`. No write is on its way when this returns.
    static func unwatch(_ queue: OpaquePointer) {
        unsafe rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
    }

    deinit { close(number) }
}
