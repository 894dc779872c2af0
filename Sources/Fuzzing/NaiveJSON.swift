/// JSON read in the plainest way, straight from the grammar of RFC 8259: what the real parser is
/// compared with. Slow, and apart from it on purpose.
public indirect enum NaiveJSON: Equatable {
    case object([(name: [UInt16], value: NaiveJSON)])
    case array([NaiveJSON])
    /// UTF-16 code units, so that an unpaired surrogate stays what it was.
    case string([UInt16])
    /// As it was written.
    case number([UInt8])
    case bool(Bool)
    case null

    /// What a text came to.
    public enum Reading: Equatable {
        case value(NaiveJSON)
        case malformed
        /// More than 512 containers stand around one another.
        case tooDeep
    }

    /// Reads a text.
    public static func read(_ text: [UInt8]) -> Reading {
        guard String(validating: text, as: UTF8.self) != nil else { return .malformed }
        var reader = NaiveReader(text: text)
        do throws(NaiveReader.Failure) {
            let value = try reader.value(depth: 0)
            reader.skipSpace()
            return reader.isAtEnd ? .value(value) : .malformed
        } catch {
            return error == .tooDeep ? .tooDeep : .malformed
        }
    }

    /// Whether both say the same, member by member in the same order.
    public static func == (a: NaiveJSON, b: NaiveJSON) -> Bool {
        switch (a, b) {
        case (.object(let a), .object(let b)):
            a.elementsEqual(b) { $0.name == $1.name && $0.value == $1.value }
        case (.array(let a), .array(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.bool(let a), .bool(let b)): a == b
        case (.null, .null): true
        default: false
        }
    }
}

private struct NaiveReader {
    enum Failure: Error { case malformed, tooDeep }

    let text: [UInt8]
    var at = 0

    var isAtEnd: Bool { at == text.count }

    private var next: UInt8? { at < text.count ? text[at] : nil }

    mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { at += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    private mutating func word(_ word: String, _ value: NaiveJSON) throws(Failure) -> NaiveJSON {
        guard text[at...].starts(with: word.utf8) else { throw .malformed }
        at += word.utf8.count
        return value
    }

    mutating func value(depth: Int) throws(Failure) -> NaiveJSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> NaiveJSON {
        at += 1
        guard depth < 512 else { throw .tooDeep }
        var members: [(name: [UInt16], value: NaiveJSON)] = []
        skipSpace()
        if take("}") { return .object([]) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw .malformed }
            let name = try string()
            skipSpace()
            guard take(":") else { throw .malformed }
            members.append((name, try value(depth: depth + 1)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw .malformed }
        }
    }

    private mutating func array(depth: Int) throws(Failure) -> NaiveJSON {
        at += 1
        guard depth < 512 else { throw .tooDeep }
        var elements: [NaiveJSON] = []
        skipSpace()
        if take("]") { return .array([]) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw .malformed }
        }
    }

    private mutating func string() throws(Failure) -> [UInt16] {
        at += 1
        var units: [UInt16] = []
        while let byte = next {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return units
            case 0..<0x20: throw .malformed
            case UInt8(ascii: "\\"): units.append(try escape())
            default:
                let start = at - 1
                while let more = next, more & 0xC0 == 0x80 { at += 1 }
                units += String(decoding: text[start..<at], as: UTF8.self).utf16
            }
        }
        throw .malformed
    }

    private mutating func escape() throws(Failure) -> UInt16 {
        guard let byte = next else { throw .malformed }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt16(byte)
        case UInt8(ascii: "b"): return 8
        case UInt8(ascii: "f"): return 12
        case UInt8(ascii: "n"): return 10
        case UInt8(ascii: "r"): return 13
        case UInt8(ascii: "t"): return 9
        case UInt8(ascii: "u"):
            let digits = text[at..<min(at + 4, text.count)]
            let areHex = digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit && $0 < 128 }
            guard digits.count == 4, areHex else { throw .malformed }
            at += 4
            return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)!
        default: throw .malformed
        }
    }

    private mutating func digits() -> Int {
        let start = at
        while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
        return at - start
    }

    private mutating func number() throws(Failure) -> [UInt8] {
        let start = at
        _ = take("-")
        let first = next
        let count = digits()
        guard count > 0, count == 1 || first != UInt8(ascii: "0") else { throw .malformed }
        if take(".") { guard digits() > 0 else { throw .malformed } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard digits() > 0 else { throw .malformed }
        }
        return Array(text[start..<at])
    }
}
