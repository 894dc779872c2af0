import Testing

@testable import Telemetry

/// The text format, read back by a parser that shares no code with its writer.
struct Sample: Hashable {
    var name: String
    var labels: [String: String]
    var value: Double
}

/// Reads the Prometheus text format; nil for a line that is none of it.
func parse(_ text: [UInt8]) -> (
    samples: [Sample], types: [String: String], helps: [String: String]
)? {
    var samples: [Sample] = []
    var types: [String: String] = [:]
    var helps: [String: String] = [:]
    let text = String(decoding: text, as: UTF8.self)
    guard text.hasSuffix("\n") else { return nil }
    for line in text.split(separator: "\n") {
        if line.hasPrefix("# ") {
            let parts = line.split(separator: " ", maxSplits: 3)
            guard parts.count == 4 else { return nil }
            if parts[1] == "TYPE" { types[String(parts[2])] = String(parts[3]) }
            if parts[1] == "HELP" { helps[String(parts[2])] = String(parts[3]) }
            continue
        }
        guard let match = line.wholeMatch(of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)/)
        else {
            return nil
        }
        var labels: [String: String] = [:]
        var rest = match.2 ?? ""
        while !rest.isEmpty {
            guard
                let label = rest.prefixMatch(
                    of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/)
            else { return nil }
            var value = ""
            var escaped = false
            for character in label.2 {
                if escaped {
                    value.append(character == "n" ? "\n" : character)
                    escaped = false
                } else if character == "\\" {
                    escaped = true
                } else {
                    value.append(character)
                }
            }
            labels[String(label.1)] = value
            rest = rest[label.range.upperBound...]
        }
        let number = match.3 == "+Inf" ? Double.infinity : Double(match.3)
        guard let number else { return nil }
        samples.append(Sample(name: String(match.1), labels: labels, value: number))
    }
    return (samples, types, helps)
}

@Suite struct MetricsTests {
    /// The names of contract section 5.
    static let names: [String: (type: String, labels: [String])] = [
        "records_consumed_total": ("counter", ["topic"]),
        "records_rejected_total": ("counter", ["topic", "reason"]),
        "writes_total": ("counter", ["kind"]), "status_stale_total": ("counter", []),
        "chunks_late_total": ("counter", []), "requests_total": ("counter", ["code"]),
        "request_seconds": ("histogram", []), "delivery_seconds": ("histogram", []),
        "write_bytes_total": ("counter", []), "retries_total": ("counter", ["class"]),
        "lag_records": ("gauge", ["topic", "partition"]),
        "lag_seconds": ("gauge", ["topic", "partition"]),
        "unsettled_seconds": ("gauge", ["lane"]), "in_flight_bytes": ("gauge", []),
        "streams_open": ("gauge", []), "streams_stalled_total": ("counter", []),
        "dead_letters_total": ("counter", ["reason"]), "log_gaps_total": ("counter", ["topic"]),
        "chunk_gaps_total": ("counter", []), "fenced_total": ("counter", []),
        "erased_total": ("counter", []), "assigned_partitions": ("gauge", []),
        "build_info": ("gauge", ["version"]),
    ]

    @Test func everyMetricOfTheContractIsThereAndNoOther() throws {
        let metrics = FirebridgeMetrics(version: "1.2.3")
        let (_, types, helps) = try #require(parse(metrics.text))
        #expect(types.count == Self.names.count)
        for (name, expected) in Self.names {
            #expect(types["firebridge_" + name] == expected.type)
            #expect(helps["firebridge_" + name]?.isEmpty == false)
        }
        let families: [(String, [String])] = Mirror(reflecting: metrics).children.compactMap {
            if let family = $0.value as? Family<Counter> { return (family.name, family.labels) }
            if let family = $0.value as? Family<Gauge> { return (family.name, family.labels) }
            if let family = $0.value as? Family<Histogram> { return (family.name, family.labels) }
            return nil
        }
        #expect(families.count == Self.names.count)
        for (name, labels) in families {
            #expect(Self.names[String(name.dropFirst(11))]?.labels == labels, "\(name)")
        }
    }

