import CRdKafka
import Glibc

/// A process that runs `MockCluster.serve`, driven from here; it ends with this object.
@safe
public final class MockClusterProcess {
    /// `host:port` of every broker.
    public let bootstrap: [String]
    /// The process, to be frozen and thawed by signals.
    public let pid: Int32

    private let input: Int32
    private let output: Int32

    /// Starts the program and waits for its first line.
    ///
    /// - Throws: what kept it from starting, or the line that came instead of the addresses.
    public init(executable: String, arguments: [String]) throws(KafkaError) {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard unsafe firebridge_pipe(&toChild) == 0, unsafe firebridge_pipe(&fromChild) == 0 else {
            throw Self.error("no pipe: errno \(errno)")
        }
        (input, output) = (toChild[1], fromChild[0])
        let code: Int32
        (pid, code) = Self.spawn(
            [executable] + arguments, input: toChild[0], output: fromChild[1])
        close(toChild[0])
        close(fromChild[1])
        guard code == 0 else { throw Self.error("cannot run \(executable): error \(code)") }
        let line = Self.readLine(output)
        guard line.hasPrefix("bootstrap ") else {
            throw Self.error("expected the brokers' addresses of \(executable), found: \(line)")
        }
        bootstrap = line.dropFirst(10).split(separator: ",").map(String.init)
    }

    /// Sends one of the commands of `MockCluster.serve` and waits until it has been obeyed.
    public func send(_ command: String) throws(KafkaError) {
        let bytes = Array((command + "\n").utf8)
        _ = unsafe write(input, bytes, bytes.count)
        let answer = Self.readLine(output)
        guard answer == "ok" else { throw Self.error("\(command): \(answer)") }
    }

    /// Stops it where it stands: its sockets stay open and silent.
    public func freeze() { kill(pid, SIGSTOP) }

    /// Lets it go on after `freeze`.
    public func thaw() { kill(pid, SIGCONT) }

    deinit {
        close(input)
        close(output)
        if pid > 0 {
            kill(pid, SIGKILL)
            _ = waitpid(pid, nil, 0)
        }
    }

    private static func spawn(
        _ words: [String], input: Int32, output: Int32
    ) -> (pid: Int32, code: Int32) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var pid: Int32 = 0
        let code = unsafe posix_spawn(
            &pid, words[0], &actions, nil, &arguments, environ)
        return (code == 0 ? pid : 0, code)
    }

    private static func readLine(_ descriptor: Int32) -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    private static func error(_ text: String) -> KafkaError {
        KafkaError(code: "_FAIL", text: text, action: .fatal)
    }
}
