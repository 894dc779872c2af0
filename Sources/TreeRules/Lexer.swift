/// A word of an expression.
enum Token: Equatable {
    case name([UInt8])
    case number(RuleValue.Number)
    case string([UInt8])
    case regex(pattern: [UInt8], flags: [UInt8])
    case symbol(String)
    case end

    /// The word as a message shows it.
    var shown: String {
        switch self {
        case .name(let name): quoted(name)
        case .number: "a number"
        case .string(let text): "the string " + quoted(text)
        case .regex: "a regular expression"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end"
        }
    }
}

/// Cuts an expression into words.
struct Lexer {
    private static let symbols = [
        "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", ".", ",", "+", "-",
        "*", "/", "%", "<", ">", "!", "?", ":",
    ].map { (text: $0, bytes: Array($0.utf8)) }

    private let text: [UInt8]
    private var index = 0
    /// A `/` here begins a regular expression: no operand has just ended.
    private var expectsOperand = true

    init(_ text: [UInt8]) { self.text = text }

    /// All words with the places where they begin; the last is the end.
    static func tokens(of text: [UInt8]) throws(ExpressionError) -> [(token: Token, offset: Int)] {
        var lexer = Lexer(text)
        var tokens: [(token: Token, offset: Int)] = []
        while true {
            try lexer.skipSpace()
            let offset = lexer.index
            let token = try lexer.next()
            tokens.append((token, offset))
            if token == .end { return tokens }
            lexer.expectsOperand =
                switch token {
                case .symbol(")"), .symbol("]"), .name, .number, .string, .regex: false
                default: true
                }
        }
    }

    private var byte: UInt8? { index < text.count ? text[index] : nil }

    /// Skips space and comments, which a rule over several lines may have.
    private mutating func skipSpace() throws(ExpressionError) {
        while let byte {
            if byte <= 0x20 {
                index += 1
            } else if text[index...].starts(with: Array("//".utf8))
                || text[index...].starts(with: Array("/*".utf8))
            {
                do {
                    index = try endOfComment(in: text, at: index)
                } catch {
                    throw ExpressionError(offset: error.offset, message: error.message)
                }
            } else {
                return
            }
        }
    }

    private mutating func next() throws(ExpressionError) -> Token {
        guard let byte else { return .end }
        if isDigit(byte)
            || byte == UInt8(ascii: ".") && index + 1 < text.count
                && isDigit(text[index + 1])
        {
            return try number()
        }
        if isWordByte(byte) || byte == UInt8(ascii: "$") { return name() }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { return try string(byte) }
        if byte == UInt8(ascii: "/"), expectsOperand { return try regex() }
        for symbol in Self.symbols where text[index...].starts(with: symbol.bytes) {
            index += symbol.bytes.count
            return .symbol(symbol.text)
        }
        let rest = String(decoding: text[index...], as: UTF8.self)
        throw ExpressionError(
            offset: index, message: "Unexpected '\(rest.first.map { String($0) } ?? "")'")
    }

    private mutating func name() -> Token {
        let start = index
        while let byte, isWordByte(byte) || byte == UInt8(ascii: "$") { index += 1 }
        return .name(Array(text[start..<index]))
    }

    private mutating func number() throws(ExpressionError) -> Token {
        let start = index
        if text[index...].starts(with: Array("0x".utf8)) {
            index += 2
            let digits = index
            while let byte, isHexDigit(byte) { index += 1 }
            let text = String(decoding: text[digits..<index], as: UTF8.self)
            if let integer = Int64(text, radix: 16), !isName(byte) { return .number(.int(integer)) }
            throw ExpressionError(offset: start, message: "Not a number")
        }
        while let byte, isDigit(byte) { index += 1 }
        if byte == UInt8(ascii: ".") {
            index += 1
            while let byte, isDigit(byte) { index += 1 }
        }
        if let byte, byte | 0x20 == UInt8(ascii: "e") {
            index += 1
            if self.byte == UInt8(ascii: "+") || self.byte == UInt8(ascii: "-") { index += 1 }
            while let byte = self.byte, isDigit(byte) { index += 1 }
        }
        var digits = String(decoding: text[start..<index], as: UTF8.self)
        if digits.hasSuffix(".") { digits += "0" }
        guard !isName(byte), let number = Double(digits), number.isFinite else {
            throw ExpressionError(offset: start, message: "Not a number")
        }
        return .number(Int64(digits).map { .int($0) } ?? .of(number))
    }

    private func isName(_ byte: UInt8?) -> Bool {
        byte.map { isWordByte($0) || $0 == UInt8(ascii: "$") } ?? false
    }

    private mutating func string(_ quote: UInt8) throws(ExpressionError) -> Token {
        let start = index
        index += 1
        var bytes: [UInt8] = []
        while let byte {
            index += 1
            if byte == quote { return .string(bytes) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = self.byte else { break }
            index += 1
            switch escaped {
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "u"), UInt8(ascii: "x"):
                let count = escaped == UInt8(ascii: "u") ? 4 : 2
                let digits = text[index..<min(index + count, text.count)]
                guard digits.count == count, digits.allSatisfy(isHexDigit),
                    let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
                    let scalar = Unicode.Scalar(unit)
                else { throw ExpressionError(offset: index - 2, message: "Unknown escape") }
                index += count
                bytes.append(contentsOf: String(Character(scalar)).utf8)
            default: bytes.append(escaped)
            }
        }
        throw ExpressionError(offset: start, message: "String has no end")
    }

    private mutating func regex() throws(ExpressionError) -> Token {
        let start = index
        index += 1
        var pattern: [UInt8] = []
        var inSet = false
        while let byte {
            index += 1
            switch byte {
            case UInt8(ascii: "\\"):
                pattern.append(byte)
                guard let escaped = self.byte else { continue }
                pattern.append(escaped)
                index += 1
            case UInt8(ascii: "/") where !inSet:
                let flags = index
                while let byte = self.byte, isWordByte(byte) { index += 1 }
                return .regex(pattern: pattern, flags: Array(text[flags..<index]))
            default:
                if byte == UInt8(ascii: "[") { inSet = true }
                if byte == UInt8(ascii: "]") { inSet = false }
                pattern.append(byte)
            }
        }
        throw ExpressionError(offset: start, message: "Regular expression has no end")
    }
}
