/// JSON as rules are written: with `//` and `/* */` comments, a comma after the last member, and
/// strings that may go over lines. Every part knows its place in the text.
struct RulesNode {
    enum Content {
        case object([Member])
        case array([RulesNode])
        /// The text, and the place of each of its bytes (and of its end).
        case string([UInt8], origins: [Int])
        case bool(Bool)
        case number, null
    }

    struct Member {
        var name: [UInt8]
        var offset: Int
        var value: RulesNode
    }

    var content: Content
    var offset: Int

    /// What it is, in words.
    var kind: String {
        switch content {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .bool: "a boolean"
        case .number: "a number"
        case .null: "null"
        }
    }
}

/// Reads the text of rules.
struct RulesReader {
    /// The deepest nesting: the database's own depth, and the rules' two brackets.
    static let depthMax = 40

    private let text: [UInt8]
    private var index = 0

    init(_ text: [UInt8]) { self.text = text }

    static func read(_ text: [UInt8]) throws(RulesIssue) -> RulesNode {
        var reader = RulesReader(text)
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { reader.index = 3 }
        let node = try reader.value(depth: 0)
        try reader.skipSpace()
        guard reader.index == text.count else {
            throw reader.issue("Expected the end of the rules")
        }
        return node
    }

    private var byte: UInt8? { index < text.count ? text[index] : nil }

    private func issue(_ message: String) -> RulesIssue {
        let found =
            byte.map { "found '\(String(decoding: [$0], as: UTF8.self))'" } ?? "found the end"
        return RulesIssue(offset: index, message: "\(message), \(found)")
    }

    private mutating func skipSpace() throws(RulesIssue) {
        while let byte {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            case UInt8(ascii: "/"): index = try endOfComment(in: text, at: index)
            default: return
            }
        }
    }

    private mutating func take(_ character: Character, _ message: String) throws(RulesIssue) {
        guard byte == character.asciiValue else { throw issue(message) }
        index += 1
    }

    private mutating func value(depth: Int) throws(RulesIssue) -> RulesNode {
        try skipSpace()
        let start = index
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < Self.depthMax else {
                throw RulesIssue(offset: start, message: "Rules are nested too deeply")
            }
            let content = try byte == UInt8(ascii: "{") ? object(depth) : array(depth)
            return RulesNode(content: content, offset: start)
        case UInt8(ascii: "\""):
            let (bytes, origins) = try string()
            return RulesNode(content: .string(bytes, origins: origins), offset: start)
        default:
            return RulesNode(content: try word(), offset: start)
        }
    }

    private mutating func object(_ depth: Int) throws(RulesIssue) -> RulesNode.Content {
        index += 1
        var members: [RulesNode.Member] = []
        while true {
            try skipSpace()
            if byte == UInt8(ascii: "}") { break }  // also after a comma
            let offset = index
            guard byte == UInt8(ascii: "\"") else {
                throw issue("Expected a key in quotes or '}'")
            }
            let name = try string().bytes
            guard !members.contains(where: { $0.name == name }) else {
                throw RulesIssue(offset: offset, message: "Key \(quoted(name)) appears twice")
            }
            try skipSpace()
            try take(":", "Expected ':'")
            members.append(.init(name: name, offset: offset, value: try value(depth: depth + 1)))
            try skipSpace()
            if byte == UInt8(ascii: "}") { break }
            try take(",", "Expected ',' or '}'")
        }
        index += 1
        return .object(members)
    }

    private mutating func array(_ depth: Int) throws(RulesIssue) -> RulesNode.Content {
        index += 1
        var elements: [RulesNode] = []
        while true {
            try skipSpace()
            if byte == UInt8(ascii: "]") { break }
            elements.append(try value(depth: depth + 1))
            try skipSpace()
            if byte == UInt8(ascii: "]") { break }
            try take(",", "Expected ',' or ']'")
        }
        index += 1
        return .array(elements)
    }

    private mutating func word() throws(RulesIssue) -> RulesNode.Content {
        let start = index
        while let byte,
            isWordByte(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: ".")
        {
            index += 1
        }
        let word = String(decoding: text[start..<index], as: UTF8.self)
        switch word {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default:
            if Double(word) != nil, word.first?.isLetter == false { return .number }
            index = start
            throw issue("Expected a value")
        }
    }

    private mutating func string() throws(RulesIssue) -> (bytes: [UInt8], origins: [Int]) {
        let start = index
        index += 1
        var bytes: [UInt8] = []
        var origins: [Int] = []
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                origins.append(index)
                index += 1
                guard String(validating: bytes, as: UTF8.self) != nil else {
                    throw RulesIssue(offset: start, message: "String is not UTF-8")
                }
                return (bytes, origins)
            case UInt8(ascii: "\\"):
                let origin = index
                let decoded = try escape()
                bytes.append(contentsOf: decoded)
                origins.append(contentsOf: repeatElement(origin, count: decoded.count))
            default:
                bytes.append(byte)
                origins.append(index)
                index += 1
            }
        }
        throw RulesIssue(offset: start, message: "String has no end")
    }

    private mutating func escape() throws(RulesIssue) -> [UInt8] {
        let start = index
        index += 1
        guard let byte else { throw issue("Expected an escape") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"):
            var unit = try hexUnit(start)
            if 0xD800..<0xDC00 ~= unit, text[index...].starts(with: Array("\\u".utf8)) {
                index += 2
                let low = try hexUnit(start)
                guard 0xDC00..<0xE000 ~= low else {
                    throw RulesIssue(offset: start, message: "Half a surrogate pair")
                }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else {
                throw RulesIssue(offset: start, message: "Half a surrogate pair")
            }
            return Array(String(Character(scalar)).utf8)
        default: throw RulesIssue(offset: start, message: "Unknown escape in a string")
        }
    }

    private mutating func hexUnit(_ start: Int) throws(RulesIssue) -> UInt32 {
        let digits = text[index..<min(index + 4, text.count)]
        guard digits.count == 4, digits.allSatisfy(isHexDigit),
            let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw RulesIssue(offset: start, message: "\\u needs four hexadecimal digits") }
        index += 4
        return unit
    }
}

/// The byte after the comment that begins at `start`.
func endOfComment(in text: [UInt8], at start: Int) throws(RulesIssue) -> Int {
    let second = start + 1 < text.count ? text[start + 1] : 0
    var index = start + 2
    switch second {
    case UInt8(ascii: "/"):
        while index < text.count, text[index] != UInt8(ascii: "\n") { index += 1 }
        return index
    case UInt8(ascii: "*"):
        while index + 1 < text.count {
            if text[index] == UInt8(ascii: "*"), text[index + 1] == UInt8(ascii: "/") {
                return index + 2
            }
            index += 1
        }
        throw RulesIssue(offset: start, message: "Comment has no end")
    default: throw RulesIssue(offset: start, message: "Expected a value, found '/'")
    }
}

func quoted(_ bytes: some Sequence<UInt8>) -> String {
    "'" + String(decoding: Array(bytes), as: UTF8.self) + "'"
}

func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
    default: false
    }
}

func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
}
