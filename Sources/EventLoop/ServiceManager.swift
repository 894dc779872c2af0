internal import CLinux

/// What starts and watches the process, systemd or another that speaks sd_notify(3): datagrams to
/// the socket that `$NOTIFY_SOCKET` names. No library of systemd's is needed.
public struct ServiceManager: Sendable {
    /// A path, or a name in the abstract namespace with `@` before it.
    let socket: String
    /// Within which time it wants a sign of life each (`$WATCHDOG_USEC`); nil where it wants none.
    public let watchdog: Duration?

    /// The one that the environment names.
    ///
    /// - Parameter process: the id of this process: a watchdog may be meant for another.
    /// - Returns: nil where nobody listens.
    public init?(_ environment: [String: String], process: Int32 = ThisProcess.id) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.count > 1,
            socket.hasPrefix("/") || socket.hasPrefix("@")
        else { return nil }
        self.socket = socket
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(process) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Says something, without waiting.
    ///
    /// - Parameter assignments: such as `READY=1`, each of one line.
    /// - Returns: false where it was not taken; it may be later.
    public func tell(_ assignments: [String]) -> Bool {
        let bytes = Array(assignments.joined(separator: "\n").utf8)
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe fb_notify(socket, buffer.baseAddress, buffer.count) == 0
        }
    }
}
