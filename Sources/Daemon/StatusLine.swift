/// How things are, in one line: `mirroring 12 partitions, lag 0.2 s, 340 tokens/s`, or what is
/// wrong.
struct StatusLine: Equatable {
    /// Why it is not ready.
    var alarms: [String] = []
    var partitions = 0
    /// The age of the last record read of the partition that is farthest behind, in seconds.
    var lag = 0.0
    /// Chunks written since the line before, by the second.
    var tokensPerSecond = 0.0

    var text: String {
        if !alarms.isEmpty { return "not ready: " + alarms.joined(separator: "; ") }
        if partitions == 0 { return "standing by without partitions" }
        let noun = partitions == 1 ? "partition" : "partitions"
        return "mirroring \(partitions) \(noun), lag \(Self.tenths(lag)) s, "
            + "\(Int(tokensPerSecond.rounded())) tokens/s"
    }

    /// A number with one digit after the point, up to some years in seconds.
    static func tenths(_ value: Double) -> String {
        let tenths = Int((min(max(value, 0), 1e9) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// Counts between two looks at a counter.
struct Rate {
    private var last: (count: Int, at: Int64)?

    /// What was counted since the last look, by the second; 0 at the first.
    mutating func next(_ count: Int, at now: Int64) -> Double {
        defer { last = (count, now) }
        guard let last, now > last.at else { return 0 }
        return Double(max(0, count - last.count)) * 1e9 / Double(now - last.at)
    }
}
