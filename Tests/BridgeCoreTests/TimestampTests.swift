import Oracle
import Testing

@testable import BridgeCore

@Suite struct TimestampTests {
    private func time(_ text: String) -> Timestamp? { Timestamp(Array(text.utf8)) }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0, 0), ("1970-01-01T00:00:00z", 0, 0),
        ("1970-01-01t00:00:00Z", 0, 0), ("1969-12-31T23:59:59.999999999Z", -1, 999_999_999),
        ("2026-04-23T22:43:44.7Z", 1_776_984_224, 700_000_000),
        ("2026-04-24T00:43:44.7+02:00", 1_776_984_224, 700_000_000),
        ("2026-04-23T20:13:44.7-02:30", 1_776_984_224, 700_000_000),
        ("2026-04-23T22:43:44.7-00:00", 1_776_984_224, 700_000_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800, 0),
        ("2016-12-31T23:59:60.5Z", 1_483_228_800, 500_000_000),
        ("2017-01-01T00:59:60+01:00", 1_483_228_800, 0),
        ("2000-02-29T00:00:00Z", 951_782_400, 0), ("0000-01-01T00:00:00Z", -62_167_219_200, 0),
        ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
        ("1970-01-01T00:00:00.000000001Z", 0, 1), ("1970-01-01T00:00:00.0000000019Z", 0, 1),
        ("1970-01-01T00:00:00.1234567891234Z", 0, 123_456_789),
    ] as [(String, Int64, Int32)])
    func anRFC3339TimeIsAnInstant(_ text: String, _ seconds: Int64, _ nanoseconds: Int32) {
        #expect(time(text) == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test(arguments: ["1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "-026-01-01T00:00:00Z",
        "12026-01-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00+1:00",
        "2026-01-01T00:00:00+01:60", "2026-01-01T00:00:00,5Z", "2026-01-01T0٠:00:00Z"])
    func whatIsNoDateIsRefused(_ text: String) {
        #expect(time(text) == nil)
    }

    /// Days before the year, and before the month in it, counted one by one.
    private static let calendar: [(year: Int, month: Int, days: Int, before: Int)] = {
        var out: [(year: Int, month: Int, days: Int, before: Int)] = []
        var before = -719_528
        for year in 0...9999 {
            let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            for (index, days) in [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
                .enumerated()
            {
                out.append((year, index + 1, days, before))
                before += days
            }
        }
        return out
    }()

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: width - digits.count) + digits
    }

    @Test func everyTimeIsWhatACalendarThatCountsSays() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<20_000 {
            let month = random.pick(Self.calendar)
            let day = random.int(1..<month.days + 1)
            let clock = (random.int(0..<24), random.int(0..<60), random.int(0..<60))
            let digits = random.int(1..<13)
            let fraction = (0..<digits).map { _ in random.int(0..<10) }
            let offset = random.int(-1439..<1440)
            let sign = offset < 0 ? "-" : "+"
            let zone =
                offset == 0 && random.chance(0.5)
                ? "Z"
                : sign + Self.padded(abs(offset) / 60, 2) + ":" + Self.padded(abs(offset) % 60, 2)
            let text =
                "\(Self.padded(month.year, 4))-\(Self.padded(month.month, 2))-\(Self.padded(day, 2))T"
                + "\(Self.padded(clock.0, 2)):\(Self.padded(clock.1, 2)):\(Self.padded(clock.2, 2))."
                + fraction.map(String.init).joined() + zone
            let days = month.before + day - 1
            let seconds =
                days * 86_400 + clock.0 * 3600 + clock.1 * 60 + clock.2 - offset * 60
            let nine = (fraction + [0, 0, 0, 0, 0, 0, 0, 0, 0]).prefix(9)
            let expected = Timestamp(
                seconds: Int64(seconds), nanoseconds: Int32(nine.reduce(0) { $0 * 10 + $1 }))
            #expect(time(text) == expected, "\(text)")
        }
    }

    @Test func aWrittenTimeReadsBackToTheMillisecond() {
        var random = SplitMix64(seed: 4)
        let edges: [Int64] = [
            0, -1, 1, 999, 1000, Timestamp.writable.lowerBound, Timestamp.writable.upperBound,
        ]
        let span = UInt64(Timestamp.writable.upperBound - Timestamp.writable.lowerBound)
        let drawn = (0..<10_000).map { _ in
            Timestamp.writable.lowerBound + Int64(random.next() % span)
        }
        for milliseconds in edges + drawn {
            let text = Timestamp.text(milliseconds: milliseconds)
            #expect(text.count == 24)
            #expect(Timestamp(text) == Timestamp(milliseconds: milliseconds))
            #expect(Timestamp(text)?.milliseconds == milliseconds)
        }
        #expect(
            String(decoding: Timestamp.text(milliseconds: kafkaTime), as: UTF8.self)
                == "2026-04-23T22:43:44.700Z")
    }
}
