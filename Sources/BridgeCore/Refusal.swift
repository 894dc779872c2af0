internal import JSON

// What happens when the database refuses a batch (contract section 6, "refused"): a probe tells a
// bad batch from a bad database; a bad batch is halved by records until the bad one stands alone.
extension Bridge {
    /// So many records in a row rejected as refused: the database is more likely wrong than they.
    static let refusedInRowMax = 100
    /// So often a record is refused alone, a probe accepted each time, before it is rejected. Once
    /// more than the contract has it: a database that refused everything for two short moments, and
    /// nothing between, is not the record's fault (decision 0022).
    static let refusalsMin = 3

    func refused(_ lane: Int, at now: Moment) {
        if flaw == .halvesBeforeProbing, lanes[lane].batches.first?.records.isEmpty == false {
            if let record = loneRecord(of: lane) {
                rejectRefused(record, of: lane, at: now)
            } else {
                halve(lane)
            }
            return
        }
        if let record = loneRecord(of: lane) {
            let source = record.partition!.source
            let known = lanes[lane].suspect
            let isSame = known?.source == source && known?.offset == record.record.offset
            lanes[lane].suspect = Lane.Suspect(
                source: source, offset: record.record.offset,
                refusals: (isSame ? known!.refusals : 0) + 1,
                reason: lanes[lane].lastError ?? "refused by the database")
        }
        probe(lane, because: .refused, at: now)
    }

    /// The batch was refused, the probe was not.
    func refusedGoesOn(_ lane: Int, at now: Moment) {
        let batch = lanes[lane].batches[0]
        if lanes[lane].databaseWasWrong {
            // The database was wrong, not the batch: it goes again whole.
            lanes[lane].databaseWasWrong = false
            send(lane, at: now)
        } else if batch.records.isEmpty {
            lanes[lane].batches.removeFirst()
            forgetAttempts(lane)
            lanes[lane].wire = .idle
        } else if let record = loneRecord(of: lane),
            let suspect = lanes[lane].suspect, suspect.refusals >= Self.refusalsMin
        {
            rejectRefused(record, of: lane, at: now)
        } else {
            halve(lane)
        }
    }

    /// The probe was refused too: either another owner holds a fence, or the database is wrong. One
    /// that does not even show the fences is wrong.
    func fencesAnswered(_ lane: Int, _ outcome: Outcome, at now: Moment) {
        guard let batch = lanes[lane].batches.first else { return }
        guard case .done(let body, _) = outcome else {
            databaseIsWrong(lane, "database_refuses_everything", at: now)
            return
        }
        let fences = tape(of: body)
        let own = fences.child(group, of: 0)
        for part in batch.parts {
            let held = own.flatMap { fences.child(part.setKey, of: $0) }
                .flatMap { fences.child(Array("\(part.number)".utf8), of: $0) }
                .flatMap { Fence(reading: fences, $0) }
            guard let held else { continue }
            if held.epoch > part.epoch || (held.epoch == part.epoch && held.owner != owner) {
                reclaim(at: now)
                return
            }
        }
        databaseIsWrong(lane, "database_refuses_everything", at: now)
    }

    private func databaseIsWrong(_ lane: Int, _ event: String, at now: Moment) {
        if !lanes[lane].databaseWasWrong {
            notice(
                .error, event, [("lane", "\(lane)"), ("reason", lanes[lane].lastError ?? "")])
        }
        lanes[lane].databaseWasWrong = true
        lanes[lane].suspect = nil
        lanes[lane].wire = .waiting(until: now.after(min(settings.retryMax, .seconds(1))))
    }

    private func rejectRefused(_ record: PlannedRecord, of lane: Int, at now: Moment) {
        if lanes[lane].refusedInRow >= Self.refusedInRowMax {
            databaseIsWrong(lane, "everything_refused", at: now)
            return
        }
        lanes[lane].refusedInRow += 1
        let reason = lanes[lane].suspect?.reason ?? "refused by the database"
        rejectLone(record, of: lane, Rejection(.refused, reason), at: now)
    }

    /// The first batch is too big for the database: split it, or reject its only record.
    func split(_ lane: Int, _ reason: String, at now: Moment) {
        if let record = loneRecord(of: lane) {
            rejectLone(record, of: lane, Rejection(.tooLarge, reason), at: now)
        } else {
            // What a deletion costs the database, its bytes do not tell.
            if lanes[lane].batches[0].records.contains(where: { $0.partition != nil }) {
                lanes[lane].size.shrink(from: lanes[lane].batches[0].bytes)
            }
            halve(lane)
        }
    }

