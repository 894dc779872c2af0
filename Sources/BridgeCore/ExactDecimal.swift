internal import JSON

/// A decimal number of any size, compared digit by digit: rounded to what a machine's numbers hold,
/// two that differ would be the same.
struct ExactDecimal: Comparable {
    private let isNegative: Bool
    /// Without zeros at either end; empty for zero.
    private let digits: [UInt8]
    /// The number is 0.DIGITS × 10^`magnitude`.
    private let magnitude: Int

    /// Reads digits as in a JSON number, leading zeros allowed; nil for anything else, and for an
    /// exponent that no number of this world has.
    init?(_ json: [UInt8]) {
        var rest = json[...]
        isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        var digits: [UInt8] = []
        var beforePoint: Int?
        while let byte = rest.first, byte != UInt8(ascii: "e"), byte != UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if byte == UInt8(ascii: "."), beforePoint == nil {
                beforePoint = digits.count
            } else {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                digits.append(byte)
            }
        }
        guard !digits.isEmpty else { return nil }
        var exponent = 0
        if !rest.isEmpty {
            let written = Int(String(decoding: rest.dropFirst(), as: UTF8.self))
            guard let written, written.magnitude < 1 << 40 else { return nil }
            exponent = written
        }
        let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
        let point = beforePoint ?? digits.count
        digits.removeFirst(leading)
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        self.digits = digits
        magnitude = digits.isEmpty ? 0 : point - leading + exponent
    }

    /// Reads digits after an optional `-`; nil for anything else.
    init?(integer text: [UInt8]) {
        let isPlain = [".", "e", "E"].allSatisfy { !text.contains(UInt8(ascii: $0)) }
        guard isPlain else { return nil }
        self.init(text)
    }

    init(_ integer: Int64) {
        var json: [UInt8] = []
        json.appendDecimal(integer)
        guard let number = ExactDecimal(json) else { preconditionFailure("digits are a number") }
        self = number
    }

    /// The number as JSON, though not as it was written.
    var json: [UInt8] {
        guard sign != 0 else { return [UInt8(ascii: "0")] }
        return Array((isNegative ? "-0." : "0.").utf8) + digits + Array("e\(magnitude)".utf8)
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

    static func < (a: Self, b: Self) -> Bool {
        guard a.sign == b.sign else { return a.sign < b.sign }
        guard a.sign != 0 else { return false }
        let (small, great) = a.isNegative ? (b, a) : (a, b)
        return small.magnitude == great.magnitude
            ? small.digits.lexicographicallyPrecedes(great.digits)
            : small.magnitude < great.magnitude
    }

    static func == (a: Self, b: Self) -> Bool {
        a.sign == b.sign && a.digits == b.digits && a.magnitude == b.magnitude
    }
}
