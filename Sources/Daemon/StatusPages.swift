internal import BridgeCore
internal import Configuration
internal import EventLoop
internal import HTTPServer
internal import Kafka
internal import Telemetry

/// The daemon's own HTTP: `/healthz`, `/readyz`, `/metrics` and `/status` (contract section 5).
enum StatusPages {
    /// Answers one request about a mirror.
    static func answer(
        _ request: HTTPServerRequest, about mirror: Mirror?, since start: Int64
    ) -> HTTPServerResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            return plain(405, "expected GET\n", [("Allow", "GET, HEAD")])
        }
        if request.path == "/healthz" {
            guard let mirror, let reason = mirror.wedged(at: mirror.moment()) else {
                return plain(200, "ok\n")
            }
            return plain(503, "wedged: \(reason)\n")
        }
        guard let mirror else {
            return json(503, Array(#"{"ready":false,"reasons":["starting"]}"#.utf8))
        }
        let now = mirror.moment()
        switch request.path {
        case "/readyz": return ready(mirror, at: now)
        case "/metrics":
            mirror.updateMetrics(at: now)
            return HTTPServerResponse(
                status: 200, headers: [("Content-Type", Exposition.contentType)],
                body: mirror.metrics.text)
        case "/status":
            return json(200, mirror.status(at: now, uptime: now.monotonic - start))
        default: return plain(404, "expected /healthz, /readyz, /metrics or /status\n")
        }
    }

    private static func ready(_ mirror: Mirror, at now: Moment) -> HTTPServerResponse {
        let reasons = mirror.notReadyReasons(at: now)
        var body = JSONText()
        body.object {
            $0.member("ready", reasons.isEmpty)
            $0.member("reasons", list: reasons)
        }
        return json(reasons.isEmpty ? 200 : 503, body.bytes)
    }

    private static func json(_ status: Int, _ body: [UInt8]) -> HTTPServerResponse {
        HTTPServerResponse(
            status: status,
            headers: [
                ("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-store"),
            ], body: body + [0x0A])
    }

    private static func plain(
        _ status: Int, _ text: String, _ headers: [(name: String, value: String)] = []
    ) -> HTTPServerResponse {
        HTTPServerResponse(
            status: status,
            headers: headers + [("Content-Type", "text/plain; charset=utf-8")],
            body: Array(text.utf8))
    }
}

extension Mirror {
    /// Why `/readyz` says no; empty when it says yes.
    func notReadyReasons(at now: Moment) -> [String] {
        (waiting == nil ? [] : ["which topics there are is not known yet"])
            + health.reasons(at: now, deadLetters: bridge.deadLettersWaiting)
            + bridge.report(at: now).notReady
    }

    func status(at now: Moment, uptime: Int64) -> [UInt8] {
        let report = bridge.report(at: now)
        var out = JSONText()
        out.object { out in
            out.member("version", Mirror.version)
            out.member("uptime_seconds", uptime / 1_000_000_000)
            out.member("config_hash", configuration.hash)
            out.member("group", configuration.settings.group)
            out.member("not_ready", list: notReadyReasons(at: now))
            out.member("in_flight_bytes", Int64(report.inFlightBytes))
            out.member("runs_with_missing_chunks", Int64(bridge.counters.runsWithGaps))
            out.array("partitions", report.partitions) { out, partition in
                out.member("topic", partition.source.topic)
                out.member("partition", Int64(partition.source.partition))
                out.member("position", partition.position)
                out.member("watermark", partition.watermark)
                out.member("committed", partition.committed)
                if let lag = lag(of: partition) { out.member("lag", lag) }
                if let halted = partition.halted ?? health.halted[partition.source] {
                    out.member("halted", halted)
                }
            }
            out.array("lanes", Array(report.lanes.enumerated())) { out, lane in
                out.member("lane", Int64(lane.offset))
                out.member("queued", Int64(lane.element.queued))
                out.member("in_flight", Int64(lane.element.inFlight))
                if let age = lane.element.oldestUnsettled {
                    out.member("oldest_unsettled_ms", age / 1_000_000)
                }
                if let reason = lane.element.reason { out.member("reason", reason) }
                if let error = lane.element.lastError { out.member("last_error", error) }
            }
        }
        return out.bytes
    }

    /// Records that are still to be read and are still there; nil while the partition's end is
    /// unknown. Of one that stands still also those that were read, and that the core has given
    /// back.
    func lag(of partition: Report.PartitionReport) -> Int64? {
        guard var progress = consumer.progress(of: partition.source) else {
            guard partition.halted != nil else { return nil }
            return consumer.bounds[partition.source]?.records(from: partition.position)
        }
        if partition.halted != nil { progress.position = partition.position }
        return progress.lag
    }

    /// The age of the last record read, 0 at the partition's end; nil while that is unknown, or
    /// nothing was read.
    func lagSeconds(of partition: Report.PartitionReport, at now: Moment) -> Double? {
        guard let lag = lag(of: partition) else { return nil }
        guard lag > 0 else { return 0 }
        return lastTimestamps[partition.source].map { Double(max(0, now.wall - $0)) / 1000 }
    }

    /// Brings the metrics up to what the core has counted.
    func updateMetrics(at now: Moment) {
        let counters = bridge.counters
        for (topic, count) in counters.consumed { metrics.recordsConsumed[topic].raise(to: count) }
        for (key, count) in counters.rejected {
            metrics.recordsRejected[key.topic, key.reason.rawValue].raise(to: count)
        }
        for (kind, count) in counters.writes { metrics.writes["\(kind)"].raise(to: count) }
        metrics.statusStale[].raise(to: counters.staleStatuses)
        metrics.chunksLate[].raise(to: counters.lateChunks)
        for (kind, count) in counters.retries { metrics.retries[kind].raise(to: count) }
        for (reason, count) in counters.deadLetters { metrics.deadLetters[reason].raise(to: count) }
        for (topic, count) in counters.logGaps { metrics.logGaps[topic].raise(to: count) }
        metrics.chunkGaps[].raise(to: counters.runsWithGaps)
        metrics.fenced[].raise(to: counters.fenced)
        metrics.erased[].raise(to: counters.erased)
        metrics.streamsStalled[].raise(to: counters.stalled)
        let report = bridge.report(at: now)
        metrics.inFlightBytes[].set(report.inFlightBytes)
        metrics.streamsOpen[].set(report.streamsOpen)
        metrics.assignedPartitions[].set(report.partitions.count + report.untold.count)
        for partition in report.untold {
            metrics.removePartition(topic: partition.topic, partition: partition.partition)
        }
        for (index, lane) in report.lanes.enumerated() {
            metrics.unsettledSeconds["\(index)"].value =
                Double(lane.oldestUnsettled ?? 0) / 1_000_000_000
        }
        for partition in report.partitions where !isRevoking {
            let name = "\(partition.source.partition)"
            guard let lag = lag(of: partition) else { continue }
            metrics.lagRecords[partition.source.topic, name].set(lag)
            guard let seconds = lagSeconds(of: partition, at: now) else { continue }
            metrics.lagSeconds[partition.source.topic, name].value = seconds
        }
        metrics.deliverySeconds[].replace(
            counts: counters.delivery.counts.map(Int64.init),
            sum: counters.delivery.sumMilliseconds / 1000)
    }
}

extension Counter {
    fileprivate func raise(to count: Int) {
        if Int64(count) > value { add(count - Int(value)) }
    }
}
