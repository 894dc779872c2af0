/// An ordered lane: one PATCH at a time, the next batch growing meanwhile.
struct Lane {
    /// In order; only the first may be on the wire, only the last takes more.
    var batches: [Batch] = []
    /// How large the next ones may become.
    var size: BatchSize
    /// How often the first one had no answer; whether the database has one at all a probe tells.
    var unanswered = 0
    /// How often the first one failed without being refused, for the next wait.
    var failures = 0
    /// The watermarks of attempts at the first one that failed but were not refused: it may have
    /// landed all the same.
    var inDoubt: [PendingRequest.Mark] = []
    var wire = Wire.idle
    /// When what is on the wire was made, monotonic nanoseconds.
    var sentAt: Int64 = 0
    /// After a refusal: the groups of records that go alone, one after the other.
    var groups: [Group] = []
    /// A batch with chores would not go through: from now on each goes by itself.
    var choresGoAlone = false
    /// The record that was refused alone, and how often.
    var suspect: Suspect?
    /// Records rejected as refused with nothing accepted between.
    var refusedInRow = 0
    /// The refused batch met a database that refuses everything.
    var databaseWasWrong = false
    /// Since when the tree's watermarks are behind with nothing to carry them, monotonic.
    var behindSince: Int64?
    /// The last failure, for whoever looks.
    var lastError: String?

    /// What is on the wire.
    enum Wire {
        case idle
        /// The first batch.
        case sending
        /// A probe, before the first batch goes again.
        case probing(ProbeReason)
        /// A watermark: whether the first batch has landed after all.
        case readingWatermark(ProbeReason)
        /// The fences, after the probe was refused too.
        case readingFences
        /// The next probe waits, monotonic nanoseconds.
        case waiting(until: Int64)
    }

    /// Why there is a probe.
    enum ProbeReason {
        /// The first batch was refused.
        case refused
        /// The first batch had no answer, or the breaker is half open.
        case unanswered
    }

    /// Records that go in one batch, by the last offset of each partition.
    struct Group {
        var limits: [(partition: PartitionState, through: Int64, count: Int)]

        /// How many records must be planned before the batch goes: those of partitions that stand
        /// still will not come, nor those behind a dead letter that is waited for.
        var count: Int {
            limits.reduce(0) { count, limit in
                let isComing =
                    !limit.partition.stands(at: limit.through)
                    && !limit.partition.waitsForDeadLetter
                return count + (isComing ? limit.count : 0)
            }
        }

        /// These records of the group have settled.
        mutating func settle(_ records: [PlannedRecord]) {
            for index in limits.indices {
                limits[index].count -= records.count { $0.partition === limits[index].partition }
            }
        }
    }

    /// A record under suspicion.
    struct Suspect: Equatable {
        var source: TopicPartition
        var offset: Int64
        var refusals: Int
        /// What the database said of it last.
        var reason: String
    }

    init(settings: Settings) { size = BatchSize(most: settings.batchBytesMax) }

    var isIdle: Bool {
        if case .idle = wire { return true }
        return false
    }

    /// Nothing is on the wire and nothing waits for it.
    var isAtRest: Bool { isIdle && batches.isEmpty && groups.isEmpty }

    /// Planning stops while a refusal is looked into.
    var isFrozen: Bool {
        switch wire {
        case .idle, .sending, .probing(.unanswered), .readingWatermark(.unanswered): false
        case .probing(.refused), .readingWatermark(.refused), .readingFences, .waiting: true
        }
    }

    /// Whether the record may be planned now: always, but for those outside the group that goes
    /// alone.
    func admits(_ partition: PartitionState, _ offset: Int64) -> Bool {
        guard let group = groups.first else { return true }
        return group.limits.contains { $0.partition === partition && offset <= $0.through }
    }
}
