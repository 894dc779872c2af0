/// A range of the log that is mirrored once more, beside what the tree holds already
/// (docs/decisions/0018-replay-and-erase.md): the fences are claimed, watermarks and commits are
/// not touched, and nothing goes back.
public struct Replay: Equatable, Sendable {
    /// Only this conversation's records, as a key of the database; nil for all.
    var conversation: [UInt8]?
    /// Whether event nodes are written: each event is seen once more.
    var writesEvents: Bool
    /// What a first reading of the range has found.
    var survey: ReplaySurvey.Findings?

    /// Describes a replay.
    ///
    /// - Parameter conversation: an id, as records name it; nil for all conversations.
    public init(conversation: [UInt8]? = nil, writesEvents: Bool = false) {
        self.conversation = conversation.map(Key.escape)
        self.writesEvents = writesEvents
    }

    /// The same replay, once its range has been read.
    public func knowing(_ survey: ReplaySurvey) -> Replay {
        var replay = self
        replay.survey = survey.findings
        return replay
    }

    /// What of a record is to be mirrored; nil for nothing.
    func takes(_ facts: Facts, of source: TopicPartition, at offset: Int64) -> Facts? {
        guard let chosen = chosen(facts) else { return nil }
        guard case .value(let value) = chosen, let survey else { return chosen }
        return survey.takes(value, of: source, at: offset).map(Facts.value)
    }

    /// The record without what this replay is not for, nil where nothing is left.
    func chosen(_ facts: Facts) -> Facts? {
        if let conversation, facts.conversation != conversation { return nil }
        guard !writesEvents else { return facts }
        switch facts {
        case .event: return nil
        case .run(let run):
            run.event = nil
            return run.activity == nil && run.marker == nil ? nil : facts
        case .nothing, .chunk, .value: return facts
        }
    }
}

extension Replay {
    /// Where the group's bridge will go on reading, of partitions whose chunks are numbered by
    /// arrival: a replay may begin no later. It would number its chunks before those that lie
    /// between, and the bridge would then take these for repetitions.
    public static func latestStarts(
        of partitions: [TopicPartition], plan: MirrorPlan, group: String, _ ask: Erasure.Ask
    ) throws(Erasure.Failure) -> [TopicPartition: Int64] {
        let byArrival = partitions.filter { partition in
            plan.mappings.contains { $0.topic == partition.topic && $0.isByArrival }
        }
        let kept = try Erasure.read(
            byArrival.map {
                StateLayout.watermark(
                    group: Key.escape(Array(group.utf8)),
                    topic: Key.escape(Array($0.topic.utf8)), partition: $0.partition)
            }, ask)
        var starts: [TopicPartition: Int64] = [:]
        for (partition, tape) in zip(byArrival, kept) {
            starts[partition] = Watermark(reading: tape, 0)?.next
        }
        return starts
    }
}

extension Bridge {
    /// The claim of a replay has succeeded: its range is being read.
    public var isReplaying: Bool { isReplay && assignment?.isRunning == true }
}

extension Settings {
    /// These settings for a replay: no clean-up, no judgement of silence, no dead letters once
    /// more, and as long as it takes.
    public func replaying(_ replay: Replay) -> Settings {
        var settings = self
        settings.replay = replay
        settings.stallAfter = .zero
        settings.keep = .zero
        settings.reject = .skip
        settings.drain = .seconds(86_400)
        return settings
    }
}

/// A first reading of a range: what it holds, and of nodes without guard which write is the last.
///
/// A node without guard knows no older value: written once, with its last one, it cannot go back,
/// not even where the replay is interrupted.
public struct ReplaySurvey {
    /// Records read.
    public private(set) var records = 0
    /// Those that the replay takes, by what they are: chunk, run, event, value.
    public private(set) var taken: [String: Int] = [:]
    /// Those that are rejected, by reason.
    public private(set) var rejected: [Rejection.Reason: Int] = [:]
    private(set) var findings = Findings()
    private let replay: Replay
    private let refused: [TopicPartition: Set<Int64>]
    private let mappings: [String: CompiledMapping]
    private var interpreter = Interpreter()

