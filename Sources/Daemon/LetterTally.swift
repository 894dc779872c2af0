/// What became of dead letters, for whoever asked to replay them.
struct LetterTally {
    var replayed = 0
    /// Replayed by an earlier command.
    var before = 0
    /// Not asked for.
    var otherwise = 0
    /// Without their values.
    var omitted = 0
    /// No dead letters of a bridge.
    var foreign = 0
    /// Of topics that no mapping has, or that are gone.
    var unmapped: [String: Int] = [:]
    /// Kafka has not taken them.
    var failed = 0

    /// Line by line.
    func lines(isDryRun: Bool) -> [String] {
        var lines = ["\(isDryRun ? "would replay" : "replayed") \(replayed) dead letters"]
        func passedOver(_ count: Int, _ why: String) {
            if count > 0 { lines.append("passed over \(count): \(why)") }
        }
        passedOver(before, "replayed before")
        passedOver(otherwise, "not asked for")
        passedOver(omitted, "their values were omitted")
        passedOver(foreign, "no dead letters of a bridge")
        for (topic, count) in unmapped.sorted(by: { $0.key < $1.key }) {
            passedOver(count, "no mapping has their topic '\(topic)', or it is gone")
        }
        return lines
    }
}
