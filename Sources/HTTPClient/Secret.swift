/// Bytes that must not be printed: a token, a password.
///
/// Printing, interpolating, dumping or reflecting one shows `<secret>`; it is not Codable, so that
/// no encoder can be handed one by accident. `reveal` is the only way in.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let bytes: [UInt8]

    /// Wraps the bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Wraps a text.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// The bytes, for the one place that sends them.
    public func reveal() -> [UInt8] { bytes }

    /// Whether there are no bytes.
    public var isEmpty: Bool { bytes.isEmpty }

    /// `<secret>`.
    public var description: String { "<secret>" }

    /// `<secret>`.
    public var debugDescription: String { "<secret>" }

    /// Nothing to reflect.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
