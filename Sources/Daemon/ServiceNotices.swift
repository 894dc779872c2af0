internal import BridgeCore
internal import EventLoop

/// What the service manager is told, and when: readiness, a line that says how things are, and
/// signs of life (systemd's `Type=notify`, `WatchdogSec=`). Does nothing where there is none.
struct ServiceNotices {
    private let manager: ServiceManager?
    /// Changes of state that were not taken yet.
    private var owed: [String] = []
    private var lastStatus = ""
    /// When to tell the next time, by the monotonic clock; nil for never.
    private(set) var nextTick: Int64?

    /// How often the line is renewed, where the watchdog does not want more.
    private static let statusInterval = Duration.seconds(5)
    /// The longest line: it is one of `systemctl status`.
    private static let statusMax = 240

    init(_ manager: ServiceManager?) { self.manager = manager }

    /// It serves: what depends on it may start.
    mutating func ready(_ status: String, at now: Moment) {
        tell(["READY=1"], status)
        schedule(now)
    }

    /// A new configuration is on its way in; `ready` follows.
    mutating func reloading(at now: Moment) {
        // The time is for systemd 253 and later; 252 passes it over.
        tell(["RELOADING=1", "MONOTONIC_USEC=\(now.monotonic / 1000)"], "reloading")
    }

    /// It ends, within a time that may be longer than the unit's `TimeoutStopSec=`.
    mutating func stopping(within limit: Duration) {
        let microseconds = limit.components.seconds * 1_000_000
        tell(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(microseconds)"], "stopping")
    }

    /// The last word.
    mutating func ended(_ status: String) { tell([], status) }

    /// Tells what is due.
    ///
    /// - Parameter isAlive: whether all parts move: the watchdog gets no sign of life else.
    mutating func tick(at now: Moment, isAlive: () -> Bool, status: () -> String) {
        guard let nextTick, now.monotonic >= nextTick else { return }
        tell(manager?.watchdog != nil && isAlive() ? ["WATCHDOG=1"] : [], status())
        schedule(now)
    }

    private mutating func tell(_ state: [String], _ status: String) {
        guard let manager else { return }
        let line = Self.line(status)
        let news = owed + state + (line == lastStatus ? [] : ["STATUS=\(line)"])
        guard !news.isEmpty else { return }
        if manager.tell(news) {
            owed = []
            lastStatus = line
        } else {
            owed += state.filter { $0 != "WATCHDOG=1" }
        }
    }

    private mutating func schedule(_ now: Moment) {
        guard let manager else { return }
        let interval = manager.watchdog.map { min($0 / 3, Self.statusInterval) }
        nextTick = now.after(interval ?? Self.statusInterval)
    }

    /// One line without control characters, of bounded length.
    static func line(_ text: String) -> String {
        let line = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
        return line.count <= statusMax ? line : line.prefix(statusMax - 1) + "…"
    }
}
