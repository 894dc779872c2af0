/// The live display at one moment: lines that fit the terminal.
struct Frame {
    let title: [String]
    let figures: Figures
    let conversations: [Audience.Conversation]
    /// The conversation whose text is shown.
    let focus: [UInt8]
    let columns: Int
    let rows: Int
    let isColored: Bool

    private static let listed = 6
    private static let textLines = 5

    /// One column stays free: some terminals break a full line.
    private var width: Int { max(columns - 1, 1) }

    /// As many as the terminal's rows allow, the most important first.
    var lines: [String] {
        var lines = title.prefix(1).map { painted($0.cut(to: width), "1") }
        lines += title.dropFirst().map { painted($0.cut(to: width), "2") }
        lines += figureLines
        let room = rows - 1 - lines.count
        if room > 2 { lines += [""] + list(max: min(Self.listed, room - 1)) }
        let left = rows - 2 - lines.count
        if left > 1 { lines += [""] + text(max: min(Self.textLines, left)) }
        return Array(lines.prefix(max(rows - 1, 1)))
    }

    /// On one line, or on as many as they need.
    private var figureLines: [String] {
        var lines: [String] = []
        for word in figures.words {
            if let last = lines.last, last.count + 3 + word.count <= width {
                lines[lines.count - 1] = last + "   " + word
            } else {
                lines.append(word.cut(to: width))
            }
        }
        return lines
    }

    /// The last conversations, a line each; always as many lines, so that nothing jumps.
    private func list(max count: Int) -> [String] {
        let lines = conversations.suffix(count).map(line)
        return lines + Array(repeating: "", count: count - lines.count)
    }

    private func line(of conversation: Audience.Conversation) -> String {
        let (mark, color) =
            switch conversation.status {
            case "complete": ("✓", "32")
            case "error": ("✗", "31")
            default: ("●", "33")
            }
        let id = String(decoding: conversation.id, as: UTF8.self)
        let head = "\(id)  \(grouped(conversation.chunks)) tokens  "
        let room = width - 2 - head.count
        let words = String(conversation.tail.suffix(200)).harmless.split(
            whereSeparator: \.isWhitespace)
        let text = words.joined(separator: " ").ending(in: max(room, 0))
        let line = room > 8 ? head + text : head.cut(to: width - 2)
        return painted(mark, color) + " " + (conversation.isFinished ? painted(line, "2") : line)
    }

    /// The end of the text that is being followed.
    private func text(max count: Int) -> [String] {
        let tail = conversations.last { $0.id == focus }?.tail ?? ""
        let lines = tail.harmless.wrapped(to: width).suffix(count)
        return lines + Array(repeating: "", count: count - lines.count)
    }

    private func painted(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension String {
    /// The end that fits into so many columns, with `…` where something is left out.
    func ending(in width: Int) -> String {
        var used = 0
        var out: [Character] = []
        for character in reversed() {
            used += terminalColumns(of: character)
            guard used < width else { return "…" + String(out.reversed()) }
            out.append(character)
        }
        return String(out.reversed())
    }
}
