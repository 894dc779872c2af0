internal import EventLoop

/// A secret file that is read again when it has changed.
struct WatchedFile {
    let path: String
    private var stamp: File.Stamp?
    private var checkedAt: Int64?

    init(_ path: String) { self.path = path }

    /// The file's bytes where it is new or has changed since the last time, else nil. Looks at most
    /// once a second unless forced. A file that has gone for a moment (it is being replaced) counts
    /// as unchanged once it was read.
    mutating func changed(
        now: Int64, force: Bool = false
    ) throws(SystemError) -> (bytes: [UInt8], warning: String?)? {
        if let checkedAt, !force, stamp != nil, now - checkedAt < 1_000_000_000 { return nil }
        checkedAt = now
        // Taken before reading: a change in between is seen the next time.
        let found = File.stamp(path)
        if stamp != nil, found == nil || found == stamp { return nil }
        let contents = try File.readSecret(path)
        stamp = found
        return contents
    }
}
