/// The database's keys: what an id or a member name becomes (contract section 2, "Keys").
public enum Key {
    /// The longest key, in bytes.
    public static let bytesMax = 768
    /// The deepest path, value included, in segments.
    public static let depthMax = 32

    /// Whether a byte may not stand in a key as it is: `. $ # [ ] / %`, U+0000–U+001F and U+007F.
    public static func isForbidden(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x7F, UInt8(ascii: "."), UInt8(ascii: "$"), UInt8(ascii: "#"),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "/"), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    /// The key of a text, percent-encoded byte by byte where a byte may not stand.
    public static func escape(_ text: [UInt8]) -> [UInt8] {
        guard hasForbidden(text) else { return text }
        var out: [UInt8] = []
        out.reserveCapacity(text.count + 16)
        for byte in text {
            guard isForbidden(byte) else {
                out.append(byte)
                continue
            }
            out.append(UInt8(ascii: "%"))
            out.append(hex[Int(byte >> 4)])
            out.append(hex[Int(byte & 15)])
        }
        return out
    }

    // Most ids need no encoding: one pass of a few instructions a byte finds that out.
    private static func hasForbidden(_ text: [UInt8]) -> Bool {
        let (low, high) = forbidden
        var found: UInt64 = 0
        for byte in text where byte < 128 {
            found |= (byte < 64 ? low : high) >> UInt64(byte & 63) & 1
        }
        return found != 0
    }

    // A bit for each byte of `isForbidden`.
    private static let forbidden: (low: UInt64, high: UInt64) = {
        var bits: (low: UInt64, high: UInt64) = (0, 0)
        for byte in UInt8(0)..<128 where isForbidden(byte) {
            if byte < 64 {
                bits.low |= 1 << UInt64(byte)
            } else {
                bits.high |= 1 << UInt64(byte - 64)
            }
        }
        return bits
    }()

    /// The key of an object's member name: as an id, and `%` for an empty one.
    public static func member(_ name: [UInt8]) -> [UInt8] {
        name.isEmpty ? [UInt8(ascii: "%")] : escape(name)
    }

    /// The text that a key was made of.
    public static func unescape(_ key: [UInt8]) -> [UInt8] {
        guard key != [UInt8(ascii: "%")] else { return [] }
        var out: [UInt8] = []
        var index = 0
        while index < key.count {
            if key[index] == UInt8(ascii: "%"), index + 2 < key.count,
                let high = value(key[index + 1]), let low = value(key[index + 2])
            {
                out.append(high << 4 | low)
                index += 3
            } else {
                out.append(key[index])
                index += 1
            }
        }
        return out
    }

    private static let hex = Array("0123456789ABCDEF".utf8)

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
