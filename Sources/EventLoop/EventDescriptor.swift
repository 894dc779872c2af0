internal import CLinux

/// A wake-up that can be polled: eventfd(2). Any thread may `signal`, one owner polls and `clear`s.
public final class EventDescriptor: Sendable {
    /// The number, for `poll` and for C.
    public let number: Int32

    /// Makes one that is not signalled.
    public init() throws(SystemError) {
        number = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard number >= 0 else { throw .last("eventfd") }
    }

    deinit { close(number) }

    /// Makes the descriptor readable.
    public func signal() {
        var one: UInt64 = 1
        // Fails only when the counter is full: then it is readable already.
        _ = unsafe write(number, &one, 8)
    }

    /// Makes the descriptor unreadable again.
    ///
    /// - Returns: whether it had been signalled.
    @discardableResult
    public func clear() -> Bool {
        var count: UInt64 = 0
        return unsafe read(number, &count, 8) == 8
    }
}
