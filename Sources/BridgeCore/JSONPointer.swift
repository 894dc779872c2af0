public import JSON

/// A JSON Pointer (RFC 6901): `/conversation/id`; the empty pointer is the whole value.
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The reference tokens, decoded, as UTF-8.
    public let tokens: [[UInt8]]
    /// The pointer as written.
    public let description: String

    /// Parses a pointer; nil where it does not begin with `/` or has a `~` without 0 or 1.
    public init?(_ text: String) {
        description = text
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var tokens: [[UInt8]] = []
        for part in text.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            var token: [UInt8] = []
            var bytes = part.makeIterator()
            while let byte = bytes.next() {
                guard byte == UInt8(ascii: "~") else {
                    token.append(byte)
                    continue
                }
                switch bytes.next() {
                case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
                default: return nil
                }
            }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// The value that it points at, nil where there is none. The last of repeated names counts.
    public func find(in tape: JSONTape) -> Int? {
        var value = 0
        for token in tokens {
            switch tape.kind(value) {
            case .object:
                guard let member = tape.member(token, of: value) else { return nil }
                value = member
            case .array:
                guard let index = plainDecimal(token[...], negative: false),
                    token.count == 1 || token[0] != UInt8(ascii: "0"),
                    index < tape.tokens[value].count
                else { return nil }
                var elements = tape.elements(of: value).makeIterator()
                for _ in 0..<index { _ = elements.next() }
                guard let element = elements.next() else { return nil }
                value = element
            default: return nil
            }
        }
        return value
    }
}
