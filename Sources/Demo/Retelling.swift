internal import Oracle

/// One conversation's recorded answer told once more, under a run id of its own, from a moment on:
/// a regeneration.
struct Retelling {
    /// The conversation's id.
    let conversation: [UInt8]
    /// Which retelling it is, of all.
    let number: Int
    private let entries: [Recording.Entry]
    private let round: Int
    private let run: Int
    /// In milliseconds from the beginning of the playback; in milliseconds since 1970.
    private let at: Int64
    private let wall: Int64
    private var index = 0

    /// Run ids of retellings end in numbers that no round reaches.
    private static let runsFrom = 0xF0_0000

    /// - Parameter number: counts the retellings.
    /// - Parameter at: in milliseconds from the beginning of the playback, which is `beginning`.
    /// - Returns: nil where nothing of this conversation has been told by then.
    init?(
        _ conversation: [UInt8], of recording: Recording, number: Int, at: Int64, beginning: Int64
    ) {
        guard let round = Int(String(decoding: conversation.suffix(6), as: UTF8.self), radix: 16)
        else { return nil }
        let entries = recording.entries.filter {
            $0.key.filled(round: round, beginning: 0) == conversation
        }
        guard let first = entries.first, round > 0,
            Int64(round - 1) * Playback.period + first.at <= at
        else { return nil }
        self.conversation = conversation
        self.entries = entries
        self.round = round
        self.at = at
        self.number = number
        run = Self.runsFrom + number
        wall = beginning + at
    }

    /// When the next record is due, in milliseconds from the beginning of the playback; nil at the
    /// end.
    var nextAt: Int64? {
        index < entries.count ? at + entries[index].at - entries[0].at : nil
    }

    /// As `nextAt`; never at the end.
    var due: Int64 { nextAt ?? .max }

    /// The next record.
    mutating func next() -> Playback.Cue {
        let entry = entries[index]
        index += 1
        let after = entry.at - entries[0].at
        let value = entry.value.filled(
            round: round, beginning: wall - entries[0].at, run: run)
        return Playback.Cue(
            at: at + after, isFirst: false,
            record: LogRecord(
                topic: entry.topic, key: conversation, value: value, timestamp: wall + after),
            chunk: entry.chunk.map { conversation + "/".utf8 + $0 })
    }
}
