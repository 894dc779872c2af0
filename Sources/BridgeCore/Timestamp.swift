/// An instant to the nanosecond, from RFC 3339 text or Kafka's milliseconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Seconds since 1970, UTC.
    public var seconds: Int64
    /// Nanoseconds within the second.
    public var nanoseconds: Int32

    /// Makes an instant.
    public init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The instant so many milliseconds after 1970.
    public init(milliseconds: Int64) {
        let seconds = milliseconds.floorDivided(by: 1000)
        self.init(
            seconds: seconds, nanoseconds: Int32(milliseconds - seconds * 1000) * 1_000_000)
    }

    /// Whole milliseconds since 1970.
    public var milliseconds: Int64 { seconds * 1000 + Int64(nanoseconds / 1_000_000) }

    /// The earlier first.
    public static func < (a: Self, b: Self) -> Bool {
        a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds
    }

    /// Parses RFC 3339: `2026-04-23T22:43:44.7Z`, `…+02:00`; digits past the ninth are cut off. A
    /// leap second is the next minute's first.
    public init?(_ text: some RandomAccessCollection<UInt8>) {
        var reader = DigitReader(text)
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2),
            reader.skip("-"), let day = reader.number(2), reader.skip("T") || reader.skip("t"),
            let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2),
            reader.skip(":"), let second = reader.number(2),
            (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var nanoseconds: Int32 = 0
        if reader.skip(".") {
            guard let fraction = reader.fraction() else { return nil }
            nanoseconds = fraction
        }
        var offset = 0
        if !(reader.skip("Z") || reader.skip("z")) {
            let sign = reader.skip("+") ? 1 : reader.skip("-") ? -1 : 0
            guard sign != 0, let hours = reader.number(2), reader.skip(":"),
                let minutes = reader.number(2), hours < 24, minutes < 60
            else { return nil }
            offset = sign * (hours * 3600 + minutes * 60)
        }
        guard reader.isAtEnd else { return nil }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        self.init(
            seconds: Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second - offset),
            nanoseconds: nanoseconds)
    }

    /// Parses RFC 3339 that stands in a longer text. The usual form, `2026-04-23T22:43:44.700Z`, is
    /// read without looking for others.
    init?(_ bytes: [UInt8], at range: Range<Int>) {
        let usual = range.count == 24 ? Self.usual(bytes.span.extracting(range)) : nil
        guard let time = usual ?? Timestamp(bytes[range]) else { return nil }
        self = time
    }

    // nil where anything is out of the ordinary.
    private static func usual(_ text: Span<UInt8>) -> Timestamp? {
        var isUsual =
            text[4] == UInt8(ascii: "-") && text[7] == UInt8(ascii: "-")
            && text[10] == UInt8(ascii: "T") && text[13] == UInt8(ascii: ":")
            && text[16] == UInt8(ascii: ":") && text[19] == UInt8(ascii: ".")
            && text[23] == UInt8(ascii: "Z")
        func number(_ from: Int, _ count: Int) -> Int {
            var value = 0
            for index in from..<from + count {
                let digit = text[index] &- UInt8(ascii: "0")
                if digit > 9 { isUsual = false }
                value = value &* 10 &+ Int(digit)
            }
            return value
        }
        let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
        let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
        let milliseconds = number(20, 3)
        guard isUsual, (1...12).contains(month), (1...28).contains(day), hour < 24, minute < 60,
            second < 60
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        return Timestamp(
            seconds: Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second),
            nanoseconds: Int32(milliseconds) * 1_000_000)
    }

    /// The milliseconds since 1970 that RFC 3339 can write: the years 0000 to 9999.
    static let writable: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// `2026-04-23T22:43:44.700Z`: how the bridge writes a time of Kafka's or its own.
    public static func text(milliseconds: Int64) -> [UInt8] {
        let days = milliseconds.floorDivided(by: 86_400_000)
        let rest = Int(milliseconds - days * 86_400_000)
        let (year, month, day) = civil(days: Int(days))
        var out: [UInt8] = []
        out.reserveCapacity(24)
        out.appendDigits(year, 4)
        out.append(UInt8(ascii: "-"))
        out.appendDigits(month, 2)
        out.append(UInt8(ascii: "-"))
        out.appendDigits(day, 2)
        out.append(UInt8(ascii: "T"))
        out.appendDigits(rest / 3_600_000, 2)
        out.append(UInt8(ascii: ":"))
        out.appendDigits(rest / 60_000 % 60, 2)
        out.append(UInt8(ascii: ":"))
        out.appendDigits(rest / 1000 % 60, 2)
        out.append(UInt8(ascii: "."))
        out.appendDigits(rest % 1000, 3)
        out.append(UInt8(ascii: "Z"))
        return out
    }

    private static func days(in month: Int, of year: Int) -> Int {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: leap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Days of the proleptic Gregorian calendar, counted in eras of 400 years that begin in March.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let y = month <= 2 ? year - 1 : year
        let era = (y >= 0 ? y : y - 399) / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        let z = days + 719_468
        let era = (z >= 0 ? z : z - 146_096) / 146_097
        let dayOfEra = z - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

private struct DigitReader<Text: RandomAccessCollection> where Text.Element == UInt8 {
    let text: Text
    var index: Text.Index

    init(_ text: Text) {
        self.text = text
        index = text.startIndex
    }

    var isAtEnd: Bool { index == text.endIndex }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard !isAtEnd, text[index] == UInt8(ascii: character) else { return false }
        index = text.index(after: index)
        return true
    }

    mutating func digit() -> Int? {
        guard !isAtEnd, text[index] >= UInt8(ascii: "0"), text[index] <= UInt8(ascii: "9") else {
            return nil
        }
        defer { index = text.index(after: index) }
        return Int(text[index] - UInt8(ascii: "0"))
    }

    mutating func number(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    mutating func fraction() -> Int32? {
        var value: Int32 = 0
        var count = 0
        while let digit = digit() {
            if count < 9 { value = value * 10 + Int32(digit) }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in count..<max(count, 9) { value *= 10 }
        return value
    }
}

extension Int64 {
    func floorDivided(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

extension [UInt8] {
    fileprivate mutating func appendDigits(_ value: Int, _ count: Int) {
        var divisor = 1
        for _ in 1..<count { divisor *= 10 }
        for _ in 0..<count {
            append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
    }
}
