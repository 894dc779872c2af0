internal import CLinux

/// A system call that failed, or a file that is not what it must be.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried, and on what: `open /etc/firebridge/key.json`.
    public var action: String
    /// The errno, 0 where the system had no complaint but we have.
    public var code: Int32
    /// What was wrong, in words.
    public var reason: String

    /// An error of our own judgement.
    public init(_ action: String, reason: String) {
        self.action = action
        self.code = 0
        self.reason = reason
    }

    /// An error by its errno.
    public init(_ action: String, code: Int32) {
        self.action = action
        self.code = code
        self.reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    /// The error of the call that has just failed.
    static func last(_ action: String) -> SystemError { SystemError(action, code: fb_errno()) }

    /// Whether the file or program does not exist.
    public var isNotFound: Bool { code == ENOENT }

    /// Whether whoever reads has gone.
    public var isBrokenPipe: Bool { code == EPIPE }

    /// `open /etc/key.json: Permission denied`.
    public var description: String { "\(action): \(reason)" }
}
