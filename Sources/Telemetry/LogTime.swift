/// RFC 3339 for the log's lines.
enum LogTime {
    /// `2026-04-23T22:43:44.700Z` of milliseconds since 1970.
    static func text(_ milliseconds: Int64) -> [UInt8] {
        let days = (milliseconds >= 0 ? milliseconds : milliseconds - 86_399_999) / 86_400_000
        let rest = milliseconds - days * 86_400_000
        let (year, month, day) = civil(days: days)
        var out: [UInt8] = []
        out.reserveCapacity(24)
        func add(_ number: Int64, _ digits: Int, _ after: Unicode.Scalar) {
            let text = String(number)
            out += repeatElement(UInt8(ascii: "0"), count: max(0, digits - text.utf8.count))
            out += text.utf8
            out.append(UInt8(ascii: after))
        }
        add(year, 4, "-")
        add(month, 2, "-")
        add(day, 2, "T")
        add(rest / 3_600_000, 2, ":")
        add(rest / 60_000 % 60, 2, ":")
        add(rest / 1000 % 60, 2, ".")
        add(rest % 1000, 3, "Z")
        return out
    }

    // Days of the Gregorian calendar, counted in eras of 400 years that begin in March.
    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let z = days + 719_468
        let era = (z >= 0 ? z : z - 146_096) / 146_097
        let dayOfEra = z - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * shifted + 2) / 5 + 1
        )
    }
}
