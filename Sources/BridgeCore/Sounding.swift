internal import JSON

// Before a batch goes again that the database did not answer, and when the breaker is half open,
// the fence and the watermarks go alone: small, and what lands late of the batch is refused by the
// fence's higher serial (docs/decisions/0021-sounding.md).
extension Bridge {
    /// A batch that was not answered so often, while the small write was accepted each time, is
    /// halved: it is what takes too long.
    static let unansweredMax = 2

    /// Takes a batch's request out of the way and gives the small write that goes first; nil for
    /// what is small already.
    func sounding(insteadOf request: PendingRequest) -> PendingRequest? {
        guard case .batch(let lane, _) = request.purpose, let batch = lanes[lane].batches.first,
            batch.hasWrites
        else { return nil }
        requests[request.id] = nil
        lanes[lane].wire = .sounding
        serials.request += 1
        let small = PendingRequest(
            id: serials.request, method: .patch(stateAlone(of: batch)),
            purpose: .sounding(lane: lane), attempt: request.attempt)
        requests[small.id] = small
        return small
    }

    /// The lane's first batch had no answer: it may have landed, or may yet.
    func batchUnanswered(_ lane: Int) {
        guard let batch = lanes[lane].batches.first, batch.hasWrites else { return }
        lanes[lane].unanswered += 1
        lanes[lane].size.shrink(from: batch.bytes)
    }

    /// - Parameter failures: how many attempts at the batch and the small write have failed.
    func soundingAnswered(_ lane: Int, _ outcome: Outcome, failures: Int, at now: Moment) {
        guard let batch = lanes[lane].batches.first else {
            lanes[lane].wire = .idle
            return
        }
        switch outcome {
        case .done:
            guard lanes[lane].unanswered >= Self.unansweredMax, batch.recordCount > 1 else {
                send(lane, at: now, failures: failures)
                return
            }
            notice(
                .warn, "batch_split",
                [
                    ("lane", "\(lane)"), ("records", "\(batch.recordCount)"),
                    ("bytes", "\(batch.bytes)"), ("reason", lanes[lane].lastError ?? ""),
                ])
            // The next one without an answer is halved at once.
            lanes[lane].unanswered = Self.unansweredMax - 1
            halve(lane)
        case .refused(_, let reason), .tooBig(let reason):
            lanes[lane].lastError = reason
            lookAtFences(lane)
        case .unavailable, .unanswered, .unauthorized: preconditionFailure("retried before")
        }
    }
}
