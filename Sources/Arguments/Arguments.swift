/// What was given to a command.
public struct Arguments: Sendable {
    /// What was given without a flag, as many as the command names.
    public let operands: [String]
    private let given: [(name: String, value: String?)]

    /// Reads a command's arguments: `--flag VALUE`, `--flag=VALUE`, `--flag`; after `--` everything
    /// is an operand.
    ///
    /// - Throws: The first thing that is wrong.
    public init(_ arguments: [String], of command: Command) throws(UsageError) {
        var operands: [String] = []
        var given: [(name: String, value: String?)] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if isExactly(argument, "--") {
                operands += rest
                break
            }
            guard argument.utf8.starts(with: "-".utf8), argument.utf8.count > 1 else {
                operands.append(argument)
                continue
            }
            let (flag, attached) = try Self.flag(argument, of: command)
            if !flag.isRepeatable, given.contains(where: { isExactly($0.name, flag.name) }) {
                throw UsageError("--\(flag.name): expected once, found again", command)
            }
            let value = try Self.value(of: flag, attached, &rest, command)
            given.append((flag.name, value))
        }
        self.operands = operands
        self.given = given
        try check(command)
    }

    /// The value of a flag, nil where it was not given.
    public func value(_ name: String) -> String? {
        given.first { isExactly($0.name, name) }?.value
    }

    /// The values of a flag that may be repeated, in order.
    public func values(_ name: String) -> [String] {
        given.filter { isExactly($0.name, name) }.compactMap(\.value)
    }

    /// Whether a flag was given.
    public func has(_ name: String) -> Bool { given.contains { isExactly($0.name, name) } }

    private static func flag(
        _ argument: String, of command: Command
    ) throws(UsageError) -> (Flag, attached: String?) {
        guard argument.utf8.starts(with: "--".utf8) else {
            throw UsageError(
                "'\(printable(argument))': expected a long flag (--help lists them)", command)
        }
        let text = argument.utf8.dropFirst(2)
        let end = text.firstIndex(of: UInt8(ascii: "=")) ?? text.endIndex
        let name = String(decoding: text[..<end], as: UTF8.self)
        guard let flag = command.flags.first(where: { isExactly($0.name, name) }) else {
            let names = (command.flags + Flag.everywhere).map(\.name)
            let hint = nearest(name, among: names).map { " (did you mean --\($0)?)" } ?? ""
            throw UsageError("unknown flag --\(printable(name))\(hint)", command)
        }
        guard end != text.endIndex else { return (flag, nil) }
        return (flag, String(decoding: text[text.index(after: end)...], as: UTF8.self))
    }

    private static func value(
        of flag: Flag, _ attached: String?, _ rest: inout ArraySlice<String>, _ command: Command
    ) throws(UsageError) -> String? {
        guard let value = flag.value else {
            guard attached == nil else {
                throw UsageError("--\(flag.name): expected no value, found one", command)
            }
            return nil
        }
        if let attached { return attached }
        guard let next = rest.first, !next.utf8.starts(with: "--".utf8) else {
            throw UsageError(
                "--\(flag.name): expected \(value), found nothing "
                    + "(a value that begins with -- is written --\(flag.name)=VALUE)", command)
        }
        rest = rest.dropFirst()
        return next
    }

    private func check(_ command: Command) throws(UsageError) {
        for flag in command.flags where flag.isRequired && !has(flag.name) {
            throw UsageError("expected \(flag.synopsis)", command)
        }
        for names in command.exclusive where names.filter(has).count > 1 {
            let flags = names.map { "--\($0)" }.joined(separator: ", ")
            throw UsageError("expected only one of \(flags)", command)
        }
        guard operands.count <= command.operands.count else {
            let extra = printable(operands[command.operands.count])
            throw UsageError("unexpected '\(extra)'", command)
        }
        guard operands.count == command.operands.count else {
            throw UsageError("expected \(command.operands[operands.count])", command)
        }
    }
}

/// What is wrong with a command line: exit code 64.
public struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, and what was expected.
    public let message: String
    /// The command in one line.
    public let usage: String

    init(_ message: String, _ command: Command) {
        self.init(message: "\(command.name): \(message)", usage: command.usage)
    }

    init(message: String, usage: String) {
        self.message = message
        self.usage = usage
    }

    /// Two lines: what is wrong, and how the command is used.
    public var description: String {
        "firebridge: \(message)\nusage: firebridge \(usage)"
    }
}

/// Whether two texts are the same bytes.
func isExactly(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

/// A text of the command line for an error: control characters escaped, length bounded.
func printable(_ text: String) -> String {
    var out = ""
    for (count, scalar) in text.unicodeScalars.enumerated() {
        guard count < 60 else { return out + "…" }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
            out += "\\u{\(String(scalar.value, radix: 16))}"
        default: out.unicodeScalars.append(scalar)
        }
    }
    return out
}
