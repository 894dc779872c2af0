/// The date of an HTTP header, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7), in
/// milliseconds since 1970; nil for anything else. The two obsolete forms are not read.
func parseHTTPDate(_ text: String) -> Int64? {
    let words = text.split(separator: " ").map(String.init)
    guard words.count == 6, words[5] == "GMT", words[0].utf8.last == UInt8(ascii: ","),
        let day = number(words[1], digits: 2), let year = number(words[3], digits: 4),
        let month = months.firstIndex(of: words[2]), (1...31).contains(day)
    else { return nil }
    let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = number(String(time[0]), digits: 2), hour < 24,
        let minute = number(String(time[1]), digits: 2), minute < 60,
        let second = number(String(time[2]), digits: 2), second <= 60
    else { return nil }
    let days = daysSince1970(year: year, month: month + 1, day: day)
    return Int64(((days * 24 + hour) * 60 + minute) * 60 + second) * 1000
}

private let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]

private func number(_ text: String, digits: Int) -> Int? {
    guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
        return nil
    }
    return Int(text)
}

/// Days of the proleptic Gregorian calendar, counted in years that begin in March, so that the leap
/// day is the last.
private func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
}
