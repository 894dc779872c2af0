/// A child's name, ordered as the database orders children.
///
/// The decimal of a 32-bit integer (`0`, `41`, `-7`) is kept as that integer, which costs no memory
/// of its own and compares fast; any other name is kept as its UTF-8 bytes. Names are equal when
/// their bytes are: `é` in its two Unicode forms is two names.
public struct ChildKey: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case number(Int32)
        /// Never a canonical decimal of 32 bits.
        case text([UInt8])
    }

    let form: Form

    /// The key of a name's UTF-8 bytes.
    public init(_ bytes: [UInt8]) {
        form = canonicalInt32(bytes[...]).map(Form.number) ?? .text(bytes)
    }

    /// The key of an array index.
    public init(index: Int32) { form = .number(index) }

    init(text: [UInt8]) { form = .text(text) }

    /// The name's UTF-8 bytes.
    public var bytes: [UInt8] {
        switch form {
        case .text(let bytes): return bytes
        case .number(let number):
            var bytes: [UInt8] = []
            bytes.appendKey(self)
            precondition(!bytes.isEmpty, "\(number) has no digits")
            return bytes
        }
    }

    /// The index in an array that the name stands for: `0`, `1`, … without leading zeros.
    var arrayIndex: Int? {
        guard case .number(let number) = form, number >= 0 else { return nil }
        return Int(number)
    }

    /// The 32-bit integer that the name reads as, leading zeros allowed.
    var integer: Int32? {
        switch form {
        case .number(let number): number
        case .text(let bytes): looseInt32(bytes)
        }
    }
}

extension ChildKey: Comparable {
    /// Whether `a` comes before `b` among the children of a node: first the names that read as
    /// 32-bit integers, by number (equal ones by length), then the others by UTF-16 code units.
    public static func < (a: Self, b: Self) -> Bool { a.order(b) < 0 }

    /// Negative, zero or positive, as the key comes before, is or comes after the other.
    func order(_ other: borrowing ChildKey) -> Int {
        switch form {
        case .number(let a):
            switch other.form {
            case .number(let b): return a < b ? -1 : a == b ? 0 : 1
            case .text(let b):
                // At the same number the canonical form is the shortest, so it comes first.
                guard let y = looseInt32(b) else { return -1 }
                return a <= y ? -1 : 1
            }
        case .text(let a):
            switch other.form {
            case .number(let b):
                guard let x = looseInt32(a) else { return 1 }
                return b <= x ? 1 : -1
            case .text(let b): return textOrder(a, b)
            }
        }
    }
}

/// The order of two names that are no canonical integers.
private func textOrder(_ a: [UInt8], _ b: [UInt8]) -> Int {
    switch (looseInt32(a), looseInt32(b)) {
    case (nil, nil): return utf16Order(a, b)
    case (_, nil): return -1
    case (nil, _): return 1
    case (let x?, let y?):
        if x != y { return x < y ? -1 : 1 }
        return a.count != b.count ? a.count - b.count : utf16Order(a, b)
    }
}

/// Compares UTF-8 texts by their UTF-16 code units. That is byte order, save that characters beyond
/// U+FFFF (lead byte F0…F4) come before those of U+E000…U+FFFF (lead byte EE, EF).
func utf16Order(_ a: [UInt8], _ b: [UInt8]) -> Int { utf16Order(a.span, b.span) }

func utf16Order(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Int {
    if a.isIdentical(to: b) { return 0 }  // texts that share their memory
    let shared = min(a.count, b.count)
    var index = 0
    while index < shared {
        let x = a[index]
        let y = b[index]
        if x != y {
            if x >= 0xF0, y == 0xEE || y == 0xEF { return -1 }
            if y >= 0xF0, x == 0xEE || x == 0xEF { return 1 }
            return x < y ? -1 : 1
        }
        index += 1
    }
    return a.count - b.count
}

/// The 32-bit integer whose shortest decimal the text is.
func canonicalInt32(_ text: ArraySlice<UInt8>) -> Int32? {
    guard let first = text.first, text.count <= 11 else { return nil }
    let negative = first == UInt8(ascii: "-")
    let digits = negative ? text.dropFirst() : text
    guard let lead = digits.first, digits.count <= 10 else { return nil }
    if lead == UInt8(ascii: "0"), negative || digits.count > 1 { return nil }
    return int32(digits, negative: negative)
}

/// The 32-bit integer that the text reads as: `-?0*[0-9]{1,10}`, in range.
private func looseInt32(_ text: [UInt8]) -> Int32? {
    guard let first = text.first, first == UInt8(ascii: "-") || isDigit(first) else { return nil }
    let negative = first == UInt8(ascii: "-")
    var digits = negative ? text.dropFirst() : text[...]
    while digits.count > 1, digits.first == UInt8(ascii: "0") { digits = digits.dropFirst() }
    guard (1...10).contains(digits.count) else { return nil }
    return int32(digits, negative: negative)
}

private func int32(_ digits: ArraySlice<UInt8>, negative: Bool) -> Int32? {
    var value: Int64 = 0
    for digit in digits {
        guard isDigit(digit) else { return nil }
        value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return Int32(exactly: negative ? -value : value)
}

func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

extension [UInt8] {
    /// Appends a key's bytes as they are.
    mutating func appendKey(_ key: ChildKey) {
        switch key.form {
        case .text(let bytes): append(contentsOf: bytes)
        case .number(let number): appendInteger(Int64(number))
        }
    }
}