    private func loneRecord(of lane: Int) -> PlannedRecord? {
        guard let records = lanes[lane].batches.first?.records, records.count == 1,
            records[0].partition != nil
        else { return nil }
        return records[0]
    }

    private func rejectLone(
        _ record: PlannedRecord, of lane: Int, _ rejection: Rejection, at now: Moment
    ) {
        guard let partition = record.partition else { return }
        if isReplay { refused[partition.source, default: []].insert(record.record.offset) }
        lanes[lane].suspect = nil
        // The group is the record alone: where it ends, the group ends.
        requeue(lane)
        if !lanes[lane].groups.isEmpty { lanes[lane].groups.removeFirst() }
        lanes[lane].wire = .idle
        guard let queued = partition.queue.popFirst(),
            queued.record.offset == record.record.offset
        else { preconditionFailure("a requeued record stands first") }
        let groups = lanes[lane].groups
        lanes[lane].groups = []
        partition.refused = record.record.offset
        if !reject(queued, of: partition, rejection, at: now) {
            partition.queue.prepend([queued])
        } else if !groups.isEmpty {
            settleRejected(of: lane, at: now)
        }
        lanes[lane].groups = groups
    }

    // The rejected record must not count among the next group's.
    private func settleRejected(of lane: Int, at now: Moment) {
        precondition(lanes[lane].batches.count == 1 && !lanes[lane].batches[0].hasWrites)
        settleFirstBatch(of: lane, at: now)
    }

    /// Forgets what the lane has planned, and lets the first batch's records go in two groups.
    ///
    /// Its chores are dropped: the agenda brings them back.
    func halve(_ lane: Int) {
        let records = lanes[lane].batches[0].records.filter { $0.partition != nil }
        setChoresApart(lane)
        requeue(lane)
        var groups = lanes[lane].groups
        if !groups.isEmpty { groups.removeFirst() }
        let half = max(1, records.count / 2)
        groups.insert(
            contentsOf: [records.prefix(half), records.dropFirst(half)].filter { !$0.isEmpty }
                .map { Lane.Group(of: Array($0)) },
            at: 0)
        lanes[lane].groups = groups
        lanes[lane].wire = .idle
    }

    /// One that will not go through must not keep the others from it, round after round.
    private func setChoresApart(_ lane: Int) {
        let records = lanes[lane].batches[0].records
        guard records.contains(where: { $0.partition == nil }) else { return }
        lanes[lane].choresGoAlone = true
        guard records.count == 1, let conversation = records[0].conversation else { return }
        notice(
            .warn, "chore_failed",
            [
                ("conversation", String(decoding: conversation.key, as: UTF8.self)),
                ("reason", lanes[lane].lastError ?? "refused by the database"),
            ])
        // It holds up no record.
        lanes[lane].lastError = nil
    }

    /// Puts everything that the lane has planned back, and forgets what it had touched, so that it
    /// is judged again by what the tree holds.
    func requeue(_ lane: Int) {
        let batches = lanes[lane].batches
        lanes[lane].batches = []
        forgetAttempts(lane)
        var back: [ObjectIdentifier: [QueuedRecord]] = [:]
        for batch in batches {
            for planned in batch.records {
                planned.conversation?.pins -= 1
                if flaw != .keepsMemoryAfterRefusal, let conversation = planned.conversation {
                    for part in batch.parts { part.forget(conversation) }
                }
                guard let partition = planned.partition else { continue }
                back[ObjectIdentifier(partition), default: []].append(
                    QueuedRecord(
                        record: planned.record,
                        content: planned.isRejected ? .rejected : .unread, readAt: planned.readAt,
                        isAgain: true))
            }
        }
        for part in parts(of: lane) {
            for partition in part.partitions {
                guard let records = back[ObjectIdentifier(partition)] else { continue }
                partition.queue.prepend(records)
            }
        }
    }
}

extension Lane.Group {
    init(of records: [PlannedRecord]) {
        limits = []
        for record in records {
            guard let partition = record.partition else { continue }
            if let index = limits.firstIndex(where: { $0.partition === partition }) {
                limits[index].through = record.record.offset
                limits[index].count += 1
            } else {
                limits.append((partition, record.record.offset, 1))
            }
        }
    }
}
