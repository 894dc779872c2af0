extension Value {
    /// The hash by which the database's clients compare nodes: base64 of the SHA-1 of a canonical
    /// text; empty for an absent node.
    ///
    /// A leaf's text is its type and value, a number as the sixteen hexadecimal digits of its
    /// double; a node's is `:key:hash` of each child, ordered by priority, then by key. A priority
    /// comes first, as `priority:` and the text of a leaf and `:`.
    public var nodeHash: [UInt8] {
        var text: [UInt8] = []
        switch self {
        case .null: return []
        case .prioritized(let value, let priority):
            text.append(contentsOf: "priority:".utf8)
            text.append(leaf: priority)
            text.append(UInt8(ascii: ":"))
            text.append(hashed: value)
        default: text.append(hashed: self)
        }
        return base64(SHA1.digest(text))
    }
}

extension [UInt8] {
    fileprivate mutating func append(hashed value: Value) {
        guard case .object(let children) = value else { return append(leaf: value) }
        for (key, child) in children.inPriorityOrder {
            append(UInt8(ascii: ":"))
            appendKey(key)
            append(UInt8(ascii: ":"))
            append(contentsOf: child.nodeHash)
        }
    }

    fileprivate mutating func append(leaf: Value) {
        switch leaf {
        case .bool(let flag): append(contentsOf: "boolean:\(flag)".utf8)
        case .int(let number): append(number: Double(number))
        case .double(let number): append(number: number)
        case .string(let string):
            append(contentsOf: "string:".utf8)
            append(contentsOf: string)
        case .null, .object, .prioritized: preconditionFailure("no leaf")
        }
    }

    fileprivate mutating func append(number: Double) {
        let digits = String(number.bitPattern, radix: 16)
        append(contentsOf: "number:".utf8)
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 16 - digits.utf8.count))
        append(contentsOf: digits.utf8)
    }
}

private let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

/// Base64 of RFC 4648, with padding.
public func base64(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        var bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        bits &= 0xFF_FFFF
        for place in 0..<4 {
            let digit = alphabet[bits >> (18 - 6 * place) & 63]
            out.append(place <= group.count ? digit : UInt8(ascii: "="))
        }
    }
    return out
}
