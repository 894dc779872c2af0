/// One partition number of a set: what shares a fence, a lane and the memory of its conversations.
final class Part {
    let set: Int
    let setKey: [UInt8]
    let number: Int32
    let lane: Int
    let fencePath: [UInt8]
    private(set) var partitions: [PartitionState] = []
    /// The claim that this assignment has made.
    var epoch: Int64 = 0
    var serial: Int64 = 0
    /// When the fence that the tree has was sent, monotonic nanoseconds.
    var fencedAt: Int64 = 0
    var eraseMarks: EraseMarks
    private let conversationsMax: Int
    private var conversations: [Bytes: Conversation] = [:]
    private var ring: [Conversation] = []
    private var hand = 0
    /// Work without a record: clean-up and stalls.
    var chores: [Chore] = []
    var agenda: AgendaReading

    /// Which conversations were erased, and through when, in Kafka's milliseconds. Where a set has
    /// no streams its ledger holds nothing else, and one read says it of them all. It stays true
    /// as long as the fence is held: who erases raises it first.
    enum EraseMarks {
        case unread, reading
        case known([Bytes: Int64])
        /// Each conversation is asked for: the ledger holds streams as well, or too many marks.
        case perConversation

        /// The most marks that are read at once.
        static let max = 1000
    }

    init(
        set: Int, setKey: [UInt8], number: Int32, lane: Int, group: [UInt8], conversationsMax: Int,
        watchesStalls: Bool, eraseMarks: EraseMarks
    ) {
        agenda = AgendaReading(watchesStalls: watchesStalls)
        self.eraseMarks = eraseMarks
        self.conversationsMax = conversationsMax
        self.set = set
        self.setKey = setKey
        self.number = number
        self.lane = lane
        fencePath = StateLayout.fence(group: group, set: setKey, partition: number)
    }

    /// Whether its records write streams.
    var hasStreams: Bool { partitions.contains { $0.mapping.mapping.form.stream != nil } }

    func add(_ partition: PartitionState) { partitions.append(partition) }

    /// Lets go of the partitions, which hold the part.
    func dissolve() { partitions = [] }

    // MARK: Conversations

    /// The conversation's memory, nil where it has not been met or was forgotten.
    func known(_ key: [UInt8]) -> Conversation? { conversations[Bytes(key)] }

    /// The conversation's memory, empty where it has not been met or was forgotten.
    func conversation(_ key: [UInt8]) -> Conversation {
        if let known = conversations[Bytes(key)] {
            known.isRecent = true
            return known
        }
        let fresh = Conversation(key: key)
        conversations[Bytes(key)] = fresh
        ring.append(fresh)
        if ring.count > conversationsMax { evict(for: fresh) }
        return fresh
    }

    /// What the conversation's nodes were known to hold is no longer so.
    func forget(_ conversation: Conversation) {
        if case .known = eraseMarks { eraseMarks = .unread }
        guard owns(conversation) else { return }
        agenda.remember(conversation)
        conversations[Bytes(conversation.key)] = nil
    }

    /// Silence of the conversation's streams counts from that monotonic time: before it no chunk
    /// was to be expected.
    func listen(to conversation: Conversation, at time: Int64) {
        conversation.listen(at: time)
        guard case .known(let sequences, _) = conversation.listing else { return }
        for sequence in sequences { agenda.hear(conversation, sequence, at: time) }
    }

    var allConversations: some Sequence<Conversation> { conversations.values }

    private func owns(_ conversation: Conversation) -> Bool {
        conversations[Bytes(conversation.key)] === conversation
    }

    // Some steps of a clock: what was not met since the last round goes, pinned ones stay. As many
    // go as there are too many: were it one at most for each that comes, those that could not go at
    // their time would stay for ever.
    private func evict(for fresh: Conversation) {
        for _ in 0..<16 where ring.count > conversationsMax {
            if hand >= ring.count { hand = 0 }
            let candidate = ring[hand]
            guard owns(candidate) else {
                ring.swapAt(hand, ring.count - 1)
                ring.removeLast()
                continue
            }
            if candidate.pins == 0, !candidate.isRecent, candidate.isSettled, candidate !== fresh {
                agenda.remember(candidate)
                conversations[Bytes(candidate.key)] = nil
                ring.swapAt(hand, ring.count - 1)
                ring.removeLast()
                continue
            }
            candidate.isRecent = false
            hand += 1
        }
    }
}

/// One partition of one topic while it is assigned.
final class PartitionState {
    let source: TopicPartition
    let mapping: CompiledMapping
    let watermarkPath: [UInt8]
    /// Strong, and so a cycle that `Part.dissolve` breaks: counting an unowned reference for every
    /// record costs more.
    let part: Part
    var queue = Deque<QueuedRecord>()
    /// Where the batch under construction keeps this partition's last offset.
    var slot = BatchSlot()
    var offsets = OffsetLedger(resumingAt: 0)
    /// Records may be consumed.
    var isRunning = false
    /// Its place in the log is to be committed before anything is read (contract section 7).
    var awaitsCommit = false
    /// The offset after the last record in Kafka, and when Kafka said so, monotonic nanoseconds.
    var knownEnd: Int64?
    var knownEndAt: Int64?
    /// Why the partition stands still, until someone does something.
    var halt: String?
    /// The first record that it stands before; what lies below is delivered all the same.
    var haltedAt: Int64 = 0
    /// How many records were read and given up when it came to stand still.
    var givenUp = 0

    /// The last record that the database would not have.
    var refused: Int64?

    /// A chunk by arrival has an index only by its place in the topic. Were a later one to land and
    /// a crash to lose the dead letter of one that the database refused, that one would be taken
    /// for a repetition. What cannot be read needs no such care: it is rejected each time.
    var waitsForDeadLetter: Bool {
        guard mapping.mapping.isByArrival, let refused else { return false }
        return offsets.held.contains(refused)
    }

    var needsCommit: Bool { awaitsCommit || offsets.acknowledged > offsets.committed }

    /// Whether the partition stands still before this record.
    func stands(at offset: Int64) -> Bool { halt != nil && offset >= haltedAt }

    init(source: TopicPartition, mapping: CompiledMapping, part: Part, group: [UInt8]) {
        self.source = source
        self.mapping = mapping
        self.part = part
        watermarkPath = StateLayout.watermark(
            group: group, topic: Key.escape(Array(source.topic.utf8)), partition: source.partition)
    }
}

/// A record that waits to be planned.
struct QueuedRecord {
    var record: Record
    var content: Content
    /// When it was read, monotonic nanoseconds.
    var readAt: Int64
    /// It was planned before, and put back.
    var isAgain = false

    enum Content {
        /// Planned before and put back: to be read again.
        case unread
        case facts(Facts)
        case bad(Rejection)
        /// Its dead letter is on its way already.
        case rejected
    }
}
