internal import Daemon
internal import EventLoop

/// How far a command is, on standard error: a bar that is drawn anew on a terminal, else a line now
/// and then.
final class ProgressLine: OneShotProgress {
    private let command: String
    private let columns: Int?
    private var dueAt: Int64
    private var isDrawn = false

    private static let terminalInterval: Int64 = 100_000_000
    private static let lineInterval: Int64 = 5_000_000_000
    private static let width = 30

    init(_ command: String) {
        self.command = command
        let isDumb = Environment.value("TERM") == "dumb"
        columns = isDumb ? nil : Terminal.size(of: 2)?.columns
        dueAt = Clock.monotonic() + (columns == nil ? Self.lineInterval : Self.terminalInterval)
    }

    func show(_ what: String, _ done: Int64, of total: Int64) {
        let now = Clock.monotonic()
        guard now >= dueAt, total > 0 else { return }
        let share = Int(done * 100 / total)
        let text = "\(command) \(what) \(done) of \(total), \(share) %"
        guard let columns else {
            dueAt = now + Self.lineInterval
            return write("firebridge: \(text)\n")
        }
        dueAt = now + Self.terminalInterval
        let full = Self.width * share / 100
        let bar =
            String(repeating: "#", count: full) + String(repeating: ".", count: Self.width - full)
        isDrawn = true
        write("\r\u{1B}[K" + String("[\(bar)] \(text)".prefix(columns - 1)))
    }

    func say(_ line: String) {
        end()
        write("firebridge: \(command): \(line)\n")
    }

    func end() {
        guard isDrawn else { return }
        isDrawn = false
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) { try? Descriptor.writeAll(Array(text.utf8), to: 2) }
}
