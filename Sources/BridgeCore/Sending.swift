internal import JSON

/// Commits on their way to Kafka.
struct CommitState {
    var isInFlight = false
    /// The earliest time of the next one, monotonic nanoseconds.
    var dueAt: Int64 = 0
    /// The last one, where it failed in whole or in part. The watermark in the tree is as good:
    /// nobody waits for the next try.
    var failed: Int?
}

// Batches go out one at a time a lane; what they settle is committed.
extension Bridge {
    /// How long watermarks may be behind with no data to carry them, in nanoseconds.
    static let behindDelay: Int64 = 250_000_000
    static let commitInterval: Int64 = 500_000_000

    /// Sends the lane's first batch where the wire is free.
    ///
    /// - Returns: whether something settled without a write.
    func pump(_ lane: Int, at now: Moment) -> Bool {
        if case .waiting(let until) = lanes[lane].wire, until <= now.monotonic {
            probe(lane, because: .refused, at: now)
            return false
        }
        let settled = settleWhatWritesNothing(lane, at: now)
        guard lanes[lane].isIdle else { return settled }
        if lanes[lane].batches.isEmpty, lanes[lane].groups.isEmpty { carryState(lane, at: now) }
        if let batch = lanes[lane].batches.first, isWhole(batch, of: lane) { send(lane, at: now) }
        return settled
    }

    private func settleWhatWritesNothing(_ lane: Int, at now: Moment) -> Bool {
        var settled = false
        while let group = lanes[lane].groups.first, group.count <= 0 {
            lanes[lane].groups.removeFirst()
            settled = true
        }
        while lanes[lane].isIdle, let batch = lanes[lane].batches.first,
            !batch.hasWrites, !batch.isStateOnly, isWhole(batch, of: lane)
        {
            settleFirstBatch(of: lane, at: now)
            settled = true
        }
        return settled
    }

    /// Whether the batch holds the whole group that goes alone, or takes no more of it: what it
    /// holds may keep a record of the group from lying in the same PATCH.
    private func isWhole(_ batch: Batch, of lane: Int) -> Bool {
        guard let group = lanes[lane].groups.first, lanes[lane].batches.count == 1 else {
            return true
        }
        return batch.recordCount >= group.count
    }

    func send(_ lane: Int, at now: Moment) {
        for part in parts(of: lane) where part.fencedAt + Self.renewal <= now.monotonic {
            lanes[lane].batches[0].touch(part)
        }
        let batch = lanes[lane].batches[0]
        let (state, marks) = stateWrites(of: batch.parts, through: batch.through)
        lanes[lane].wire = .sending
        lanes[lane].sentAt = now.monotonic
        lanes[lane].behindSince = nil
        patch(
            batch.body(state: state), for: .batch(lane: lane, marks: marks),
            failures: lanes[lane].failures)
    }

    /// A lane with nothing to say writes the watermarks that are behind, and renews its fences.
    private func carryState(_ lane: Int, at now: Moment) {
        let behind = parts(of: lane).filter { part in
            !isReplay
                && part.partitions.contains { $0.isRunning && $0.offsets.isBehind(flaw: flaw) }
        }
        let due = parts(of: lane).filter { $0.fencedAt + Self.renewal <= now.monotonic }
        if behind.isEmpty {
            lanes[lane].behindSince = nil
        } else if lanes[lane].behindSince == nil {
            lanes[lane].behindSince = now.monotonic
        }
        let waited = lanes[lane].behindSince.map { now.monotonic - $0 >= Self.behindDelay } ?? false
        let goes = !behind.isEmpty && (waited || drain != nil)
        guard goes || !due.isEmpty else { return }
        serials.batch += 1
        var batch = Batch(serial: serials.batch, isStateOnly: true)
        for part in behind { batch.touch(part) }
        for part in due { batch.touch(part) }
        lanes[lane].batches = [batch]
    }

    func parts(of lane: Int) -> [Part] { assignment?.parts.filter { $0.lane == lane } ?? [] }

    /// The part's fence for a new PATCH, which has a serial of its own.
    func nextFence(of part: Part, isLive: Bool = true) -> [UInt8] {
        part.serial += 1
        return Fence.json(epoch: part.epoch, owner: owner, serial: part.serial, isLive: isLive)
    }

