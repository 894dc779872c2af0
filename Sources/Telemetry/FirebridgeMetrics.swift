/// Every metric of the bridge (contract section 5), declared once.
public final class FirebridgeMetrics {
    /// Records read, by topic.
    public let recordsConsumed = counters(
        "records_consumed_total", "Records read from Kafka.", ["topic"])
    /// Records rejected, by topic and reason.
    public let recordsRejected = counters(
        "records_rejected_total", "Records that could not be written, by reason.",
        ["topic", "reason"])
    /// Writes planned, by kind; after a refusal they are planned, and counted, again.
    public let writes = counters(
        "writes_total", "Writes planned, by kind.", ["kind"])
    /// Activity changes dropped by the status guard.
    public let statusStale = counters(
        "status_stale_total", "Activity changes dropped because the node holds a later one.")
    /// Chunks dropped because their run has ended, was superseded or was removed.
    public let chunksLate = counters(
        "chunks_late_total", "Chunks dropped because their run was superseded, ended or removed.")
    /// Requests, by HTTP status.
    public let requests = counters(
        "requests_total", "Requests to the database, by HTTP status or kind of failure.", ["code"])
    /// How long requests took.
    public let requestSeconds = histogram(
        "request_seconds", "Seconds from a request's first byte to its answer.",
        [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30])
    /// How long records took.
    public let deliverySeconds = histogram(
        "delivery_seconds", "Seconds from a record's Kafka time to its acknowledged write.",
        [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600])
    /// Bytes of request bodies.
    public let writeBytes = counters("write_bytes_total", "Bytes of acknowledged writes.")
    /// Retries, by class of failure.
    public let retries = counters(
        "retries_total", "Requests sent again, by class of failure.", ["class"])
    /// Records still to be read, by partition.
    public let lagRecords = gauges(
        "lag_records", "Records behind the end of the partition.", ["topic", "partition"])
    /// How far behind a partition is in time.
    public let lagSeconds = gauges(
        "lag_seconds", "Age of the last record handled, 0 at the end of the partition.",
        ["topic", "partition"])
    /// The age of the oldest record not settled, by lane.
    public let unsettledSeconds = gauges(
        "unsettled_seconds", "Age of the oldest record that is read and not settled.", ["lane"])
    /// Bytes read and not settled.
    public let inFlightBytes = gauges(
        "in_flight_bytes", "Bytes of records that are read and not settled.")
    /// Streams without an end.
    public let streamsOpen = gauges("streams_open", "Streams that have not ended.")
    /// Streams ended as stalled.
    public let streamsStalled = counters("streams_stalled_total", "Streams ended as stalled.")
    /// Dead letters, by reason.
    public let deadLetters = counters(
        "dead_letters_total", "Records appended to the dead-letter topic, by reason.", ["reason"])
    /// Retention gaps, by topic.
    public let logGaps = counters(
        "log_gaps_total", "Times that retention had removed what was still to be read.", ["topic"])
    /// Runs that ended with missing chunks.
    public let chunkGaps = counters("chunk_gaps_total", "Runs that ended with missing chunks.")
    /// Writes refused by a fence.
    public let fenced = counters(
        "fenced_total", "Times that another owner held the fence of a partition.")
    /// Records of erased conversations.
    public let erased = counters(
        "erased_total", "Records dropped because their conversation was erased.")
    /// Partitions assigned to this instance.
    public let assignedPartitions = gauges(
        "assigned_partitions", "Partitions assigned to this instance.")
    /// 1, with the version as label.
    public let buildInfo = gauges("build_info", "1; the version is the label.", ["version"])

    /// Makes all metrics, at 0.
    public init(version: String) { buildInfo[version].value = 1 }

    /// Removes a partition's series: it has gone to another instance.
    public func removePartition(topic: String, partition: Int32) {
        lagRecords.remove(topic, String(partition))
        lagSeconds.remove(topic, String(partition))
    }

    /// Removes the series of all partitions and lanes: who comes next has others.
    public func removeAssignment() {
        for family in [lagRecords, lagSeconds, unsettledSeconds] { family.removeAll() }
    }

    /// All of them as text, for `GET /metrics`.
    public var text: [UInt8] {
        var text = Exposition()
        for family in [recordsConsumed, recordsRejected, writes, statusStale, chunksLate, requests]
        {
            text.add(family)
        }
        text.add(requestSeconds)
        text.add(deliverySeconds)
        text.add(writeBytes)
        text.add(retries)
        for family in [lagRecords, lagSeconds, unsettledSeconds, inFlightBytes, streamsOpen] {
            text.add(family)
        }
        for family in [streamsStalled, deadLetters, logGaps, chunkGaps, fenced, erased] {
            text.add(family)
        }
        text.add(assignedPartitions)
        text.add(buildInfo)
        return text.text
    }
}

private func counters(
    _ name: String, _ help: String, _ labels: [String] = []
) -> Family<Counter> {
    Family("firebridge_" + name, help, labels: labels, make: Counter.init)
}

private func gauges(
    _ name: String, _ help: String, _ labels: [String] = []
) -> Family<Gauge> {
    Family("firebridge_" + name, help, labels: labels, make: Gauge.init)
}

private func histogram(
    _ name: String, _ help: String, _ bounds: [Double]
) -> Family<Histogram> {
    Family("firebridge_" + name, help) { Histogram(bounds: bounds) }
}
