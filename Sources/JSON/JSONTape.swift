internal import CSimdJSON

/// What a token is.
@frozen
public enum JSONKind: UInt8, Sendable {
    case object = 1
    case array, string, number, `true`, `false`, null
}

/// One value (or member name) of a parsed text: where it stands, and where the next one begins.
///
/// Repeats `fb_json_token` of CSimdJSON.h field by field.
@frozen
public struct JSONToken: Sendable {
    /// The first byte: inside the quotes of a string, at the bracket of a container.
    public let start: UInt32
    /// The byte after the last.
    public let end: UInt32
    /// The index of the token after the whole value.
    public let next: UInt32
    /// The number of members or elements.
    public let count: UInt32
    @usableFromInline let kindCode: UInt8
    @usableFromInline let flags: UInt8
    /// How many containers stand around the token.
    public let depth: UInt16

    /// What the token is.
    @inlinable
    public var kind: JSONKind {
        switch kindCode {
        case 1: .object
        case 2: .array
        case 3: .string
        case 4: .number
        case 5: .true
        case 6: .false
        default: .null
        }
    }
    /// Whether a string has escapes, so that its text differs from its bytes.
    @inlinable public var isEscaped: Bool { flags & 1 != 0 }
    /// Whether a string has an escaped surrogate without its partner.
    @inlinable public var hasLoneSurrogate: Bool { flags & 2 != 0 }
    /// Whether a number has neither fraction nor exponent.
    @inlinable public var isInteger: Bool { flags & 4 != 0 }
}

/// A parsed text: its bytes and its tokens in reading order. A value is named by its token's index;
/// the whole text is value 0.
@frozen
public struct JSONTape: Sendable {
    /// The text.
    public let bytes: [UInt8]
    /// The values and member names, in reading order.
    public let tokens: [JSONToken]

    /// What the value is.
    @inlinable
    public func kind(_ value: Int) -> JSONKind { tokens[value].kind }

    /// The bytes of the value as they stand: a string with its quotes.
    @inlinable
    public func raw(_ value: Int) -> ArraySlice<UInt8> {
        let token = tokens[value]
        let quote = token.kind == .string ? 1 : 0
        return bytes[Int(token.start) - quote..<Int(token.end) + quote]
    }

    /// Appends the bytes of the value as they stand.
    public func appendRaw(_ value: Int, to out: inout [UInt8]) {
        let token = tokens[value]
        let quote = token.kind == .string ? 1 : 0
        let range = Int(token.start) - quote..<Int(token.end) + quote
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[range]))
        }
    }

    /// The text of a string or member name, escapes decoded, a lone surrogate as U+FFFD.
    public func text(_ value: Int) -> [UInt8] {
        let token = tokens[value]
        let slice = bytes[Int(token.start)..<Int(token.end)]
        return token.isEscaped ? unescapeJSON(slice) : Array(slice)
    }

    /// Whether a string's or member name's text is `text`.
    public func isText(_ value: Int, _ text: [UInt8]) -> Bool {
        let token = tokens[value]
        if token.isEscaped { return self.text(value) == text }
        return isRaw(value, text, at: 0, count: text.count)
    }

    /// Whether a string's bytes, without escapes, are `other`.
    public func isRaw(_ value: Int, _ other: [UInt8]) -> Bool {
        !tokens[value].isEscaped && isRaw(value, other, at: 0, count: other.count)
    }

    /// Whether a string's or member name's bytes, without escapes, are `other[start..<start +
    /// count]`.
    public func isRaw(_ value: Int, _ other: [UInt8], at start: Int, count: Int) -> Bool {
        let token = tokens[value]
        let own = Int(token.start)
        guard Int(token.end) - own == count else { return false }
        guard count > 0 else { return true }
        precondition(start + count <= other.count && own + count <= bytes.count)
        return unsafe bytes.withUnsafeBufferPointer { mine in
            unsafe other.withUnsafeBufferPointer { theirs in
                unsafe fb_json_equal(mine.baseAddress! + own, theirs.baseAddress! + start, count)
                    != 0
            }
        }
    }

    /// The members of an object, in reading order, repeated names included.
    public func members(of object: Int) -> Members { Members(tape: self, object: object) }

    /// The elements of an array, as value indexes.
    public func elements(of array: Int) -> Elements { Elements(tape: self, array: array) }

    /// The value of the object's member of that name, the last one where the name is repeated.
    public func member(_ name: [UInt8], of object: Int) -> Int? {
        guard tokens[object].kind == .object else { return nil }
        var found: Int?
        for (key, value) in members(of: object) where isText(key, name) { found = value }
        return found
    }

    /// The integer that a number stands for, where it is one of 64 bits: also `7.0` and `7e0`.
    public func int64(_ value: Int) -> Int64? {
        guard tokens[value].kind == .number else { return nil }
        return parseInt64(number: raw(value))
    }

    /// Members of an object as (name, value) token indexes.
    public struct Members: Sequence, IteratorProtocol {
        let tape: JSONTape
        var index: Int
        let end: Int

        init(tape: JSONTape, object: Int) {
            self.tape = tape
            index = object + 1
            end = tape.tokens[object].kind == .object ? Int(tape.tokens[object].next) : 0
        }

        /// The next member.
        public mutating func next() -> (name: Int, value: Int)? {
            guard index < end else { return nil }
            defer { index = Int(tape.tokens[index + 1].next) }
            return (index, index + 1)
        }
    }

    /// Elements of an array as token indexes.
    public struct Elements: Sequence, IteratorProtocol {
        let tape: JSONTape
        var index: Int
        let end: Int

        init(tape: JSONTape, array: Int) {
            self.tape = tape
            index = array + 1
            end = tape.tokens[array].kind == .array ? Int(tape.tokens[array].next) : 0
        }

        /// The next element.
        public mutating func next() -> Int? {
            guard index < end else { return nil }
            defer { index = Int(tape.tokens[index].next) }
            return index
        }
    }
}
