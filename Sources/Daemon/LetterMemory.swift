internal import BridgeCore

/// Which dead letters have been replayed, and what of that Kafka has yet to be told.
struct LetterMemory {
    /// False for a dry run, of which nothing is kept.
    let isKept: Bool
    private var done: [TopicPartition: ReplayedLetters] = [:]
    /// The same once everything that is on its way has arrived.
    private var planned: [TopicPartition: ReplayedLetters] = [:]
    /// The letter after the last one that was read.
    private var next: [TopicPartition: Int64] = [:]
    private var untold: Set<TopicPartition> = []
    private var committing = 0
    private var commitAt: Int64 = 0

    private static let commitInterval: Int64 = 500_000_000

    init(isKept: Bool) { self.isKept = isKept }

    /// Takes up what Kafka has kept of a partition.
    mutating func begin(_ partition: TopicPartition, with letters: ReplayedLetters) {
        done[partition] = letters
        planned[partition] = letters
        next[partition] = letters.next
    }

    /// Whether the letter was replayed before.
    func contains(_ offset: Int64, of partition: TopicPartition) -> Bool {
        done[partition]?.contains(offset) == true
    }

    /// A letter has been read. Offsets before it without a record are none.
    mutating func read(_ offset: Int64, of partition: TopicPartition) {
        if let first = next[partition], first < offset {
            note(first...(offset - 1), of: partition)
        }
        next[partition] = offset + 1
    }

    /// Letters have been replayed, or are none.
    mutating func note(_ range: ClosedRange<Int64>, of partition: TopicPartition) {
        guard isKept else { return }
        done[partition]?.note(range)
        planned[partition]?.note(range)
        untold.insert(partition)
    }

    /// Whether a letter more can be remembered, once it has been replayed.
    mutating func plan(_ offset: Int64, of partition: TopicPartition) -> Bool {
        guard var letters = planned[partition] else { return true }
        letters.note(offset...offset)
        guard letters.fits else { return false }
        planned[partition] = letters
        return true
    }

    /// Whether Kafka has been told everything.
    var isTold: Bool { untold.isEmpty && committing == 0 }

    /// What is to be committed now, every now and then.
    mutating func commits(at now: Int64) -> [(partition: TopicPartition, letters: ReplayedLetters)]
    {
        guard !untold.isEmpty, committing == 0, now >= commitAt else { return [] }
        commitAt = now + Self.commitInterval
        var commits: [(partition: TopicPartition, letters: ReplayedLetters)] = []
        for partition in untold.sorted() {
            // What is on its way leaves holes for the moment.
            guard let letters = done[partition], letters.fits else { continue }
            untold.remove(partition)
            commits.append((partition, letters))
        }
        committing = commits.count
        return commits
    }

    /// A commit has an answer.
    mutating func committed(_ partitions: some Sequence<TopicPartition>, failed: Bool) {
        committing -= 1
        if failed { untold.formUnion(partitions) }
    }
}
