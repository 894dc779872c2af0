internal import CLinux

/// The process's clocks: the one place where they are read.
public enum Clock {
    /// What both clocks say.
    ///
    /// - Returns: nanoseconds of CLOCK_MONOTONIC, for waiting, and milliseconds since 1970 (UTC),
    ///   for what is written.
    public static func now() -> (monotonic: Int64, wall: Int64) {
        (fb_clock_ns(0), fb_clock_ns(1) / 1_000_000)
    }

    /// Nanoseconds of CLOCK_MONOTONIC.
    public static func monotonic() -> Int64 { fb_clock_ns(0) }
}

extension Duration {
    /// What poll(2) takes: whole milliseconds, rounded up so that a short wait is none of busy
    /// turns, and bounded to a day; -1 (for ever) for nil.
    package static func pollMilliseconds(_ timeout: Duration?) -> Int32 {
        guard let timeout else { return -1 }
        let (seconds, attoseconds) = timeout.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 86_400 else { return 86_400_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
