/// What a field of the log says. It is made of a text, a number or a boolean only: whatever should
/// not be printed has no way in.
public enum LogValue: Equatable, Sendable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case flag(Bool)
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .flag(value) }
    /// A whole number.
    public init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
}

/// The levels, by what whoever reads them must do.
public enum LogLevel: String, CaseIterable, Comparable, Sendable {
    /// Someone must act.
    case error
    /// Recovered, worth knowing.
    case warn
    /// The course of the process.
    case info
    /// Everything else.
    case debug

    /// The more urgent first.
    public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

    private var rank: Int {
        switch self {
        case .error: 0
        case .warn: 1
        case .info: 2
        case .debug: 3
        }
    }

    /// syslog's number, which journald takes from `<N>` before a line (sd-daemon(3)).
    var priority: Int {
        switch self {
        case .error: 3
        case .warn: 4
        case .info: 6
        case .debug: 7
        }
    }
}

/// One line of the log before it is text.
struct LogLine {
    var level: LogLevel
    var event: String
    var fields: [(name: String, value: LogValue)]
    /// Milliseconds since 1970.
    var time: Int64
}
