/// A program of several commands.
public struct Program: Sendable {
    /// Its name.
    public let name: String
    /// What it does, in one sentence.
    public let summary: String
    /// Its commands.
    public let commands: [Command]

    /// Describes a program.
    public init(_ name: String, _ summary: String, commands: [Command]) {
        self.name = name
        self.summary = summary
        self.commands = commands
    }

    /// What a command line asks for.
    public enum Request: Sendable {
        /// To run a command.
        case run(Command, Arguments)
        /// To print this text.
        case help(String)
        /// To print the version.
        case version
    }

    /// Reads a command line, without the program's own name.
    public func parse(_ arguments: [String]) throws(UsageError) -> Request {
        let beforeOperands = arguments.prefix { !isExactly($0, "--") }
        if beforeOperands.contains(where: { isExactly($0, "--help") }) {
            guard let command = command(arguments.first ?? "") else { return .help(help) }
            return .help(help(for: command))
        }
        if beforeOperands.contains(where: { isExactly($0, "--version") }) { return .version }
        guard let first = arguments.first else {
            throw UsageError(message: "expected a command: \(names)", usage: usage)
        }
        guard let command = command(first) else {
            let hint =
                nearest(first, among: commands.map(\.name)).map { " (did you mean \($0)?)" } ?? ""
            throw UsageError(
                message: "unknown command '\(printable(first))'\(hint): expected \(names)",
                usage: usage)
        }
        return .run(command, try Arguments(Array(arguments.dropFirst()), of: command))
    }

    /// The command of a name, nil where there is none.
    public func command(_ name: String) -> Command? {
        commands.first { isExactly($0.name, name) }
    }

    /// The text of `--help` for the program.
    public var help: String {
        """
        usage: \(name) \(usage)

        \(summary)

        \(Self.table(commands.map { ($0.name, $0.summary) }))

        \(name) COMMAND --help tells what a command takes. See also \(name)(8).

        """
    }

    /// The text of `--help` for a command.
    public func help(for command: Command) -> String {
        let flags = command.flags + Flag.everywhere
        return """
            usage: \(name) \(command.usage)

            \(Self.wrap(command.summary, width: 78).joined(separator: "\n"))

            \(Self.table(flags.map { ($0.synopsis, $0.summary) }))

            See also \(name)(8).

            """
    }

    private var usage: String { "COMMAND [--help] [--version]" }

    private var names: String {
        commands.map(\.name).joined(separator: ", ")
    }

    /// Two columns, the second wrapped so that no line is longer than 80.
    private static func table(_ rows: [(String, String)]) -> String {
        let width = min(28, rows.map { $0.0.count }.max() ?? 0)
        let indent = String(repeating: " ", count: width + 4)
        return rows.map { name, summary in
            let gap =
                name.count <= width
                ? String(repeating: " ", count: width - name.count + 2) : "\n" + indent
            return "  " + name + gap
                + wrap(summary, width: 78 - width - 2).joined(separator: "\n" + indent)
        }.joined(separator: "\n")
    }

    private static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
