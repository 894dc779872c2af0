/// A value on its way into YAML.
indirect enum Rendered: Equatable, Sendable {
    /// A word that needs no quotes: a number, a boolean, a duration, a choice.
    case word(String)
    /// A text, quoted where it needs to be.
    case text(String)
    /// What must not be shown.
    case secret
    /// `[a, b]`.
    case list([Rendered])
    /// Members, one a line.
    case mapping([(name: String, value: Rendered)])
    /// Mappings, one after the other, each behind a dash.
    case items([Rendered])

    static func == (a: Self, b: Self) -> Bool { a.inline == b.inline }

    /// The value in one line.
    var inline: String {
        switch self {
        case .word(let word): word
        case .text(let text): Self.scalar(text, inFlow: true)
        case .secret: "<secret>"
        case .list(let elements), .items(let elements):
            "[" + elements.map(\.inline).joined(separator: ", ") + "]"
        case .mapping(let members):
            "{"
                + members.map { Self.scalar($0.name, inFlow: true) + ": " + $0.value.inline }
                .joined(separator: ", ") + "}"
        }
    }

    /// The value in one line behind a key, where fewer texts need quotes.
    var afterKey: String {
        guard case .text(let text) = self else { return inline }
        return Self.scalar(text, inFlow: false)
    }

    /// The value as lines of a block, each indented by so many spaces.
    func block(indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        switch self {
        case .mapping(let members) where !members.isEmpty:
            return members.map { name, value in
                space + Self.scalar(name, inFlow: false) + ":" + value.afterKey(indent: indent)
            }.joined()
        case .items(let items) where !items.isEmpty:
            return items.map { item in
                space + "- " + item.block(indent: indent + 2).dropFirst(indent + 2)
            }.joined()
        default: return space + inline + "\n"
        }
    }

    private func afterKey(indent: Int) -> String {
        switch self {
        case .mapping(let members) where !members.isEmpty: "\n" + block(indent: indent + 2)
        case .items(let items) where !items.isEmpty: "\n" + block(indent: indent + 2)
        default: " " + afterKey + "\n"
        }
    }

    /// A text as a YAML scalar that reads back as the same text, in block and flow alike, before
    /// and after variables were expanded.
    private static func scalar(_ text: String, inFlow: Bool) -> String {
        let text = escapeVariables(text)
        return isSafe(text, inFlow: inFlow) ? text : quoted(text)
    }

    private static func escapeVariables(_ text: String) -> String {
        var out: [UInt8] = []
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "$"), bytes[index...].starts(with: "${".utf8) {
                out.append(byte)
            }
            out.append(byte)
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func isSafe(_ text: String, inFlow: Bool) -> Bool {
        guard let first = text.utf8.first,
            isWordByte(first) || first == UInt8(ascii: "/"),
            text.utf8.last != UInt8(ascii: ":"),
            !["null", "Null", "NULL"].contains(where: { sameBytes($0, text) })
        else { return false }
        let marks = inFlow ? "-./:" : "-./:{}?=+@"
        return text.utf8.allSatisfy { isWordByte($0) || marks.utf8.contains($0) }
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\t": out += "\\t"
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value),
                "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFE}", "\u{FFFF}":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
