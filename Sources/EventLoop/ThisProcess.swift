internal import CLinux

/// Settings of the whole process.
public enum ThisProcess {
    /// The process's id.
    public static var id: Int32 { getpid() }

    /// The user as whom it may do what it does.
    public static var user: UInt32 { geteuid() }

    /// Bounds glibc's malloc arenas, by default 8 a core: memory that one thread allocates and
    /// another frees (librdkafka's, curl's, ours) would spread over all of them. Call before any
    /// thread starts.
    public static func limitMallocArenas(_ count: Int32 = 2) { fb_limit_malloc_arenas(count) }

    /// Ends the process at once, without exit handlers, which may hang on other threads.
    public static func exitNow(_ code: Int32) -> Never { _exit(code) }
}

/// Bytes from the kernel's random number generator.
///
/// - Parameter count: how many.
public func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
        let got = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe getrandom(buffer.baseAddress! + done, count - done, 0)
        }
        precondition(got > 0 || fb_errno() == EINTR, "getrandom failed")
        done += max(got, 0)
    }
    return bytes
}
