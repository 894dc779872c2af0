import EventLoop
import TestSupport

/// `firebridge demo` as a process, and what it has said so far.
final class Program {
    let process: Subprocess
    private(set) var lines: [String] = []
    private let readers: [LineReader]
    private let descriptors: [Int32]

    /// Starts it on free ports.
    init(_ arguments: [String], listen: String = "127.0.0.1:0") throws {
        process = try Subprocess(
            [builtProgram("firebridge"), "demo", "--listen", listen] + arguments, output: .pipe, error: .pipe)
        descriptors = [process.output!.number, process.error!.number]
        readers = descriptors.map { LineReader($0) }
    }

    /// Waits for a line; nil where none comes.
    func line(
        within limit: Duration = .seconds(40), where isWanted: (String) -> Bool
    ) throws -> String? {
        var seen = 0
        let deadline = ContinuousClock.now + limit
        while true {
            if let found = lines[seen...].first(where: isWanted) { return found }
            seen = lines.count
            guard ContinuousClock.now < deadline, try read() else { return nil }
        }
    }

    /// Waits for a line that begins so; nil where none comes.
    func line(_ beginning: String) throws -> String? {
        try line { $0.hasPrefix(beginning) }
    }

    /// Waits until conversations are being mirrored; nil where that does not come.
    func firstTokens() throws -> String? {
        try line { $0.contains(" tokens/s") && !$0.contains("  0 tokens/s") }
    }

    /// Waits for its end.
    func exit(within limit: Duration = .seconds(60)) throws -> Subprocess.Exit? {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline, try read() {}
        return process.wait(timeout: .seconds(5))
    }

    /// The processes that it has started.
    func children() throws -> [Int32] {
        let file = "/proc/\(process.pid)/task/\(process.pid)/children"
        let text = String(decoding: try File.read(file, bytesMax: 4096), as: UTF8.self)
        return text.split(separator: " ").compactMap { Int32($0) }
    }

    /// Takes in what comes; false at the end of both streams.
    private func read() throws -> Bool {
        _ = Poll.wait(for: descriptors, timeout: .milliseconds(100))
        var ended = 0
        for reader in readers {
            loop: while true {
                switch try reader.next() {
                case .line(let line): lines.append(String(decoding: line, as: UTF8.self))
                case .wait: break loop
                case .end:
                    ended += 1
                    break loop
                }
            }
        }
        return ended < readers.count
    }
}
