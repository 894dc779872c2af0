extension Value {
    /// The hash by which the database's clients compare nodes: base64 of the SHA-1 of a canonical
    /// text; empty for an absent node.
    ///
    /// A leaf's text is its type and value, a number as the sixteen hexadecimal digits of its
    /// double; a node's is `:key:hash` of each child in key order.
    public var nodeHash: [UInt8] {
        if isNull { return [] }
        var text: [UInt8] = []
        switch self {
        case .null: break
        case .bool(let flag): text.append(contentsOf: "boolean:\(flag)".utf8)
        case .int(let number): text.append(number: Double(number))
        case .double(let number): text.append(number: number)
        case .string(let string):
            text.append(contentsOf: "string:".utf8)
            text.append(contentsOf: string)
        case .object(let children):
            for (key, value) in children {
                text.append(UInt8(ascii: ":"))
                text.appendKey(key)
                text.append(UInt8(ascii: ":"))
                text.append(contentsOf: value.nodeHash)
            }
        }
        return base64(SHA1.digest(text))
    }
}

extension [UInt8] {
    fileprivate mutating func append(number: Double) {
        let digits = String(number.bitPattern, radix: 16)
        append(contentsOf: "number:".utf8)
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 16 - digits.utf8.count))
        append(contentsOf: digits.utf8)
    }
}

private let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

private func base64(_ bytes: [UInt8]) -> [UInt8] {
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
