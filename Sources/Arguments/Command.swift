/// What a command takes. Its help text is made of this, and the manual is tested against it.
public struct Command: Sendable {
    /// The name: `run`.
    public let name: String
    /// What it does, in one sentence.
    public let summary: String
    /// What it takes without a flag, in order, all of it required: `PATH`.
    public let operands: [String]
    /// Its flags, without `--help` and `--version`, which every command has.
    public let flags: [Flag]
    /// Flags of which at most one may be given, by name.
    public let exclusive: [[String]]

    /// Describes a command.
    public init(
        _ name: String, _ summary: String, operands: [String] = [], flags: [Flag],
        exclusive: [[String]] = []
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.flags = flags
        self.exclusive = exclusive
    }

    /// The command in one line: `run --config FILE [--set KEY=VALUE]...`.
    public var usage: String {
        ([name] + operands + flags.map(\.usage)).joined(separator: " ")
    }
}

/// A long flag.
public struct Flag: Sendable {
    /// The name without its dashes: `config`.
    public let name: String
    /// What its value is: `FILE`. Nil for a flag without value.
    public let value: String?
    /// Whether the command needs it.
    public let isRequired: Bool
    /// Whether it may be given more than once.
    public let isRepeatable: Bool
    /// What it does.
    public let summary: String

    /// Describes a flag without value.
    public init(_ name: String, _ summary: String) {
        self.name = name
        value = nil
        isRequired = false
        isRepeatable = false
        self.summary = summary
    }

    /// Describes a flag with a value.
    public init(
        _ name: String, _ value: String, required isRequired: Bool = false,
        repeatable isRepeatable: Bool = false, _ summary: String
    ) {
        self.name = name
        self.value = value
        self.isRequired = isRequired
        self.isRepeatable = isRepeatable
        self.summary = summary
    }

    /// `--config FILE`.
    public var synopsis: String { value.map { "--\(name) \($0)" } ?? "--\(name)" }

    fileprivate var usage: String {
        (isRequired ? synopsis : "[\(synopsis)]") + (isRepeatable ? "..." : "")
    }

    static let everywhere = [
        Flag("help", "Prints this text."), Flag("version", "Prints the version."),
    ]
}
