/// The headers that a dead letter has beside its record's own (contract section 6).
public enum LetterHeader {
    /// Why the record was rejected.
    public static let reason = "firebridge.reason"
    /// What is wrong with it.
    public static let message = "firebridge.message"
    /// Where it stood.
    public static let topic = "firebridge.topic"
    /// In which partition.
    public static let partition = "firebridge.partition"
    /// At which offset.
    public static let offset = "firebridge.offset"
    /// When it was rejected, RFC 3339.
    public static let time = "firebridge.time"
    /// `true` where the broker did not take the value.
    public static let valueOmitted = "firebridge.value_omitted"

    static let all: Set = [reason, message, topic, partition, offset, time, valueOmitted]
}

/// A dead letter as it is read back: the record that was rejected, and what the bridge said of it.
public struct Letter: Equatable, Sendable {
    /// Where the record stood.
    public var source: TopicPartition
    /// The record, with its own headers alone; the offset is the one that it had.
    public var record: Record
    /// Why it was rejected.
    public var reason: String
    /// What is wrong with it.
    public var message: String
    /// When it was rejected, in milliseconds since 1970.
    public var time: Int64?
    /// Whether its value is lost.
    public var isValueOmitted: Bool

    /// Reads a record of the dead-letter topic; nil for one that no bridge has written.
    public init?(_ letter: Record) {
        // The bridge's headers stand last. A record may have had some of the same names itself.
        var own = letter.headers
        var told: [String: [UInt8]] = [:]
        while let last = own.last, LetterHeader.all.contains(last.name), told[last.name] == nil {
            told[last.name] = last.value ?? []
            own.removeLast()
        }
        func text(_ name: String) -> String? {
            told[name].flatMap { String(validating: $0, as: UTF8.self) }
        }
        guard let topic = text(LetterHeader.topic),
            let partition = text(LetterHeader.partition).flatMap({ Int32($0) }), partition >= 0,
            let reason = text(LetterHeader.reason)
        else { return nil }
        source = TopicPartition(topic, partition)
        record = letter
        record.headers = own
        record.offset = text(LetterHeader.offset).flatMap { Int64($0) } ?? -1
        self.reason = reason
        message = text(LetterHeader.message) ?? ""
        time = told[LetterHeader.time].flatMap { Timestamp($0) }?.milliseconds
        isValueOmitted = text(LetterHeader.valueOmitted) == "true"
    }
}

/// Which letters of one partition of the dead-letter topic have been replayed: everything below an
/// offset, and ranges above it. It is kept as a commit of its own group and that commit's metadata,
/// so that no letter is replayed twice, whatever was chosen when.
public struct ReplayedLetters: Equatable, Sendable {
    /// Every letter below has been replayed.
    public private(set) var next: Int64
    private var beyond = IndexRanges()

    /// Brokers take no longer metadata unless told to (`offset.metadata.max.bytes`).
    public static let metadataBytesMax = 4096
    /// So many ranges fit whatever they are.
    private static let rangesAlways = 200
    private static let mark = "firebridge/1 "

    /// Reads what was kept; an offset that someone else committed counts as it stands.
    ///
    /// - Parameter low: the first letter that is still there.
    public init(committed: Int64?, metadata: String, low: Int64) {
        next = max(committed ?? low, low)
        guard committed == nil || metadata.utf8.starts(with: Self.mark.utf8) else { return }
        var end = committed ?? low
        for word in metadata.dropFirst(Self.mark.count).split(separator: ",") {
            let numbers = word.split(separator: "+").compactMap { Int64($0, radix: 36) }
            guard numbers.count == 2, numbers[0] > 0, numbers[1] > 0,
                numbers[0] < 1 << 40, numbers[1] < 1 << 40
            else { return }
            let first = end + numbers[0]
            end = first + numbers[1]
            note(first...(end - 1))
        }
    }

    /// Whether the letter has been replayed.
    public func contains(_ offset: Int64) -> Bool {
        offset < next || beyond.contains(offset)
    }

    /// The letters of a range have been replayed, or are none.
    public mutating func note(_ range: ClosedRange<Int64>) {
        guard range.upperBound >= next else { return }
        beyond.insert(max(range.lowerBound, next)...range.upperBound)
        if let first = beyond.popFirst(at: next) { next = first.upperBound + 1 }
    }

    /// Whether it can be committed.
    public var fits: Bool {
        beyond.ranges.count <= Self.rangesAlways || metadata.utf8.count <= Self.metadataBytesMax
    }

    /// What is committed beside `next`: how far each range lies from the one before, and how long it
    /// is.
    public var metadata: String {
        var end = next
        let words = beyond.ranges.map { range in
            defer { end = range.upperBound + 1 }
            return String(range.lowerBound - end, radix: 36) + "+"
                + String(range.upperBound - range.lowerBound + 1, radix: 36)
        }
        return Self.mark + words.joined(separator: ",")
    }
}
