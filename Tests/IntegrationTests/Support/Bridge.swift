import BridgeCore
import EventLoop
import HTTPClient
import JSON
import Oracle
import TestSupport

/// The configuration of a bridge under test: what differs from it is said by each test.
struct Settings {
    var brokers: [String]
    /// What the names of the topics begin with.
    var prefix: String
    var group: String
    var url: String
    /// librdkafka's properties beside those that make tests quick.
    var properties: [String] = []
    var credentials = ["type: emulator"]
    var logLevel = "info"
    var delivery: [String] = []
    var streams = ["keep: 0", "stall_after: 0"]
    var listen = "127.0.0.1:0"
    var start = "earliest"
    /// YAML of the list `mappings`; nil for the three default ones.
    var mappings: String?

    var yaml: String {
        func lines(_ entries: [String], _ indent: String = "  ") -> String {
            entries.map { indent + $0 }.joined(separator: "\n")
        }
        let quick = [
            "session.timeout.ms: 6000", "heartbeat.interval.ms: 300", "fetch.wait.max.ms: 10",
            "topic.metadata.refresh.interval.ms: 500",
        ]
        let named = Set(properties.map { $0.prefix { $0 != ":" } })
        let kept = quick.filter { line in !named.contains(line.prefix { $0 != ":" }) }
        return """
            kafka:
              brokers: [\(brokers.joined(separator: ", "))]
              group: \(group)
              start: \(start)
              properties:
            \(lines(kept + properties, "    "))
            database:
              url: \(url)
              fence: true
              credentials:
            \(lines(credentials, "    "))
            mappings:
            \(mappings ?? defaultMappings)
            delivery:
              dead_letter_topic: \(prefix).dead-letters
            \(lines(delivery))
            streams:
            \(lines(streams))
            server:
              listen: \(listen)
            log:
              format: json
              level: \(logLevel)

            """
    }

    var defaultMappings: String {
        """
          - topic: \(prefix).llm.token-chunks
            as: chunk
            node: streaming/{conversation_id}/{message_sequence}
          - topic: \(prefix).llm.run-lifecycle
            as: run
            status: conversations/{conversation_id}/status
            marker: events/{event_name}/{conversation_id}/runs
            stream: streaming/{conversation_id}/{message_sequence}
          - topic: \(prefix).llm.finalized-messages
            as: message
            node: events/{event_name}/{conversation_id}/messages
        """
    }
}

/// `firebridge run`, and what it says of itself.
final class BridgeProcess {
    let child: Child
    let file: String
    private let web = Web()
    private var address: String?

    init(
        _ settings: Settings, in directory: String, name: String = "bridge",
        environment: [String: String]? = nil
    ) throws {
        file = "\(directory)/\(uniqueName(name)).yaml"
        try File.write(file, Array(settings.yaml.utf8))
        child = try Child(
            name, ["run", "--config", file], in: directory, environment: environment)
    }

    /// Writes another configuration into its file, and tells it to read it.
    func reload(_ text: String) throws {
        try File.write(file, Array(text.utf8))
        child.process.send(.hangUp)
    }

    /// Where it tells of itself; nil as long as it has not said so.
    var base: String? {
        if let address { return address }
        guard let line = child.lines.first(where: { $0.contains("\"event\":\"started\"") }),
            let node = try? Node.parse(Array(line.utf8)), let status = node["status"]?.text
        else { return nil }
        address = String(decoding: status, as: UTF8.self)
        return address
    }

    func page(_ path: String) -> (status: Int, body: String)? {
        guard let base, let answer = web.get(base + path, within: .seconds(5)) else { return nil }
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    /// Why `/readyz` says no; empty when it says yes, nil where it does not answer.
    var notReady: [String]? {
        guard let page = page("/readyz"), let node = try? Node.parse(Array(page.body.utf8)) else {
            return nil
        }
        let reasons = node["reasons"]?.children.compactMap { $0.node.text } ?? []
        let texts = reasons.map { String(decoding: $0, as: UTF8.self) }
        return page.status == 200 ? texts : texts + (texts.isEmpty ? ["no reason given"] : [])
    }

    var isReady: Bool { notReady?.isEmpty ?? false }

    var metrics: Metrics { Metrics(page("/metrics")?.body ?? "") }

    var status: Node? { page("/status").flatMap { try? Node.parse(Array($0.body.utf8)) } }

    /// Records behind a partition's end; nil where the bridge does not tell.
    func lag(of partition: TopicPartition) -> Double? {
        let labels = "{topic=\"\(partition.topic)\",partition=\"\(partition.partition)\"}"
        return metrics.samples("firebridge_lag_records").first { $0.labels == labels }?.value
    }

    /// SIGTERM, and how it ends.
    func stop(within limit: Duration = .seconds(60)) throws -> Subprocess.Exit {
        child.process.send(.terminate)
        return try child.exit(within: limit)
    }

    func waitUntilReady(within limit: Duration = .seconds(60)) throws {
        try eventually(
            "the bridge is ready", within: limit,
            details: { "\(notReady ?? ["no answer"])\n\(child.tail)" }
        ) { isReady }
    }

    func waitUntilNotReady(_ reason: String, within limit: Duration = .seconds(60)) throws {
        try eventually(
            "the bridge is not ready: \(reason)", within: limit,
            details: { "\(notReady ?? ["no answer"])\n\(child.tail)" }
        ) { notReady?.contains { $0.contains(reason) } ?? false }
    }
}

/// The text of `/metrics`.
struct Metrics {
    let lines: [Substring]

    init(_ text: String) { lines = text.split(separator: "\n") }

    /// The samples of a family: labels as they stand, and the value.
    func samples(_ name: String) -> [(labels: String, value: Double)] {
        lines.compactMap { line in
            guard line.hasPrefix(name), let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { return nil }
            let rest = line[..<space].dropFirst(name.count)
            guard rest.isEmpty || rest.first == "{" else { return nil }
            return (String(rest), value)
        }
    }

    /// The sum over the samples whose labels contain all of these.
    func sum(_ name: String, _ labels: String...) -> Double {
        samples(name).filter { sample in labels.allSatisfy { sample.labels.contains($0) } }
            .reduce(0) { $0 + $1.value }
    }

    /// The families that are declared.
    var families: Set<String> {
        Set(
            lines.filter { $0.hasPrefix("# TYPE ") }.compactMap {
                $0.split(separator: " ").dropFirst(2).first.map(String.init)
            })
    }
}
