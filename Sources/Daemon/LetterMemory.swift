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
    /// Of these a letter was left for which there was no room. One that is left after it must not
    /// be taken for the first.
    private var full: Set<TopicPartition> = []
    private var committing = 0
    private var commitAt: Int64 = 0

    private static let commitInterval: Int64 = 500_000_000

    init(isKept: Bool) { self.isKept = isKept }

    /// Takes up what Kafka has kept of a partition.
    mutating func begin(_ partition: TopicPartition, with letters: ReplayedLetters) {
        done[partition] = letters
        planned[partition] = letters
        next[partition] = letters.start
    }

    /// Whether the letter of a record of this topic was replayed before.
    func contains(_ offset: Int64, of topic: String, in partition: TopicPartition) -> Bool {
        done[partition]?.contains(offset, of: topic) == true
    }

    /// A letter has been read. Offsets before it without a record are none.
    mutating func read(_ offset: Int64, of partition: TopicPartition) {
        if let first = next[partition], first < offset {
            note(first...(offset - 1), of: partition)
        }
        next[partition] = offset + 1
    }

    /// What stands there is no letter, or one that cannot be replayed.
    mutating func note(_ range: ClosedRange<Int64>, of partition: TopicPartition) {
        keep(of: partition) {
            $0.note(range)
            return true
        }
    }

    /// A letter of a record of this topic is there: call it for all, in their order.
    mutating func pass(_ offset: Int64, of topic: String, in partition: TopicPartition) {
        keep(of: partition) { $0.pass(offset, of: topic) }
    }

    /// Keeps what only spares reading it again, unless there is no room for it.
    private mutating func keep(
        of partition: TopicPartition, _ change: (inout ReplayedLetters) -> Bool
    ) {
        guard isKept, !full.contains(partition), var letters = planned[partition],
            change(&letters)
        else { return }
        guard letters.fits else {
            full.insert(partition)
            return
        }
        guard var now = done[partition], change(&now) else { return }
        planned[partition] = letters
        done[partition] = now
        untold.insert(partition)
    }

    /// Whether a letter more can be remembered, once it has been replayed.
    mutating func plan(_ offset: Int64, of topic: String, in partition: TopicPartition) -> Bool {
        guard var letters = planned[partition] else { return true }
        letters.note(offset, of: topic)
        guard letters.fits else { return false }
        planned[partition] = letters
        return true
    }

    /// A letter has been replayed.
    mutating func note(_ offset: Int64, of topic: String, in partition: TopicPartition) {
        guard isKept else { return }
        done[partition]?.note(offset, of: topic)
        untold.insert(partition)
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
