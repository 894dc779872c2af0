/// What the database accepts (Realtime Database Limits).
public struct TreeLimits: Equatable, Sendable {
    /// The longest key, in bytes of UTF-8.
    public var keyBytesMax = 768
    /// The deepest place, in names from the root.
    public var depthMax = 32
    /// The longest string, in bytes of UTF-8.
    public var stringBytesMax = 10 * 1024 * 1024
    /// The longest body of a write, in bytes.
    public var writeBytesMax = 256 * 1024 * 1024

    /// The limits of the hosted database.
    public init() {}

    /// Whether a key can be stored: not empty, not too long, none of `. $ # [ ] /`, U+0000–U+001F
    /// and U+007F in it.
    public func allows(key: [UInt8]) -> Bool {
        guard !key.isEmpty, key.count <= keyBytesMax else { return false }
        let bytes = key.span
        for index in bytes.indices where isForbiddenInKey(bytes[index]) { return false }
        return true
    }
}

/// Whether a byte may not stand in a key.
public func isForbiddenInKey(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<0x20, 0x7F, UInt8(ascii: "."), UInt8(ascii: "$"), UInt8(ascii: "#"),
        UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "/"):
        true
    default: false
    }
}
