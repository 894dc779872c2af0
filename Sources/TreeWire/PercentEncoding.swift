/// Decodes `%41`; nil where a `%` is not followed by two hexadecimal digits.
///
/// - Parameter plus: whether `+` stands for a space, as in a query.
public func percentDecode(_ text: ArraySlice<UInt8>, plus: Bool = false) -> [UInt8]? {
    let isPlain = !text.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") && plus }
    if isPlain { return Array(text) }
    var out: [UInt8] = []
    out.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
        switch byte {
        case UInt8(ascii: "%"):
            guard let high = rest.next().flatMap(hexValue), let low = rest.next().flatMap(hexValue)
            else { return nil }
            out.append(high << 4 | low)
        case UInt8(ascii: "+") where plus: out.append(UInt8(ascii: " "))
        default: out.append(byte)
        }
    }
    return out
}

/// Encodes every byte that is not a letter, a digit or one of `-._~`.
public func percentEncode(_ text: some Sequence<UInt8>) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    var out: [UInt8] = []
    for byte in text {
        if isUnreserved(byte) {
            out.append(byte)
        } else {
            out.append(UInt8(ascii: "%"))
            out.append(digits[Int(byte >> 4)])
            out.append(digits[Int(byte & 15)])
        }
    }
    return out
}

private func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        true
    default: false
    }
}

private func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}