    /// The last writes of each partition.
    struct Findings: Equatable, Sendable {
        /// The last write of a node, or of a child of a node that is merged.
        var last: [TopicPartition: [Bytes: Int64]] = [:]
        /// The last tombstone of a node.
        var deleted: [TopicPartition: [Bytes: Int64]] = [:]
    }

    /// Makes an empty survey.
    ///
    /// - Parameter refused: what the database refuses (`Bridge.refused`) is nobody's last write.
    public init(
        of replay: Replay, plan: MirrorPlan, refused: [TopicPartition: Set<Int64>] = [:]
    ) {
        self.replay = replay
        self.refused = refused
        mappings = plan.compiled
    }

    /// Whether a topic's records must be surveyed before they are replayed.
    public static func isNeeded(for topic: String, of plan: MirrorPlan) -> Bool {
        plan.mappings.contains { mapping in
            guard mapping.topic.utf8.elementsEqual(topic.utf8), case .value = mapping.form else {
                return false
            }
            return true
        }
    }

    /// Takes in records of a partition, in order.
    public mutating func read(_ batch: [Record], from source: TopicPartition) {
        guard let mapping = mappings[source.topic] else { return }
        records += batch.count
        for record in batch {
            do throws(Rejection) {
                let facts = try interpreter.facts(of: record, from: source, by: mapping)
                if let chosen = replay.chosen(facts) { note(chosen, of: source, record.offset) }
            } catch {
                rejected[error.reason, default: 0] += 1
            }
        }
    }

    private mutating func note(_ facts: Facts, of source: TopicPartition, _ offset: Int64) {
        switch facts {
        case .nothing: return
        case .chunk: taken["chunk", default: 0] += 1
        case .run: taken["run", default: 0] += 1
        case .event: taken["event", default: 0] += 1
        case .value(let value):
            taken["value", default: 0] += 1
            guard refused[source]?.contains(offset) != true else { return }
            findings.note(value, of: source, offset)
        }
    }
}

extension ReplaySurvey.Findings {
    fileprivate mutating func note(
        _ value: ValueFacts, of source: TopicPartition, _ offset: Int64
    ) {
        switch value.change {
        case .ignore: return
        case .delete: deleted[source, default: [:]][Bytes(value.path)] = offset
        case .set: break
        case .merge(let children):
            for (key, _) in children {
                last[source, default: [:]][Bytes(value.child(key))] = offset
            }
            return
        }
        last[source, default: [:]][Bytes(value.path)] = offset
    }

    /// What of a value record is still to be written, nil where later records say all of it.
    func takes(_ value: ValueFacts, of source: TopicPartition, at offset: Int64) -> ValueFacts? {
        let node = Bytes(value.path)
        if let gone = deleted[source]?[node], offset < gone { return nil }
        guard !value.isGuarded else { return value }
        switch value.change {
        case .ignore: return value
        case .set, .delete: return last[source]?[node] ?? offset == offset ? value : nil
        case .merge(let children):
            let rest = children.filter { key, _ in
                last[source]?[Bytes(value.child(key))] ?? offset == offset
            }
            guard !rest.isEmpty else { return nil }
            return ValueFacts(
                conversation: value.conversation, path: value.path, change: .merge(rest),
                guardValues: [], isGuarded: false)
        }
    }
}

extension ValueFacts {
    fileprivate func child(_ key: [UInt8]) -> [UInt8] { path + [UInt8(ascii: "/")] + key }
}

/// What conversation a record belongs to, as far as it says so.
public struct ConversationReader {
    private let mappings: [String: CompiledMapping]
    private var interpreter = Interpreter()

    /// Reads records by these mappings.
    public init(plan: MirrorPlan) {
        mappings = plan.compiled
    }

    /// Whether the record, which may be one that is rejected, belongs to the conversation.
    ///
    /// - Parameter id: as records name it.
    public mutating func isRecord(
        _ record: Record, from source: TopicPartition, of id: [UInt8]
    ) -> Bool {
        guard let mapping = mappings[source.topic] else { return record.key == id }
        return interpreter.conversation(of: record, from: source, by: mapping) == Key.escape(id)
    }
}
