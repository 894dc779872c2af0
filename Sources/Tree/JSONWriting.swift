/// How a value is written as JSON.
public struct JSONStyle: Equatable, Sendable {
    /// Whether objects whose names are the indexes of a dense array are written as arrays.
    public var arrays: Bool
    /// Whether there are line breaks and indentation.
    public var pretty: Bool

    /// Whether priorities are written: `.priority` beside the children, and `.value` for a leaf.
    public var priorities: Bool

    /// One line, arrays where the database shows arrays: what a GET answers.
    public static let compact = JSONStyle(arrays: true, pretty: false)
    /// As `compact`, with line breaks.
    public static let pretty = JSONStyle(arrays: true, pretty: true)
    /// One line and never an array, so that nothing is guessed: `format=export`.
    /// Priorities are shown.
    public static let export = JSONStyle(arrays: false, pretty: false, priorities: true)

    /// Makes a style.
    public init(arrays: Bool, pretty: Bool, priorities: Bool = false) {
        self.arrays = arrays
        self.pretty = pretty
        self.priorities = priorities
    }
}

extension Value {
    /// The value as JSON text.
    public func json(_ style: JSONStyle = .compact) -> [UInt8] {
        var out: [UInt8] = []
        out.append(json: self, style)
        return out
    }
}

extension Children {
    /// The length of the array as which the children are shown: where all names are indexes without
    /// leading zeros and the highest is below twice their number.
    var arrayLength: Int? {
        if case .packed = storage { return nil }
        guard let last = last?.key.arrayIndex, first?.key.arrayIndex != nil, last < 2 * count,
            allSatisfy({ $0.key.arrayIndex != nil })
        else { return nil }
        return last + 1
    }
}

extension [UInt8] {
    /// Appends a value as JSON text.
    public mutating func append(json value: Value, _ style: JSONStyle = .compact) {
        append(json: value, style, indent: 0)
    }

    private mutating func append(json value: Value, _ style: JSONStyle, indent: Int) {
        switch value {
        case .null: append(contentsOf: "null".utf8)
        case .bool(let flag): append(contentsOf: (flag ? "true" : "false").utf8)
        case .int(let number): appendInteger(number)
        case .double(let number): appendDouble(number)
        case .string(let text): appendQuoted(text)
        case .object(let children):
            if style.arrays, children.arrayLength != nil {
                append(array: children, style, indent: indent + 1)
            } else {
                append(object: children, style, indent: indent + 1)
            }
        case .prioritized(let value, let priority):
            guard style.priorities else { return append(json: value, style, indent: indent) }
            if case .object(let children) = value {
                append(object: children, style, indent: indent + 1, priority: priority)
            } else {
                append(leaf: value, priority: priority, style, indent: indent + 1)
            }
        }
    }

    private mutating func append(
        leaf: Value, priority: Value, _ style: JSONStyle, indent: Int
    ) {
        append(UInt8(ascii: "{"))
        append(member: ".value", leaf, style, indent: indent)
        append(UInt8(ascii: ","))
        append(member: ".priority", priority, style, indent: indent)
        if style.pretty { appendLine(indent - 1) }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(
        member name: StaticString, _ value: Value, _ style: JSONStyle, indent: Int
    ) {
        if style.pretty { appendLine(indent) }
        append(UInt8(ascii: "\""))
        append(contentsOf: "\(name)".utf8)
        append(contentsOf: style.pretty ? "\": ".utf8 : "\":".utf8)
        append(json: value, style, indent: indent)
    }

    private mutating func append(
        object children: Children, _ style: JSONStyle, indent: Int, priority: Value = .null
    ) {
        append(UInt8(ascii: "{"))
        var separator = false
        if !priority.isNull {
            append(member: ".priority", priority, style, indent: indent)
            separator = true
        }
        if case .packed(let bytes) = children.storage, !style.pretty {
            append(packed: PackedLeaves(bytes), separator: separator)
            append(UInt8(ascii: "}"))
            return
        }
        for (key, value) in children {
            if separator { append(UInt8(ascii: ",")) }
            separator = true
            if style.pretty { appendLine(indent) }
            appendQuoted(key)
            append(UInt8(ascii: ":"))
            if style.pretty { append(UInt8(ascii: " ")) }
            append(json: value, style, indent: indent)
        }
        if style.pretty { appendLine(indent - 1) }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(packed leaves: consuming PackedLeaves, separator: Bool) {
        var separator = separator
        while let name = leaves.name() {
            if separator { append(UInt8(ascii: ",")) }
            separator = true
            append(leaves, quoted: name)
            append(UInt8(ascii: ":"))
            switch leaves.leaf() {
            case .text(let text): append(leaves, quoted: text)
            case .other(let value): append(json: value, .compact, indent: 0)
            }
        }
    }

    private mutating func append(_ leaves: PackedLeaves, quoted text: PackedLeaves.Text) {
        switch text {
        case .known(let number): appendQuoted(PackedTexts.shared.texts[number])
        case .own(let range): appendQuoted(leaves.bytes[range])
        }
    }

    private mutating func append(array children: Children, _ style: JSONStyle, indent: Int) {
        append(UInt8(ascii: "["))
        var index = 0
        for (key, value) in children {
            while true {
                if index > 0 { append(UInt8(ascii: ",")) }
                if style.pretty { appendLine(indent) }
                index += 1
                if index > key.arrayIndex ?? 0 { break }
                append(contentsOf: "null".utf8)
            }
            append(json: value, style, indent: indent)
        }
        if style.pretty { appendLine(indent - 1) }
        append(UInt8(ascii: "]"))
    }

    private mutating func appendLine(_ indent: Int) {
        append(UInt8(ascii: "\n"))
        append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indent))
    }

    mutating func appendQuoted(_ key: ChildKey) {
        switch key.form {
        case .text(let text): appendQuoted(text)
        case .number(let number):
            append(UInt8(ascii: "\""))
            appendInteger(Int64(number))
            append(UInt8(ascii: "\""))
        }
    }

    /// Appends a text in quotes, copying runs that need no escape as a whole.
    mutating func appendQuoted(_ text: [UInt8]) { appendQuoted(text[...]) }

    mutating func appendQuoted(_ text: ArraySlice<UInt8>) {
        append(UInt8(ascii: "\""))
        var start = text.startIndex
        for index in text.indices {
            let byte = text[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
                continue
            }
            append(contentsOf: text[start..<index])
            appendEscape(byte)
            start = index + 1
        }
        append(contentsOf: text[start...])
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0D: append(UInt8(ascii: "r"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0..<0x20:
            append(contentsOf: "u00".utf8)
            append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
            append(contentsOf: String(byte & 15, radix: 16).utf8)
        default: append(byte)
        }
    }

    mutating func appendInteger(_ value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        let start = count
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        var low = start
        var high = count - 1
        while low < high {
            swapAt(low, high)
            low += 1
            high -= 1
        }
    }

    /// Appends the shortest decimal that reads back as the same number, without a trailing `.0`.
    mutating func appendDouble(_ value: Double) {
        let text = value.description.utf8
        append(contentsOf: text)
        if text.count > 2, suffix(2).elementsEqual(".0".utf8) { removeLast(2) }
    }
}
