/// A point of time to the nanosecond, as RFC 3339 writes it.
public struct Instant: Hashable, Comparable, Sendable {
    /// Seconds since 1970, UTC.
    public var seconds: Int64
    /// Nanoseconds after that second.
    public var nanoseconds: Int32

    /// Older than every time that can be written: what an absent time counts as.
    public static let oldest = Instant(seconds: .min, nanoseconds: 0)

    /// Makes a point of time.
    public init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The earlier one first.
    public static func < (a: Self, b: Self) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }

    /// Reads `2026-04-23T22:43:44.7+02:00`; nil where the text is no RFC 3339 time. Digits beyond
    /// the nanosecond are dropped.
    public init?(_ text: [UInt8]) {
        var rest = text[...]
        func number(_ digits: Int, then mark: Character? = nil) -> Int64? {
            guard rest.count >= digits else { return nil }
            var value: Int64 = 0
            for digit in rest.prefix(digits) {
                guard (0x30...0x39).contains(digit) else { return nil }
                value = value * 10 + Int64(digit - 0x30)
            }
            rest = rest.dropFirst(digits)
            guard let mark else { return value }
            guard let next = rest.first, next & 0xDF == mark.asciiValue! & 0xDF else { return nil }
            rest = rest.dropFirst()
            return value
        }
        guard let year = number(4, then: "-"), let month = number(2, then: "-"),
            let day = number(2, then: "T"), let hour = number(2, then: ":"),
            let minute = number(2, then: ":"), let second = number(2)
        else { return nil }
        var nanoseconds: Int32 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { return nil }
            for place in 0..<9 {
                let index = digits.startIndex + place
                let digit = index < digits.endIndex ? Int32(digits[index] - 0x30) : 0
                nanoseconds = nanoseconds * 10 + digit
            }
            rest = rest[digits.endIndex...]
        }
        guard let zone = rest.popFirst() else { return nil }
        var offset: Int64 = 0
        if zone | 0x20 != UInt8(ascii: "z") {
            guard zone == UInt8(ascii: "+") || zone == UInt8(ascii: "-"),
                let hours = number(2, then: ":"), let minutes = number(2)
            else { return nil }
            offset = (hours * 60 + minutes) * (zone == UInt8(ascii: "+") ? 60 : -60)
        }
        guard rest.isEmpty else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.nanoseconds = nanoseconds
    }

    /// The time of a Kafka record as the bridge writes it: `2026-04-23T22:43:44.700Z`.
    ///
    /// - Parameter milliseconds: since 1970.
    public static func text(milliseconds: Int64, offsetMinutes: Int64 = 0) -> String {
        let local = milliseconds + offsetMinutes * 60_000
        let (days, time) = (floorDivide(local, 86_400_000), floorRemainder(local, 86_400_000))
        let (year, month, day) = date(days: days)
        func pad(_ value: Int64, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let zone =
            offsetMinutes == 0
            ? "Z" : "+\(pad(offsetMinutes / 60, 2)):\(pad(offsetMinutes % 60, 2))"
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(time / 3_600_000, 2)):"
            + "\(pad(time / 60_000 % 60, 2)):\(pad(time / 1_000 % 60, 2)).\(pad(time % 1_000, 3))"
            + zone
    }

    /// Days since 1970 of a Gregorian date. The year begins in March here, so that the leap day is
    /// its last one.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = (month + 9) % 12
        let leapDays =
            floorDivide(marchYear, 4) - floorDivide(marchYear, 100) + floorDivide(marchYear, 400)
        return marchYear * 365 + leapDays + (marchMonth * 153 + 2) / 5 + day - 1 - 719_468
    }

    private static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = floorRemainder(shifted, 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

private func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
    a >= 0 ? a / b : -((-a + b - 1) / b)
}

private func floorRemainder(_ a: Int64, _ b: Int64) -> Int64 { a - floorDivide(a, b) * b }
