import BridgeCore
import Glibc

/// A point of the monotonic clock, for the few calls that wait.
struct Deadline {
    private let nanoseconds: Int64

    init(in duration: Duration) { nanoseconds = Self.now + duration.nanoseconds }

    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// What is left, in milliseconds, at most `max`; 0 when it has passed.
    func milliseconds(max: Int32) -> Int32 {
        Int32(clamping: min(Int64(max), Swift.max(0, (nanoseconds - Self.now) / 1_000_000)))
    }

    var hasPassed: Bool { Self.now >= nanoseconds }
}

/// Whether something has come to its end.
final class Completion {
    var isDone = false
}
