/// The 64-bit integer that a JSON number stands for: `7`, `7.0` and `7e0` are 7; `7.5`, `1e999` and
/// 2^63 are nil. Decided on the digits, so that nothing is lost to a double.
///
/// - Parameter number: text that follows the grammar of a JSON number.
public func parseInt64(number: ArraySlice<UInt8>) -> Int64? {
    var index = number.startIndex
    let negative = index < number.endIndex && number[index] == UInt8(ascii: "-")
    if negative { index += 1 }
    if let plain = plainDecimal(number[index...], negative: negative) { return plain }
    // Digits without the point, the place of the point, and the exponent that moves it.
    var digits: [UInt8] = []
    while index < number.endIndex, isDigit(number[index]) {
        digits.append(number[index])
        index += 1
    }
    let whole = digits.count
    if index < number.endIndex, number[index] == UInt8(ascii: ".") {
        index += 1
        while index < number.endIndex, isDigit(number[index]) {
            digits.append(number[index])
            index += 1
        }
    }
    var exponent = 0
    if index < number.endIndex, number[index] | 0x20 == UInt8(ascii: "e") {
        index += 1
        var sign = 1
        if index < number.endIndex, !isDigit(number[index]) {
            sign = number[index] == UInt8(ascii: "-") ? -1 : 1
            index += 1
        }
        while index < number.endIndex, isDigit(number[index]) {
            exponent = min(exponent * 10 + Int(number[index] - UInt8(ascii: "0")), 1_000_000)
            index += 1
        }
        exponent *= sign
    }
    guard digits.contains(where: { $0 != UInt8(ascii: "0") }) else { return 0 }
    let point = whole + exponent
    let significant = (digits.lastIndex { $0 != UInt8(ascii: "0") } ?? 0) + 1
    guard significant <= point else { return nil }
    let leading = digits.firstIndex { $0 != UInt8(ascii: "0") } ?? 0
    guard point - leading <= 19 else { return nil }
    var padded = Array(digits[leading..<significant])
    padded.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: point - significant))
    return plainDecimal(padded[...], negative: negative)
}

/// The integer of a text of decimal digits alone, leading zeros allowed; nil where it is empty, has
/// anything else, or does not fit.
public func plainDecimal(_ digits: ArraySlice<UInt8>, negative: Bool) -> Int64? {
    guard !digits.isEmpty else { return nil }
    var value: Int64 = 0
    for digit in digits {
        guard isDigit(digit) else { return nil }
        let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
        let one = Int64(digit - UInt8(ascii: "0"))
        let (sum, carried) =
            negative ? tens.subtractingReportingOverflow(one) : tens.addingReportingOverflow(one)
        if overflow || carried { return nil }
        value = sum
    }
    return value
}

func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
