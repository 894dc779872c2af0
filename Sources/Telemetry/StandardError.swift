import EventLoop
import Glibc

/// Standard error, as the log sees it.
public enum StandardError {
    /// A log to standard error.
    public static func log(level: LogLevel, format: LogStyle.Format) -> Log {
        Log(level: level, style: style(format), clock: Clock.now, send: send)
    }

    /// What a format means here (`LogStyle.init`).
    public static func style(_ format: LogStyle.Format) -> LogStyle {
        LogStyle(
            format, isTerminal: isatty(STDERR_FILENO) == 1,
            isJournal: isJournal(STDERR_FILENO, Environment.value("JOURNAL_STREAM")),
            noColor: Environment.value("NO_COLOR").map { !$0.isEmpty } ?? false)
    }

    /// Whether a descriptor is the one that systemd connected to the journal: `$JOURNAL_STREAM` is
    /// its `device:inode` (systemd.exec(5)).
    static func isJournal(_ descriptor: Int32, _ stream: String?) -> Bool {
        guard let stream else { return false }
        var file = stat()
        guard unsafe fstat(descriptor, &file) == 0 else { return false }
        return stream == "\(file.st_dev):\(file.st_ino)"
    }

    /// Writes what goes out at once. A descriptor that polls writable takes a line of PIPE_BUF
    /// bytes without blocking, so standard error, which other processes share, need not be set
    /// non-blocking.
    static func send(_ bytes: ArraySlice<UInt8>) -> Int { send(bytes, to: STDERR_FILENO) }

    static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        guard Poll.wait(forWriting: descriptor, timeout: .zero) else { return 0 }
        return (try? Descriptor.write(bytes, to: descriptor)) ?? 0
    }
}
