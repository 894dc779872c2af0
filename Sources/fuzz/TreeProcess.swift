internal import EventLoop

/// A running `firebridge tree`.
final class TreeProcess {
    private let process: Subprocess
    private let errors: LineReader
    /// The port on which it listens.
    private(set) var port: UInt16 = 0
    private(set) var lastLines: [String] = []

    init(_ program: String, flags: [String]) {
        do {
            process = try Subprocess(
                [program, "tree", "--listen", "127.0.0.1:0"] + flags, error: .pipe,
                endsWithParent: true)
        } catch {
            refuse("\(error); build it, or name it by --program")
        }
        errors = LineReader(process.error!.number)
        let deadline = seconds() + 30
        while port == 0 {
            turn()
            let line = lastLines.first { $0.contains("listening on http://") }
            port = line?.firstMatch(of: /:(\d+)\//).flatMap { UInt16($0.1) } ?? 0
            if seconds() > deadline || !isAlive { refuse("\(program): \(lastLines)") }
            _ = Poll.wait(for: [process.error!.number], timeout: .milliseconds(50))
        }
    }

    var isAlive: Bool { process.poll() == nil }
    var residentMiB: Int { fuzz.residentMiB("\(process.pid)") }

    /// Keeps the last of what it says.
    func turn() {
        while case .line(let line)? = try? errors.next() {
            lastLines = lastLines.suffix(19) + [String(decoding: line, as: UTF8.self)]
        }
    }
}
