internal import JSON

// Before a batch goes again that was refused or had no answer, and when the breaker is half open, a
// probe goes: the fence, and the watermarks where the batch cannot have landed. It is small, and
// what lands late of the batch is refused by the fence's higher serial
// (docs/decisions/0022-probes.md).
extension Bridge {
    /// A batch that was not answered so often, while a probe was accepted each time, is made
    /// smaller: it is what takes too long.
    static let unansweredMax = 2

    func probe(_ lane: Int, because reason: Lane.ProbeReason, at now: Moment) {
        guard let batch = lanes[lane].batches.first else {
            lanes[lane].wire = .idle
            return
        }
        lanes[lane].wire = .probing(reason)
        lanes[lane].sentAt = now.monotonic
        patch(probeBody(of: batch, lane), for: .probe(lane: lane))
    }

    /// Takes a batch's request out of the way and gives the probe that goes first; nil for what is
    /// small already.
    func replaceByProbe(_ request: PendingRequest) -> PendingRequest? {
        guard case .batch(let lane, _) = request.purpose, let batch = lanes[lane].batches.first,
            batch.hasWrites
        else { return nil }
        requests[request.id] = nil
        lanes[lane].wire = .probing(.unanswered)
        serials.request += 1
        let probe = PendingRequest(
            id: serials.request, method: .patch(probeBody(of: batch, lane)),
            purpose: .probe(lane: lane), attempt: request.attempt)
        requests[probe.id] = probe
        return probe
    }

    /// The fences under a new serial, and the watermarks that the tree has acknowledged: but not
    /// while the batch may have landed, whose own would be taken back.
    private func probeBody(of batch: Batch, _ lane: Int) -> [UInt8] {
        var body = ObjectWriter()
        for part in batch.parts {
            body.add(anyName: part.fencePath, nextFence(of: part))
            guard !isReplay, lanes[lane].inDoubt.isEmpty else { continue }
            for partition in part.partitions where partition.isRunning {
                body.add(
                    anyName: partition.watermarkPath,
                    Watermark(
                        next: partition.offsets.acknowledged, cluster: assignment?.cluster
                    ).json)
            }
        }
        return body.finish()
    }

    /// - Parameter attempt: which one of this probe it is, from 1.
    func probeAnswered(_ lane: Int, _ outcome: Outcome, attempt: Int, at now: Moment) {
        guard case .probing(let reason) = lanes[lane].wire else { return }
        guard case .done = outcome else {
            lanes[lane].lastError = outcome.objection
            lanes[lane].wire = .readingFences
            get(StateLayout.fences, for: .fencesAfterRefusal(lane: lane))
            return
        }
        renewed(by: lane, at: now)
        // Since the refusal the database was away: it may have refused everything.
        if attempt > 1 { lanes[lane].suspect = nil }
        guard let mark = lanes[lane].inDoubt.first else { return goOn(lane, reason, at: now) }
        lanes[lane].wire = .readingWatermark(reason)
        get(mark.partition.watermarkPath, for: .watermarkAfterProbe(lane: lane))
    }

    /// A PATCH lands whole or not at all: one watermark tells of all of it.
    func watermarkAnswered(_ lane: Int, _ outcome: Outcome, at now: Moment) {
        guard case .done(let body, _) = outcome, let mark = lanes[lane].inDoubt.first,
            case .readingWatermark(let reason) = lanes[lane].wire
        else { return }
        if let held = Watermark(reading: tape(of: body), 0), held.next >= mark.next {
            landed(lane, lanes[lane].inDoubt, at: now)
        } else {
            lanes[lane].inDoubt = []
            goOn(lane, reason, at: now)
        }
    }

    private func goOn(_ lane: Int, _ reason: Lane.ProbeReason, at now: Moment) {
        switch reason {
        case .refused: refusedGoesOn(lane, at: now)
        case .unanswered: unansweredGoesOn(lane, at: now)
        }
    }

    /// The database is there: the batch goes again whole, or smaller where it was seen before that
    /// it is what takes too long.
    private func unansweredGoesOn(_ lane: Int, at now: Moment) {
        let batch = lanes[lane].batches[0]
        guard lanes[lane].unanswered >= Self.unansweredMax, batch.records.count > 1 else {
            send(lane, at: now)
            return
        }
        notice(
            .warn, "batch_split",
            [
                ("lane", "\(lane)"), ("records", "\(batch.records.count)"),
                ("bytes", "\(batch.bytes)"), ("reason", lanes[lane].lastError ?? ""),
            ])
        lanes[lane].size.shrink(from: batch.bytes)
        if lanes[lane].groups.isEmpty, batch.bytes > lanes[lane].size.limit {
            // Planned anew within what the lane's batches may have now.
            requeue(lane)
            lanes[lane].wire = .idle
        } else {
            halve(lane)
        }
        // The next one without an answer is made smaller at once.
        lanes[lane].unanswered = Self.unansweredMax - 1
    }
}
