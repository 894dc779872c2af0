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
///
/// Letters of topics that no mapping has are left for a configuration that has one. Between those
/// that are replayed they would make ever more ranges, so such a topic is kept apart: of the others
/// its letters count as replayed, and of it the others', as soon as it is replayed itself.
public struct ReplayedLetters: Equatable, Sendable {
    /// Everything below an offset, and ranges above it.
    private struct Done: Equatable, Sendable {
        var next: Int64
        var beyond = IndexRanges()

        func contains(_ offset: Int64) -> Bool { offset < next || beyond.contains(offset) }

        mutating func note(_ range: ClosedRange<Int64>) {
            guard range.upperBound >= next else { return }
            beyond.insert(max(range.lowerBound, next)...range.upperBound)
            if let first = beyond.popFirst(at: next) { next = first.upperBound + 1 }
        }

        /// The same where everything before an offset has been replayed.
        func from(_ offset: Int64) -> Done {
            var done = self
            if offset > next { done.note(next...(offset - 1)) }
            return done
        }
    }

    /// Of all topics that are not kept apart.
    private var common: Done
    /// By the hash of a topic's name. Topics that share one are kept apart together.
    private var apart: [UInt32: Done] = [:]
    /// The hashes of the topics whose letters are replayed now.
    private let replayed: Set<UInt32>

    /// Brokers take no longer metadata unless told to (`offset.metadata.max.bytes`).
    public static let metadataBytesMax = 4096
    /// So many ranges fit whatever they are.
    private static let rangesAlways = 200
    /// So many of them are as long as a topic that is kept apart.
    private static let rangesOfTopic = 2
    private static let mark = "firebridge/1 "
    private static let distanceMax: UInt64 = 1 << 40

    /// Reads what was kept; an offset that someone else committed counts as it stands.
    ///
    /// - Parameters:
    ///   - low: the first letter that is still there.
    ///   - topics: whose letters are replayed.
    public init(
        committed: Int64?, metadata: String, low: Int64, topics: some Sequence<String>
    ) {
        replayed = Set(topics.map(Self.hash))
        let from = committed ?? low
        common = Done(next: max(from, low))
        guard committed == nil || metadata.utf8.starts(with: Self.mark.utf8) else { return }
        let parts = metadata.dropFirst(Self.mark.count).split(
            separator: " ", omittingEmptySubsequences: false)
        common = Self.read(parts.first ?? "", from: from, low: low)
        for part in parts.dropFirst() {
            let words = part.split(separator: ":")
            guard words.count == 2, let topic = UInt32(words[0], radix: 36) else { return }
            let distance = words[1].prefix { $0 != "," }
            guard let distance = Int64(distance, radix: 36), distance.magnitude < Self.distanceMax
            else { return }
            let ranges = words[1].drop { $0 != "," }
            apart[topic] = Self.read(ranges, from: from + distance, low: low)
        }
    }

    private static func read(_ ranges: Substring, from next: Int64, low: Int64) -> Done {
        var done = Done(next: max(next, low))
        var end = next
        for word in ranges.split(separator: ",") {
            let numbers = word.split(separator: "+").compactMap { Int64($0, radix: 36) }
            guard numbers.count == 2,
                numbers.allSatisfy({ $0 > 0 && $0.magnitude < Self.distanceMax })
            else { break }
            let first = end + numbers[0]
            end = first + numbers[1]
            done.note(first...(end - 1))
        }
        return done
    }

    private static func hash(_ topic: String) -> UInt32 {
        UInt32(truncatingIfNeeded: FNV1a.hash(topic.utf8))
    }

    /// What is committed: every letter below has been replayed, apart from those of topics that
    /// the metadata tells of.
    public var next: Int64 { common.next }

    /// Where reading begins: what lies below has been replayed, or is not to be.
    public var start: Int64 {
        replayed.compactMap { apart[$0]?.next }.reduce(common.next, min)
    }

    /// Whether a letter of this topic has been replayed.
    public func contains(_ offset: Int64, of topic: String) -> Bool {
        (apart[Self.hash(topic)] ?? common).contains(offset)
    }

    /// What stands there is no letter, of whatever topic.
    public mutating func note(_ range: ClosedRange<Int64>) {
        common.note(range)
        noteApart(range)
    }

    /// A letter of this topic has been replayed.
    public mutating func note(_ offset: Int64, of topic: String) {
        let topic = Self.hash(topic)
        if apart[topic] == nil {
            common.note(offset...offset)
        } else {
            apart[topic]?.note(offset...offset)
        }
    }

    /// A letter of this topic stands there: none of the others does. Call it for all letters, in
    /// their order.
    ///
    /// - Returns: whether there is something new to be kept.
    public mutating func pass(_ offset: Int64, of topic: String) -> Bool {
        let topic = Self.hash(topic)
        let before = (common, apart)
        if apart[topic] == nil, !replayed.contains(topic), !common.contains(offset) {
            // The first one that is left: those before it have been replayed.
            apart[topic] = common.from(offset)
        }
        if apart[topic] != nil { common.note(offset...offset) }
        noteApart(offset...offset, but: topic)
        return before != (common, apart)
    }

    /// Topics that are left stay as they are: their own letters lie between, and are not replayed.
    private mutating func noteApart(_ range: ClosedRange<Int64>, but topic: UInt32? = nil) {
        for other in apart.keys where other != topic && replayed.contains(other) {
            apart[other]?.note(range)
        }
    }

    /// Whether it can be committed.
    public var fits: Bool {
        let count = apart.values.reduce(common.beyond.ranges.count) {
            $0 + $1.beyond.ranges.count + Self.rangesOfTopic
        }
        return count <= Self.rangesAlways || metadata.utf8.count <= Self.metadataBytesMax
    }

    /// What is committed beside `next`: how far each range lies from the one before, and how long it
    /// is; then, for each topic that is kept apart, how far its offset lies from `next`, and its
    /// ranges.
    public var metadata: String {
        var text = Self.mark + Self.text(of: common)
        for (topic, done) in apart.sorted(by: { $0.key < $1.key }) where done != common {
            text += " \(String(topic, radix: 36)):\(String(done.next - common.next, radix: 36))"
            if !done.beyond.ranges.isEmpty { text += "," + Self.text(of: done) }
        }
        return text
    }

    private static func text(of done: Done) -> String {
        var end = done.next
        let words = done.beyond.ranges.map { range in
            defer { end = range.upperBound + 1 }
            return String(range.lowerBound - end, radix: 36) + "+"
                + String(range.upperBound - range.lowerBound + 1, radix: 36)
        }
        return words.joined(separator: ",")
    }
}
