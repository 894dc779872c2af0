internal import Oracle

/// A recording told round after round, without an end: each round under ids and at times of its own,
/// and begun before the one before it has ended.
///
/// It is a function of when it began, so the log that it has produced need not be kept: it is told
/// once more when the tree is compared with it.
struct Playback {
    /// One record.
    struct Cue {
        /// When it is due, in milliseconds from the beginning of the playback.
        var at: Int64
        /// The conversation's first record.
        var isFirst: Bool
        var record: LogRecord
        /// `CONVERSATION/SEQUENCE/chunks/INDEX` of a chunk.
        var chunk: [UInt8]?
    }

    /// How long after a round the next one begins, in milliseconds.
    static let period: Int64 = 10_000

    private let recording: Recording
    private let beginning: Int64
    /// The rounds that are being told, and the next entry of each.
    private var rounds: [(number: Int, entry: Int)] = [(1, 0)]

    /// Begins the first round.
    ///
    /// - Parameter beginning: in milliseconds since 1970.
    init(_ recording: Recording, beginning: Int64) {
        self.recording = recording
        self.beginning = beginning
    }

    /// When the next record is due, in milliseconds from the beginning.
    var nextAt: Int64 { at(rounds[earliest]) }

    /// The next record.
    mutating func next() -> Cue {
        let index = earliest
        let (number, position) = rounds[index]
        let entry = recording.entries[position]
        // A round begins when the one before it is due for its own next period.
        if position == 0 { rounds.append((number + 1, 0)) }
        rounds[index].entry += 1
        let cue = cue(entry, round: number, at: at((number, position)))
        if position + 1 == recording.entries.count { rounds.remove(at: index) }
        return cue
    }

    private var earliest: Int {
        rounds.indices.min { at(rounds[$0]) < at(rounds[$1]) }!
    }

    private func at(_ round: (number: Int, entry: Int)) -> Int64 {
        Int64(round.number - 1) * Self.period + recording.entries[round.entry].at
    }

    private func cue(_ entry: Recording.Entry, round: Int, at: Int64) -> Cue {
        let start = beginning + at - entry.at
        let key = entry.key.filled(round: round, beginning: start)
        let record = LogRecord(
            topic: entry.topic, key: key,
            value: entry.value.filled(round: round, beginning: start),
            timestamp: beginning + at)
        return Cue(
            at: at, isFirst: entry.isFirst, record: record,
            chunk: entry.chunk.map { key + "/".utf8 + $0 })
    }
}
