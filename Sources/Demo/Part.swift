internal import EventLoop

/// One of the demo's processes: a child of this very program, and what it says.
final class Part {
    /// What it is called: `bridge`.
    let name: String
    /// When it was started, by the monotonic clock.
    let startedAt = Clock.monotonic()
    private let process: Subprocess
    private let said: [LineReader]
    /// The pipes of its standard output and error.
    let descriptors: [Int32]
    /// The last lines that it said.
    private(set) var lastLines: [String] = []

    /// Starts it, so that it ends when this process does, however that is.
    ///
    /// - Parameter file: what it finds as its standard input; a pipe that stays open otherwise.
    init(_ name: String, _ arguments: [String], file: Descriptor? = nil) throws(DemoFailure) {
        self.name = name
        do throws(SystemError) {
            process = try Subprocess(
                ["/proc/self/exe"] + arguments,
                input: file.map { .descriptor($0.number) } ?? .pipe, output: .pipe, error: .pipe,
                endsWithParent: true, inOwnGroup: true)
        } catch {
            throw DemoFailure(.unreachable, "cannot start the \(name): \(error)")
        }
        // What is told to it must never keep this process waiting.
        try? process.input?.setNonblocking()
        descriptors = [process.output, process.error].compactMap { $0?.number }
        said = descriptors.map { LineReader($0) }
    }

    /// Its process id.
    var pid: Int32 { process.pid }

    /// The lines that it has said since the last time.
    func lines() -> [String] {
        var lines: [String] = []
        for reader in said {
            while case .line(let line) = (try? reader.next()) ?? .end {
                lines.append(String(decoding: line, as: UTF8.self))
            }
        }
        lastLines = Array((lastLines + lines).suffix(5))
        return lines
    }

    /// How it ended, in words; nil while it runs.
    func end() -> String? {
        switch process.poll() {
        case nil: nil
        case .code(let code): "exit code \(code)"
        case .signal(let number): "signal \(number)"
        }
    }

    /// Writes a line to its standard input; a line for which there is no room is left out.
    func tell(_ line: String) {
        guard let input = process.input else { return }
        _ = try? input.write(Array("\(line)\n".utf8)[...])
    }

    /// Ends it at once.
    func kill() { process.send(.kill) }

    /// Asks it to end, and ends it where it does not.
    func stop(within limit: Duration) {
        process.send(.terminate)
        if process.wait(timeout: limit) == nil { process.send(.kill) }
    }

    /// That it has ended, and what it said last.
    func failure(_ kind: DemoFailure.Kind, _ how: String) -> DemoFailure {
        _ = lines()
        let words = lastLines.isEmpty ? "" : "; it said:\n  " + lastLines.joined(separator: "\n  ")
        return DemoFailure(kind, "the \(name) has ended (\(how))\(words)")
    }
}
