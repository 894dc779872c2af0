internal import CLinux

/// The sleep of programs that have no curl: poll(2).
public enum Poll {
    /// Sleeps until one of the descriptors can be read, has ended or has failed, or until the time
    /// is up.
    ///
    /// - Parameter timeout: nil waits for ever.
    /// - Returns: for each descriptor whether it is ready.
    public static func wait(for descriptors: [Int32], timeout: Duration?) -> [Bool] {
        wait(descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }, timeout)
    }

    /// Sleeps until the descriptor takes bytes, or until the time is up.
    public static func wait(forWriting descriptor: Int32, timeout: Duration?) -> Bool {
        wait([pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)], timeout)[0]
    }

    private static func wait(_ targets: [pollfd], _ timeout: Duration?) -> [Bool] {
        var targets = targets
        let milliseconds = Duration.pollMilliseconds(timeout)
        let ready = unsafe targets.withUnsafeMutableBufferPointer { buffer in
            unsafe poll(buffer.baseAddress, nfds_t(buffer.count), milliseconds)
        }
        // A signal ends the sleep early: the caller's loop looks at its clock anyway.
        return ready > 0 ? targets.map { $0.revents != 0 } : targets.map { _ in false }
    }
}
