internal import CLinux

/// The signals that a program may wait for.
public enum Signal: Int32, Sendable {
    case hangUp = 1
    case interrupt = 2
    case kill = 9
    case user1 = 10
    case user2 = 12
    case pipe = 13
    case terminate = 15
    case child = 17
    case `continue` = 18
    case stop = 19
}

/// Signals that arrive as bytes to poll for, instead of interrupting the program: signalfd(2).
///
/// Make it first thing in `main`: it blocks the signals in the calling thread, and only threads
/// that start later inherit that. It also ignores SIGPIPE for the whole process, which OpenSSL can
/// raise. Works as PID 1 too, where an unhandled SIGTERM would be ignored.
public final class SignalDescriptor {
    /// The number, for `poll`.
    public let number: Int32

    /// Blocks the signals and makes the descriptor.
    public init(_ signals: [Signal]) throws(SystemError) {
        fb_ignore_signal(SIGPIPE)
        let numbers = signals.map(\.rawValue)
        number = unsafe numbers.withUnsafeBufferPointer { buffer in
            unsafe fb_signalfd(buffer.baseAddress, buffer.count)
        }
        guard number >= 0 else { throw .last("signalfd") }
    }

    deinit { close(number) }

    /// Ignores SIGPIPE for the whole process, for programs that wait for no signal.
    public static func ignoreBrokenPipes() { fb_ignore_signal(SIGPIPE) }

    /// The next signal that has arrived, nil when there is none.
    public func next() -> Signal? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard unsafe read(number, &info, size) == size else { return nil }
        return Signal(rawValue: Int32(info.ssi_signo))
    }
}
