/// Why a text is not a set of rules: everything that is wrong with it, by line.
public struct RulesError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One thing that is wrong.
    public struct Issue: Equatable, Sendable, CustomStringConvertible {
        /// The line, from 1.
        public var line: Int
        /// The column in bytes, from 1.
        public var column: Int
        /// What is wrong, and with what text.
        public var message: String

        /// `Line 3:14: …`: the hosted database says `3:14: …`.
        public var description: String { "Line \(line):\(column): \(message)" }
    }

    /// In the order of the text; at least one.
    public var issues: [Issue]

    /// The issues, one a line.
    public var description: String { issues.map(\.description).joined(separator: "\n") }
}

/// Something wrong at a byte of the rules' text.
struct RulesIssue: Error {
    var offset: Int
    var message: String
}

/// Something wrong at a byte of an expression.
struct ExpressionError: Error {
    var offset: Int
    var message: String
}

extension RulesError.Issue {
    init(_ issue: RulesIssue, in text: [UInt8]) {
        let before = text.prefix(issue.offset)
        line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        column = before.count - start + 1
        message = issue.message
    }
}
