internal import EventLoop

/// How the demo shows itself.
protocol Display: AnyObject {
    /// When it wants to be shown again, by the monotonic clock.
    var dueAt: Int64 { get }
    /// Whether nobody is left to look: the pipe is closed, the terminal is gone.
    var isUnseen: Bool { get }
    /// Shows the moment, where it is due.
    func show(_ figures: Figures, _ conversations: [Audience.Conversation], at now: Int64)
    /// Says a line that stays.
    func say(_ line: String)
    /// Shows nothing more.
    func end()
}

/// Standard output, until nobody reads it any more.
private struct Sheet {
    private(set) var isUnseen = false

    mutating func write(_ text: String) {
        do throws(SystemError) {
            try Descriptor.writeAll(Array(text.utf8), to: 1)
        } catch {
            isUnseen = true
        }
    }
}

/// A line every few seconds, for files, pipes and dumb terminals.
final class LineDisplay: Display {
    private(set) var dueAt: Int64 = 0
    private var sheet = Sheet()

    private static let interval: Int64 = 2_000_000_000

    var isUnseen: Bool { sheet.isUnseen }

    func show(_ figures: Figures, _ conversations: [Audience.Conversation], at now: Int64) {
        guard now >= dueAt else { return }
        dueAt = now + Self.interval
        say(figures.words.joined(separator: "  "))
    }

    func say(_ line: String) { sheet.write("demo: \(line)\n") }

    func end() {}
}

/// A block that is drawn anew in its place, below the lines that stay.
final class LiveDisplay: Display {
    private(set) var dueAt: Int64 = 0
    private var sheet = Sheet()
    private let title: [String]
    private let isColored: Bool
    private var focus: [UInt8] = []
    private var drawn: (lines: Int, columns: Int)?

    private static let interval: Int64 = 100_000_000

    /// - Parameter title: what stands above, always.
    init(title: [String], isColored: Bool) {
        self.title = title
        self.isColored = isColored
    }

    var isUnseen: Bool { sheet.isUnseen }

    func show(_ figures: Figures, _ conversations: [Audience.Conversation], at now: Int64) {
        guard now >= dueAt else { return }
        dueAt = now + Self.interval
        let (columns, rows) = Terminal.size(of: 1) ?? (80, 24)
        follow(conversations)
        let frame = Frame(
            title: title, figures: figures, conversations: conversations, focus: focus,
            columns: columns, rows: rows, isColored: isColored)
        draw(frame.lines, columns)
    }

    func say(_ line: String) {
        erase()
        sheet.write("demo: \(line)\n")
    }

    func end() { erase() }

    /// Stays with a conversation until it has ended.
    private func follow(_ conversations: [Audience.Conversation]) {
        if let current = conversations.last(where: { $0.id == focus }), !current.isFinished {
            return
        }
        if let next = conversations.last(where: { !$0.isFinished }) { focus = next.id }
    }

    private func draw(_ lines: [String], _ columns: Int) {
        var out = ""
        if let drawn, drawn.columns != columns {
            // The terminal has wrapped what stood there: begin at the top.
            out += "\u{1B}[H\u{1B}[2J"
        } else if let drawn, drawn.lines > 0 {
            out += "\u{1B}[\(drawn.lines)A"
        }
        out += "\r" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
        drawn = (lines.count, columns)
        sheet.write(out)
    }

    private func erase() {
        guard let lines = drawn?.lines, lines > 0 else { return }
        drawn = nil
        sheet.write("\u{1B}[\(lines)A\r\u{1B}[J")
    }
}
