internal import CLinux

/// A child process. When the object goes, the child is killed and reaped.
///
/// Starts with a clean signal mask and default handlers, whatever its parent blocks. No SIGCHLD is
/// needed: `poll` asks.
@safe
public final class Subprocess {
    /// Where one of the three standard streams leads.
    public enum Stream: Sendable {
        /// /dev/null.
        case null
        /// The parent's own.
        case inherit
        /// A pipe, whose other end the parent gets.
        case pipe
        /// A descriptor of the parent's, which keeps it.
        case descriptor(Int32)
    }

    /// How the process ended.
    public enum Exit: Equatable, Sendable {
        /// It exited with this code.
        case code(Int32)
        /// This signal ended it.
        case signal(Int32)
    }

    /// The process's id.
    public let pid: Int32
    /// The pipe to its standard input; set it to nil to close it.
    public var input: Descriptor?
    /// The pipe from its standard output, non-blocking.
    public let output: Descriptor?
    /// The pipe from its standard error, non-blocking.
    public let error: Descriptor?
    private var exit: Exit?

    /// Starts a program.
    ///
    /// - Parameter arguments: the program, looked up in PATH where it has no slash, and its
    ///   arguments.
    /// - Parameter environment: its whole environment; nil gives it the parent's.
    /// - Parameter directory: where it starts; nil is the parent's.
    /// - Parameter endsWithParent: the kernel kills it when the *thread* that called this ends, so
    ///   only for programs that start it from their main thread.
    /// - Parameter inOwnGroup: it is in a process group of its own, so that what is typed at the
    ///   terminal (Ctrl-C) does not reach it.
    public init(
        _ arguments: [String], environment: [String: String]? = nil, directory: String? = nil,
        input: Stream = .null, output: Stream = .inherit, error: Stream = .inherit,
        endsWithParent: Bool = false, inOwnGroup: Bool = false
    ) throws(SystemError) {
        precondition(!arguments.isEmpty)
        var inner: [Descriptor] = []
        let ends = [
            try Self.open(input, standard: 0, keeping: &inner),
            try Self.open(output, standard: 1, keeping: &inner),
            try Self.open(error, standard: 2, keeping: &inner),
        ]
        let environment = (environment ?? Environment.all()).map { "\($0)=\($1)" }
        let result = unsafe withCStrings(arguments) { argv in
            unsafe withCStrings(environment) { envp in
                unsafe withOptionalCString(directory) { directory in
                    var how = unsafe fb_spawn(
                        argv: argv, envp: envp, directory: directory,
                        descriptors: (ends[0].child, ends[1].child, ends[2].child),
                        ends_with_parent: endsWithParent ? 1 : 0,
                        own_group: inOwnGroup ? 1 : 0)
                    return unsafe fb_spawn(&how)
                }
            }
        }
        withExtendedLifetime(inner) {}
        guard result > 0 else { throw SystemError("start \(arguments[0])", code: -result) }
        pid = result
        self.input = ends[0].parent
        self.output = ends[1].parent
        self.error = ends[2].parent
    }

    deinit {
        guard poll() == nil else { return }
        kill(pid, SIGKILL)
        _ = waitpid(pid, nil, 0)
    }

    /// Sends it a signal, unless it has ended.
    public func send(_ signal: Signal) {
        guard poll() == nil else { return }
        kill(pid, signal.rawValue)
    }

    /// How it ended, nil while it runs. Does not wait.
    public func poll() -> Exit? {
        if let exit { return exit }
        var code: Int32 = 0
        switch unsafe fb_reap(pid, &code) {
        case 0: return nil
        case 1: exit = .code(code)
        case 2: exit = .signal(code)
        default: exit = .code(-1)
        }
        return exit
    }

    /// Waits until it ends, at most so long.
    public func wait(timeout: Duration) -> Exit? {
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline {
            if let exit = poll() { return exit }
            _ = Poll.wait(for: [], timeout: .milliseconds(5))
        }
        return poll()
    }

    /// The child's end of a stream, and the parent's where it is a pipe. What only the child needs
    /// goes to `inner`, to be closed after the start.
    private static func open(
        _ stream: Stream, standard: Int32, keeping inner: inout [Descriptor]
    ) throws(SystemError) -> (child: Int32, parent: Descriptor?) {
        switch stream {
        case .inherit: return (standard, nil)
        case .descriptor(let number): return (number, nil)
        case .null:
            let number = unsafe fb_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
            guard number >= 0 else { throw .last("open /dev/null") }
            inner.append(Descriptor(owning: number))
            return (number, nil)
        case .pipe:
            let pipe = try Pipe()
            let (child, parent) =
                standard == 0 ? (pipe.reading, pipe.writing) : (pipe.writing, pipe.reading)
            if standard != 0 { try parent.setNonblocking() }
            inner.append(child)
            return (child.number, parent)
        }
    }
}

/// Lends C an array of strings that ends with a null pointer.
private func withCStrings<R>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
    var pointers = unsafe strings.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
}

private func withOptionalCString<R>(
    _ string: String?, _ body: (UnsafePointer<CChar>?) -> R
) -> R {
    guard let string else { return body(nil) }
    return unsafe string.withCString { unsafe body($0) }
}