    /// Fences and watermarks of some parts, as they will stand once a batch has landed.
    func stateWrites(
        of parts: [Part], through: [(partition: PartitionState, offset: Int64)]
    ) -> (writes: [(path: [UInt8], value: [UInt8])], marks: [PendingRequest.Mark]) {
        var writes: [(path: [UInt8], value: [UInt8])] = []
        var marks: [PendingRequest.Mark] = []
        for part in parts {
            writes.append((part.fencePath, nextFence(of: part)))
            // A replay is nobody's progress.
            guard !isReplay else { continue }
            for partition in part.partitions where partition.isRunning {
                let last = through.first { $0.partition === partition }?.offset
                let next = partition.offsets.watermark(through: last, flaw: flaw)
                guard next > partition.offsets.acknowledged else { continue }
                marks.append(.init(partition: partition, next: next))
                writes.append(
                    (
                        partition.watermarkPath,
                        Watermark(next: next, cluster: assignment?.cluster).json
                    ))
            }
        }
        return (writes, marks)
    }

    func batchAnswered(
        _ lane: Int, _ marks: [PendingRequest.Mark], _ outcome: Outcome, at now: Moment
    ) {
        if flaw == .takesLateAnswers, lanes[lane].batches.isEmpty { return }
        switch outcome {
        case .done: landed(lane, marks, at: now)
        case .tooBig(let reason):
            lanes[lane].lastError = reason
            split(lane, reason, at: now)
        case .refused(_, let reason):
            lanes[lane].lastError = reason
            refused(lane, at: now)
        case .unavailable, .unanswered, .unauthorized: preconditionFailure("retried before")
        }
    }

    func landed(_ lane: Int, _ marks: [PendingRequest.Mark], at now: Moment) {
        lanes[lane].wire = .idle
        lanes[lane].lastError = nil
        lanes[lane].suspect = nil
        forgetAttempts(lane)
        lanes[lane].databaseWasWrong = false
        if let batch = lanes[lane].batches.first {
            lanes[lane].size.grow(after: batch.bytes)
            // What is the bridge's own says nothing of the data.
            if batch.hasWrites { lanes[lane].refusedInRow = 0 }
            renewed(by: lane, at: now)
        }
        for mark in marks { mark.partition.offsets.acknowledge(mark.next) }
        settleFirstBatch(of: lane, at: now)
    }

    /// Another batch will be the first.
    func forgetAttempts(_ lane: Int) {
        lanes[lane].unanswered = 0
        lanes[lane].failures = 0
        lanes[lane].inDoubt = []
    }

    /// The first batch has landed, or had nothing to write.
    func settleFirstBatch(of lane: Int, at now: Moment) {
        let batch = lanes[lane].batches.removeFirst()
        if !lanes[lane].groups.isEmpty { lanes[lane].groups[0].settle(batch.records) }
        // By index: a record taken out of the array would count five references.
        let records = batch.records
        for index in records.indices {
            records[index].conversation?.pins -= 1
            guard records[index].partition != nil else { continue }
            inFlightBytes -= records[index].record.size
            if let reason = records[index].passedOver {
                counters.passedOver[reason, default: 0] += 1
            }
            if !records[index].isRejected, batch.hasWrites,
                let time = records[index].record.timestamp
            {
                counters.delivery.add(now.wall - time)
            }
        }
        for (partition, offset) in batch.through { partition.offsets.settle(through: offset) }
    }

    // MARK: Commits

    var needsCommit: Bool {
        partitions.values.contains { $0.needsCommit }
    }

    /// Commits what the tree has acknowledged, all partitions at once, every now and then.
    func commitWhatIsDue(at now: Moment) {
        let hurries = drain != nil && commit.failed == nil
        guard !commit.isInFlight, now.monotonic >= commit.dueAt || hurries else { return }
        var offsets: [TopicPartition: Int64] = [:]
        for (source, partition) in partitions where partition.needsCommit {
            offsets[source] = partition.offsets.acknowledged
        }
        guard !offsets.isEmpty else { return }
        commit.dueAt = now.monotonic + Self.commitInterval
        commit.isInFlight = true
        serials.commit += 1
        effects.append(.commit(offsets, serial: serials.commit))
    }

    // MARK: A clean stop

    /// Clears the time of the fences, so that another group need not wait. True once that is done.
    func sayFarewell() -> Bool {
        guard let parts = assignment?.parts, !parts.isEmpty, drain?.farewell != .done else {
            return true
        }
        guard drain?.farewell != .sent else { return false }
        drain?.farewell = .sent
        patch(farewellBody(of: parts), for: .farewell)
        return false
    }

    /// The fences without their time.
    func farewellBody(of parts: [Part]) -> [UInt8] {
        var body = ObjectWriter()
        for part in parts {
            body.add(anyName: part.fencePath, nextFence(of: part, isLive: false))
        }
        return body.finish()
    }
}
