/// Why a demo has ended otherwise than well.
public struct DemoFailure: Error, Equatable, CustomStringConvertible {
    /// Whose fault it is.
    public enum Kind: Sendable {
        /// A part could not be started or reached: a taken port, for one.
        case unreachable
        /// A part broke, or the tree is not what the log demands.
        case wrong
    }

    /// Whose fault it is.
    public var kind: Kind
    /// What happened, for the user.
    public var description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
