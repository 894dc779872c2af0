/// How many columns of a terminal a character takes.
func terminalColumns(of character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // The variation selector asks for the picture.
    if first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") {
        return 2
    }
    return isWide(first.value) ? 2 : 1
}

/// East Asian scripts and full-width forms.
private func isWide(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
        true
    default: false
    }
}

extension String {
    /// The text without what could move the cursor or change the terminal; line breaks stay.
    var harmless: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.compactMap { scalar in
                    switch scalar.properties.generalCategory {
                    case .control: scalar == "\n" ? scalar : scalar == "\t" ? " " : nil
                    case .lineSeparator, .paragraphSeparator: " "
                    // Those that turn the direction of what follows.
                    case .format: scalar == "\u{200D}" ? scalar : nil
                    default: scalar
                    }
                }))
    }

    /// The beginning that fits into so many columns, with `…` where something is left out.
    func cut(to width: Int) -> String {
        var used = 0
        var out = ""
        for character in self {
            used += terminalColumns(of: character)
            guard used <= width else {
                while !out.isEmpty, out.reduce(0, { $0 + terminalColumns(of: $1) }) >= width {
                    out.removeLast()
                }
                return width > 0 ? out + "…" : ""
            }
            out.append(character)
        }
        return out
    }

    /// The text in lines of so many columns, broken at spaces where there are some.
    func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in split(separator: "\n", omittingEmptySubsequences: true) {
            var line = ""
            var used = 0
            for word in paragraph.split(separator: " ") {
                for piece in String(word).pieces(of: width) {
                    let needed = piece.reduce(0) { $0 + terminalColumns(of: $1) }
                    if used > 0, used + 1 + needed > width {
                        lines.append(line)
                        (line, used) = ("", 0)
                    }
                    line += (used > 0 ? " " : "") + piece
                    used += (used > 0 ? 1 : 0) + needed
                }
            }
            if !line.isEmpty { lines.append(line) }
        }
        return lines
    }

    /// A word longer than a line, in pieces.
    private func pieces(of width: Int) -> [String] {
        var pieces = [""]
        var used = 0
        for character in self {
            let needed = terminalColumns(of: character)
            if used + needed > width, used > 0 {
                pieces.append("")
                used = 0
            }
            pieces[pieces.count - 1].append(character)
            used += needed
        }
        return pieces
    }
}
