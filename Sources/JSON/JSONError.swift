/// Why a text is not JSON, and where.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Kind: Equatable, Sendable {
        /// The text breaks the grammar of RFC 8259, or is not UTF-8.
        case malformed
        /// The text nests deeper than the caller allows.
        case tooDeep
    }

    /// The kind of failure.
    public var kind: Kind
    /// What is wrong, in a few words.
    public var message: String
    /// Where, in bytes from the beginning of the text.
    public var offset: Int

    /// Makes an error of its parts.
    public init(kind: Kind, message: String, offset: Int) {
        self.kind = kind
        self.message = message
        self.offset = offset
    }

    /// What is wrong and where.
    public var description: String { "\(message) at byte \(offset)" }
}
