/// Decodes the escapes of a string's inside, which the parser has already checked. A surrogate
/// without its partner becomes U+FFFD.
public func unescapeJSON(_ slice: ArraySlice<UInt8>) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(slice.count)
    var index = slice.startIndex
    func unit(at index: Int) -> UInt32? {
        guard index + 6 <= slice.endIndex, slice[index] == UInt8(ascii: "\\"),
            slice[index + 1] == UInt8(ascii: "u")
        else { return nil }
        var value: UInt32 = 0
        for digit in slice[index + 2..<index + 6] { value = value << 4 | UInt32(hexValue(digit)) }
        return value
    }
    while index < slice.endIndex {
        let byte = slice[index]
        guard byte == UInt8(ascii: "\\") else {
            out.append(byte)
            index += 1
            continue
        }
        let escape = slice[index + 1]
        guard escape == UInt8(ascii: "u") else {
            out.append(simpleEscape(escape))
            index += 2
            continue
        }
        var scalar = unit(at: index) ?? 0xFFFD
        index += 6
        if (0xD800..<0xDC00).contains(scalar), let low = unit(at: index),
            (0xDC00..<0xE000).contains(low)
        {
            scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            index += 6
        }
        out.append(contentsOf: UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}")!)
    }
    return out
}

private func simpleEscape(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: byte
    }
}

private func hexValue(_ digit: UInt8) -> UInt8 {
    digit <= UInt8(ascii: "9") ? digit - UInt8(ascii: "0") : (digit | 0x20) - UInt8(ascii: "a") + 10
}

private func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
}

private let hexDigits = Array("0123456789abcdef".utf8)

extension [UInt8] {
    /// Appends UTF-8 text as a JSON string: quotes around it, only what must be escaped escaped.
    public mutating func appendJSONString(_ text: [UInt8]) {
        append(UInt8(ascii: "\""))
        guard text.contains(where: needsEscape) else {
            append(contentsOf: text)
            append(UInt8(ascii: "\""))
            return
        }
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0x0A: append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0x0D: append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "r")])
            case 0x09: append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
            case 0..<0x20:
                append(contentsOf: "\\u00".utf8)
                append(hexDigits[Int(byte >> 4)])
                append(hexDigits[Int(byte & 15)])
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends a Swift string as a JSON string.
    public mutating func appendJSONString(_ text: String) { appendJSONString(Array(text.utf8)) }

    /// Appends an integer in plain decimals.
    public mutating func appendDecimal(_ value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        let digits = value.magnitude
        var divisor: UInt64 = 1
        while digits / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digits / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends an integer in plain decimals.
    public mutating func appendDecimal(_ value: Int) { appendDecimal(Int64(value)) }
}