    @Test func countsAndLabelsReadBackAsTheyWere() throws {
        let metrics = FirebridgeMetrics(version: "1\\2\"3\n4")
        let topic = "t\\\"\n\\n,}{=é"
        metrics.recordsConsumed[topic].add(3)
        metrics.recordsConsumed["other"].add()
        metrics.lagSeconds[topic, "7"].value = 0.25
        metrics.lagRecords[topic, "7"].set(1_000_000_000_000)
        let samples = try #require(parse(metrics.text)).samples
        func value(_ name: String, _ labels: [String: String]) -> Double? {
            samples.first { $0.name == "firebridge_" + name && $0.labels == labels }?.value
        }
        #expect(value("records_consumed_total", ["topic": topic]) == 3)
        #expect(value("records_consumed_total", ["topic": "other"]) == 1)
        #expect(value("lag_seconds", ["topic": topic, "partition": "7"]) == 0.25)
        #expect(value("lag_records", ["topic": topic, "partition": "7"]) == 1e12)
        #expect(value("build_info", ["version": "1\\2\"3\n4"]) == 1)
        #expect(value("status_stale_total", [:]) == 0)
    }

    @Test func bucketsAreCumulativeAndTheirBoundsAreIncluded() throws {
        let metrics = FirebridgeMetrics(version: "1")
        for value in [0.005, 0.006, 1, 1000, -1, .nan] { metrics.requestSeconds[].observe(value) }
        metrics.requestSeconds[].observe(.milliseconds(500))
        let samples = try #require(parse(metrics.text)).samples
        func bucket(_ bound: String) -> Double? {
            samples.first {
                $0.name == "firebridge_request_seconds_bucket" && $0.labels == ["le": bound]
            }?.value
        }
        #expect(bucket("0.005") == 3)
        #expect(bucket("0.01") == 4)
        #expect(bucket("0.25") == 4)
        #expect(bucket("0.5") == 5)
        #expect(bucket("1") == 6)
        #expect(bucket("30") == 6)
        #expect(bucket("+Inf") == 7)
        let count = samples.first { $0.name == "firebridge_request_seconds_count" }?.value
        let sum = samples.first { $0.name == "firebridge_request_seconds_sum" }?.value
        #expect(count == 7)
        #expect(sum == 0.005 + 0.006 + 1 + 1000 + 0.5)
    }

    @Test func aPartitionsSeriesGoWhenItGoes() throws {
        let metrics = FirebridgeMetrics(version: "1")
        metrics.lagRecords["t", "1"].value = 5
        metrics.lagSeconds["t", "1"].value = 5
        metrics.lagRecords["t", "2"].value = 5
        let held = metrics.lagRecords["t", "1"]
        metrics.removePartition(topic: "t", partition: 1)
        metrics.removePartition(topic: "t", partition: 1)
        held.value = 9
        let samples = try #require(parse(metrics.text)).samples
        #expect(
            samples.filter { $0.labels["partition"] != nil }.map(\.labels["partition"]) == ["2"])
        #expect(metrics.lagRecords["t", "1"].value == 0)
    }

    @Test func theSeriesOfAllPartitionsAndLanesGoWithTheAssignment() throws {
        let metrics = FirebridgeMetrics(version: "1")
        metrics.lagRecords["t", "1"].value = 5
        metrics.lagSeconds["t", "1"].value = 5
        metrics.unsettledSeconds["3"].value = 5
        metrics.recordsConsumed["t"].add()
        metrics.removeAssignment()
        let samples = try #require(parse(metrics.text)).samples
        #expect(!samples.contains { $0.labels["partition"] != nil || $0.labels["lane"] != nil })
        #expect(metrics.recordsConsumed["t"].value == 1)
    }

    @Test func aSeriesIsTheSameEachTimeItIsAskedFor() {
        let metrics = FirebridgeMetrics(version: "1")
        metrics.requests["200"].add()
        metrics.requests["200"].add(2)
        #expect(metrics.requests["200"].value == 3)
        #expect(metrics.requests["503"].value == 0)
    }
}
