/// How a line looks.
public enum LogStyle: Equatable, Sendable {
    /// For people: the time of day, the level, the event, then `name=value`.
    case readable(colors: Bool)
    /// `time=… level=… event=… name=value`.
    case logfmt
    /// As `logfmt`, for journald: `<N>` instead of time and level, which the journal keeps itself.
    case journal
    /// One JSON object.
    case json

    /// The words of `log.format`.
    public enum Format: String, CaseIterable, Sendable { case auto, logfmt, json }

    /// What a format means for a certain standard error.
    ///
    /// `auto` is readable on a terminal, for journald where standard error is the journal's, else
    /// JSON. `logfmt` under journald is the journal's as well. Colours are for terminals only, and
    /// not where `NO_COLOR` is set.
    public init(_ format: Format, isTerminal: Bool, isJournal: Bool, noColor: Bool) {
        self =
            switch format {
            case .json: .json
            case .logfmt: isJournal ? .journal : .logfmt
            case .auto:
                isTerminal ? .readable(colors: !noColor) : isJournal ? .journal : .json
            }
    }

    /// A field's name, never one that the line has already.
    fileprivate static func fieldName(_ name: String) -> String {
        ["time", "level", "event"].contains(name) ? name + "_" : name
    }

    /// The line's bytes, its newline included.
    func render(_ line: LogLine) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(256)
        switch self {
        case .readable(let colors):
            out += LogTime.text(line.time).dropFirst(11).prefix(12)
            out.append(UInt8(ascii: " "))
            out.append(line.level, colors: colors)
            out.append(UInt8(ascii: " "))
            out.appendWord(line.event)
            out.append(fields: line)
        case .logfmt:
            out += "time=".utf8
            out += LogTime.text(line.time)
            out += " level=\(line.level.rawValue) event=".utf8
            out.appendWord(line.event)
            out.append(fields: line)
        case .journal:
            out += "<\(line.level.priority)>event=".utf8
            out.appendWord(line.event)
            out.append(fields: line)
        case .json:
            out += "{\"time\":\"".utf8
            out += LogTime.text(line.time)
            out += "\",\"level\":\"\(line.level.rawValue)\",\"event\":".utf8
            out.appendQuoted(line.event)
            for (name, value) in line.fields {
                out.append(UInt8(ascii: ","))
                out.appendQuoted(Self.fieldName(name))
                out.append(UInt8(ascii: ":"))
                out.append(json: value)
            }
            out.append(UInt8(ascii: "}"))
        }
        out.append(UInt8(ascii: "\n"))
        return out
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ level: LogLevel, colors: Bool) {
        let name = level.rawValue + String(repeating: " ", count: 5 - level.rawValue.utf8.count)
        guard colors else {
            self += name.utf8
            return
        }
        let color =
            switch level {
            case .error: 31
            case .warn: 33
            case .info: 32
            case .debug: 90
            }
        self += "\u{1B}[\(color)m\(name)\u{1B}[0m".utf8
    }

    fileprivate mutating func append(fields line: LogLine) {
        for (name, value) in line.fields {
            append(UInt8(ascii: " "))
            appendWord(LogStyle.fieldName(name))
            append(UInt8(ascii: "="))
            switch value {
            case .text(let text): appendWord(text)
            default: append(json: value)
            }
        }
    }

    fileprivate mutating func append(json value: LogValue) {
        switch value {
        case .text(let text): appendQuoted(text)
        case .integer(let number): self += String(number).utf8
        case .real(let number):
            if number.isFinite { self += String(number).utf8 } else { appendQuoted("\(number)") }
        case .flag(let flag): self += (flag ? "true" : "false").utf8
        }
    }

    /// A text without quotes where it can do without.
    fileprivate mutating func appendWord(_ text: String) {
        let isWord =
            !text.isEmpty
            && text.utf8.allSatisfy {
                (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "=")
                    && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
        if isWord { self += text.utf8 } else { appendQuoted(text) }
    }

    /// A text in quotes, as JSON writes it. Whatever could move a terminal's cursor, hide or
    /// reorder text, or begin a line of its own is escaped.
    fileprivate mutating func appendQuoted(_ text: String) {
        append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": self += "\\\"".utf8
            case "\\": self += "\\\\".utf8
            case "\n": self += "\\n".utf8
            case "\r": self += "\\r".utf8
            case "\t": self += "\\t".utf8
            case _ where scalar.isInvisible:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    self += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
                }
            default: self += String(scalar).utf8
            }
        }
        append(UInt8(ascii: "\""))
    }
}

extension Unicode.Scalar {
    /// Whether it is a control, format or line separator character.
    fileprivate var isInvisible: Bool {
        guard value >= 0x7F else { return value < 0x20 }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
