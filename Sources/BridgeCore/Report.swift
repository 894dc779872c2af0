/// What the core would say of itself: for `/readyz`, `/status` and gauges.
public struct Report: Sendable {
    /// Why it is not ready; empty when it is.
    public var notReady: [String] = []
    /// The assigned partitions, by name, those aside that are not read as Kafka tells nothing of
    /// them.
    public var partitions: [PartitionReport] = []
    /// Those.
    public var untold: [TopicPartition] = []
    /// The lanes, by number.
    public var lanes: [LaneReport] = []
    /// Bytes of records that were read and have not settled.
    public var inFlightBytes = 0
    /// Streams in memory that have not ended.
    public var streamsOpen = 0

    /// One assigned partition.
    public struct PartitionReport: Sendable {
        /// Which.
        public var source: TopicPartition
        /// The offset after the last record that was read.
        public var position: Int64
        /// Every record below has settled, those aside whose dead letter is awaited.
        public var settled: Int64
        /// The watermark that the tree has acknowledged.
        public var watermark: Int64
        /// The offset that Kafka has acknowledged.
        public var committed: Int64
        /// Why it stands still, if it does.
        public var halted: String?
    }

    /// One lane.
    public struct LaneReport: Sendable {
        /// Records that wait to be planned or sent.
        public var queued = 0
        /// Records on the wire.
        public var inFlight = 0
        /// How long the oldest of them has been read and not settled, in nanoseconds.
        public var oldestUnsettled: Int64?
        /// What that record waits for.
        public var reason: String?
        /// The last failure since the last success.
        public var lastError: String?
    }
}

extension Bridge {
    /// Dead letters that Kafka has not acknowledged.
    public var deadLettersWaiting: Int { deadLetters.count }

    /// The state of things now.
    public func report(at now: Moment) -> Report {
        var report = Report()
        report.inFlightBytes = inFlightBytes
        report.notReady = notReadyReasons
        let untold = untold
        report.untold = untold.sorted()
        for (source, partition) in partitions.sorted(by: { $0.key < $1.key })
        where !untold.contains(source) {
            report.partitions.append(
                .init(
                    source: source, position: partition.offsets.position,
                    settled: partition.offsets.settled,
                    watermark: partition.offsets.acknowledged,
                    committed: partition.offsets.committed, halted: partition.halt))
        }
        report.lanes = lanes.indices.map { laneReport($0, at: now) }
        for part in assignment?.parts ?? [] {
            for conversation in part.allConversations {
                report.streamsOpen += conversation.streams.count {
                    $0.run != nil && $0.endedBy == nil && !$0.isRemoved
                }
            }
        }
        return report
    }

    /// Partitions that are not read, as Kafka does not tell where they stand.
    private var untold: Set<TopicPartition> {
        guard let assignment, assignment.isRunning else { return [] }
        return assignment.unknown
    }

    private var notReadyReasons: [String] {
        var reasons: [String] = []
        for set in mismatched.sorted() {
            reasons.append(
                "topics \(plan.sets[set].topics.joined(separator: ", ")) differ in their number of "
                    + "partitions and are not consumed")
        }
        if let assignment, !assignment.isRunning {
            if let group = assignment.liveGroup {
                reasons.append("group '\(group)' mirrors into this tree: one at a time")
            } else {
                let refusal = assignment.refusal.map { ", which the database refuses: \($0)" }
                reasons.append("claiming partitions: \(assignment.phase)\(refusal ?? "")")
            }
        }
        for (source, partition) in partitions.sorted(by: { $0.key < $1.key }) {
            if let halt = partition.halt { reasons.append("\(source) stands still: \(halt)") }
            if partition.awaitsCommit, assignment?.isRunning == true {
                reasons.append("\(source) is not read: its place in the log is not committed yet")
            }
            if untold.contains(source) {
                reasons.append("\(source) is not read: Kafka does not tell where it stands")
            }
        }
        if let readError { reasons.append("reading the tree fails: \(readError)") }
        if let failure = deadLetters.values.lazy.compactMap(\.failure).first {
            reasons.append("dead letters cannot be appended: \(failure)")
        }
        for (index, lane) in lanes.enumerated() {
            if lane.databaseWasWrong {
                let event =
                    lane.refusedInRow >= Self.refusedInRowMax
                    ? "everything_refused" : "database_refuses_everything"
                reasons.append("lane \(index): \(event): \(lane.lastError ?? "")")
            } else if let error = lane.lastError {
                reasons.append("lane \(index): the last write failed: \(error)")
            }
        }
        return reasons
    }

    private func laneReport(_ index: Int, at now: Moment) -> Report.LaneReport {
        var report = Report.LaneReport()
        let lane = lanes[index]
        report.lastError = lane.lastError
        var oldest: Int64?
        func consider(_ readAt: Int64?, _ reason: String) {
            guard let readAt, readAt < oldest ?? .max else { return }
            oldest = readAt
            report.reason = reason
        }
        for (position, batch) in lane.batches.enumerated() {
            let onWire = position == 0 && !lane.isIdle
            if onWire {
                report.inFlight += batch.recordCount
            } else {
                report.queued += batch.recordCount
            }
            let record = batch.records.first { $0.partition != nil }
            consider(record?.readAt, onWire ? lane.wireReason : "waits for the wire")
        }
        for part in parts(of: index) {
            for partition in part.partitions {
                report.queued += partition.queue.count
                consider(
                    partition.queue.first?.readAt,
                    partition.halt ?? "waits for what the tree holds")
            }
        }
        for pending in deadLetters.values where pending.partition.part.lane == index {
            report.queued += 1
            consider(pending.readAt, "its dead letter is not acknowledged")
        }
        report.oldestUnsettled = oldest.map { now.monotonic - $0 }
        return report
    }
}

extension Lane {
    fileprivate var wireReason: String {
        switch wire {
        case .idle: "waits for the wire"
        case .sending: lastError.map { "is sent again: \($0)" } ?? "is being written"
        case .probing(.unanswered), .readingWatermark(.unanswered):
            "goes again after a small write: \(lastError ?? "the database was away")"
        case .probing(.refused), .readingWatermark(.refused), .readingFences:
            "was refused, and the reason is being found"
        case .waiting: "waits for a database that refuses everything"
        }
    }
}
