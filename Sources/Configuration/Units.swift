/// `200ms`, `10s`, `5m`, `1h`: whole numbers of one unit.
public enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// The duration of a text; nil where it is none. `0` needs no unit.
    public static func parse(_ text: String) -> Duration? {
        guard let (count, unit) = splitNumber(text) else { return nil }
        if unit.isEmpty { return count == 0 ? .zero : nil }
        guard let unit = units.first(where: { sameBytes($0.name, unit) }) else { return nil }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// The shortest text of a duration, rounded down to milliseconds.
    static func write(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0,
            let unit = units.first(where: { milliseconds % $0.milliseconds == 0 })
        else { return "0" }
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

/// `512KiB`, `4MiB`, `1GiB`, or plain bytes.
enum SizeText {
    private static let units: [(name: String, bytes: Int64)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
    ]

    /// The bytes of a text; nil where it is no size.
    static func parse(_ text: String) -> Int? {
        guard let (count, unit) = splitNumber(text) else { return nil }
        if unit.isEmpty { return Int(count) }
        guard let unit = units.first(where: { sameBytes($0.name, unit) }) else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: unit.bytes)
        return overflow ? nil : Int(bytes)
    }

    /// The shortest text of a size.
    static func write(_ bytes: Int) -> String {
        guard bytes != 0, let unit = units.first(where: { Int64(bytes) % $0.bytes == 0 }) else {
            return String(bytes)
        }
        return "\(Int64(bytes) / unit.bytes)\(unit.name)"
    }
}

/// The decimal digits that a text begins with, as a number, and the rest; nil without digits or
/// beyond 64 bits.
private func splitNumber(_ text: String) -> (Int64, String)? {
    let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
    return (number, String(decoding: text.utf8.dropFirst(digits.count), as: UTF8.self))
}
