/// One moment of the demo in figures.
struct Figures {
    /// Since the first record.
    var seconds: Int64 = 0
    var active = 0
    var finished = 0
    /// Chunks that became visible, a second.
    var tokenRate = 0.0
    /// Requests to the tree, a second; nil while the bridge does not say.
    var requestRate: Double?
    /// Records that the bridge has yet to read; nil while it does not say.
    var lag: Int64?
    /// From produce to visible, in nanoseconds.
    var median: Int64?
    var tail: Int64?

    /// Chunks that went out and are visible, and that are on their way.
    var visible = 0
    var outstanding = 0
    /// How often the bridge was started again; whether it is there.
    var restarts = 0
    var isBridgeThere = false

    /// For the page: one JSON object.
    ///
    /// - Parameter wall: milliseconds since 1970.
    func json(at wall: Int64) -> String {
        func number(_ value: Double?) -> String { value.map { "\(tenths($0))" } ?? "null" }
        let members = [
            ("at", "\(wall)"), ("seconds", "\(seconds)"), ("active", "\(active)"),
            ("finished", "\(finished)"), ("tokens_per_second", number(tokenRate)),
            ("requests_per_second", number(requestRate)), ("lag", lag.map { "\($0)" } ?? "null"),
            ("p50_ms", number(median.map { Double($0) / 1e6 })),
            ("p99_ms", number(tail.map { Double($0) / 1e6 })), ("visible", "\(visible)"),
            ("outstanding", "\(outstanding)"), ("restarts", "\(restarts)"),
            ("bridge", "\(isBridgeThere)"),
        ]
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }

    /// In words, shortest first where room is scarce.
    var words: [String] {
        [
            "\(seconds) s", "\(active) active", "\(finished) finished",
            "\(Self.whole(tokenRate)) tokens/s",
            "\(requestRate.map(Self.whole) ?? "–") requests/s", "lag \(lag.map(grouped) ?? "–")",
            "visible after p50 \(median.map(milliseconds) ?? "–")"
                + ", p99 \(tail.map(milliseconds) ?? "–")",
        ]
    }

    private static func whole(_ number: Double) -> String { grouped(Int64(number.rounded())) }
}

/// `3,214`
func grouped(_ number: some BinaryInteger) -> String {
    var digits = Array(String(number.magnitude))
    var index = digits.count - 3
    while index > 0 {
        digits.insert(",", at: index)
        index -= 3
    }
    return (number < 0 ? "-" : "") + String(digits)
}

/// Nanoseconds as `6 ms`, below ten as `6.2 ms`.
func milliseconds(_ nanoseconds: Int64) -> String {
    let tenths = (nanoseconds + 50_000) / 100_000
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10) ms" : "\(grouped(tenths / 10)) ms"
}
