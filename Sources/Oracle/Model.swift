internal import JSON

/// The final tree that the contract demands of these records, whatever happens on the way: with the
/// default mappings, nothing cleaned up and nothing stalled, `_firebridge` left out. Written from
/// the contract alone and apart from the core, so that neither can repeat the other's fault.
///
/// - Parameter records: valid records; inside each topic in the topic's order. Between topics any
///   order gives the same tree.
/// - Parameter byArrival: whether the mapping of chunks says `index: arrival`.
public func expectedTree(of records: some Sequence<LogRecord>, byArrival: Bool = false) -> Node? {
    var model = Model(byArrival: byArrival)
    for record in records { model.apply(record) }
    return model.tree
}

/// The event nodes that a record writes, each of which every listener is to see.
public func events(of record: LogRecord) -> [(path: [[UInt8]], value: Node?)] {
    var model = Model()
    model.apply(record)
    return model.eventPaths.map { ($0, model.settled.at($0)) }
}

/// Contract section 2, one rule a method.
struct Model {
    /// What decides between two activities: the greater one stays.
    private struct Rank: Comparable {
        var sequence: Int64
        var since: Instant
        var isResting: Bool

        static func < (a: Rank, b: Rank) -> Bool {
            (a.sequence, a.since, a.isResting ? 1 : 0) < (b.sequence, b.since, b.isResting ? 1 : 0)
        }
    }

    private let byArrival: Bool
    private let parser = JSONParser()
    private var ranks: [[UInt8]: Rank] = [:]
    private var streams: [[[UInt8]]: [[UInt8]: Run]] = [:]
    /// Status and event nodes.
    private(set) var settled = Node.object([:])
    private(set) var eventPaths: [[[UInt8]]] = []

    init(byArrival: Bool = false) { self.byArrival = byArrival }

    /// The runs of each stream, from the oldest to the newest.
    var runsByAge: [[[UInt8]]: [Run]] {
        streams.mapValues { $0.values.sorted(by: Run.isOlder) }
    }

    /// The whole tree, nil where it is empty.
    var tree: Node? {
        var tree = settled
        for (path, runs) in streams {
            guard let newest = runs.values.max(by: Run.isOlder) else { continue }
            tree.set(["streaming"].map(bytes) + path, newest.node)
        }
        return tree == .object([:]) ? nil : tree
    }

    mutating func apply(_ record: LogRecord) {
        guard let fields = Fields(record.value, parser: parser),
            let id = fields.words("conversation_id") ?? record.key
        else { return }
        let conversation = key(of: id)
        let kafkaTime = record.timestamp.map { bytes(Instant.text(milliseconds: $0)) } ?? []
        switch record.topic {
        case LogRecord.chunks: applyChunk(fields, conversation, kafkaTime)
        case LogRecord.runs:
            if fields.text("state") != nil { applyActivity(fields, conversation, kafkaTime) }
            if fields.text("status") != nil { applyMarker(fields, conversation, kafkaTime) }
        case LogRecord.messages: applyMessage(fields, conversation)
        default: break
        }
    }

    private mutating func applyChunk(_ chunk: Fields, _ conversation: [UInt8], _ kafkaTime: [UInt8])
    {
        guard let sequence = chunk.integer("message_sequence"), let run = chunk.text("run_id")
        else { return }
        let time = chunk.text("timestamp") ?? kafkaTime
        let reason = chunk.text("finish_reason")
        let isError = reason == bytes("error")
        let end = Run.End(
            isError: isError, finishedAt: time,
            message: isError ? chunk.words("error_message") ?? bytes("failed") : nil)
        let node = Node.object(of: [
            ("content", .string(chunk.text("content") ?? [])),
            ("type", .string(chunk.text("type") ?? bytes("STREAM_CHUNK_TYPE_TEXT"))),
            ("timestamp", .string(time)),
            ("is_final", .bool(chunk.isTrue("is_final"))),
            ("finish_reason", reason.map(Node.string)),
        ])
        let byArrival = byArrival
        change(run, of: conversation, sequence) {
            $0.add(
                chunk: node!, given: chunk.integer("chunk_index"), byArrival: byArrival, time: time,
                end: chunk.isTrue("is_final") ? end : nil)
        }
    }

    private mutating func applyActivity(
        _ activity: Fields, _ conversation: [UInt8], _ kafkaTime: [UInt8]
    ) {
        guard let state = activity.text("state"), let sequence = activity.integer("seq")
        else { return }
        let since = activity.text("since") ?? kafkaTime
        let resting = ["IDLE", "ERROR"].map { bytes("CONVERSATION_ACTIVITY_STATE_\($0)") }
        let rank = Rank(
            sequence: sequence, since: instant(since), isResting: resting.contains(state))
        if let held = ranks[conversation], rank < held { return }
        ranks[conversation] = rank
        settled.set(
            [bytes("conversations"), conversation, bytes("status")],
            .object(of: [
                ("state", .string(state)),
                ("run_id", activity.text("run_id").map(Node.string)),
                ("seq", .text(String(sequence))),
                ("since", .string(since)),
                ("error", activity.node("error")),
            ]))
    }

    private mutating func applyMarker(
        _ marker: Fields, _ conversation: [UInt8], _ kafkaTime: [UInt8]
    ) {
        guard let status = marker.text("status"), let run = marker.text("run_id") else { return }
        let context = marker.object("event_context")
        writeEvent(
            named: context?.text("event_name"), conversation, "runs",
            .object(of: [("runId", .string(run)), ("status", .string(status))]))
        guard let sequence = marker.integer("message_sequence") else { return }
        let time = context?.text("emitted_at") ?? kafkaTime
        let isError = status != bytes("completed")
        let message =
            marker.object("error")?.words("message") ?? marker.words("error_message") ?? status
        change(run, of: conversation, sequence) {
            if status == bytes("started") {
                $0.start(at: time)
            } else {
                $0.finish(
                    by: Run.End(
                        isError: isError, finishedAt: time, message: isError ? message : nil))
            }
        }
    }

    private mutating func applyMessage(_ message: Fields, _ conversation: [UInt8]) {
        writeEvent(
            named: message.object("event_context")?.text("event_name"), conversation, "messages",
            .object(of: [
                ("message", message.node("message")),
                ("eventContext", message.node("event_context")),
            ]))
    }

    private mutating func writeEvent(
        named name: [UInt8]?, _ conversation: [UInt8], _ kind: String, _ value: Node?
    ) {
        guard let name else { return }
        let path = [bytes("events"), eventKey(name), conversation, bytes(kind)]
        settled.set(path, value)
        eventPaths.append(path)
    }

    private mutating func change(
        _ run: [UInt8], of conversation: [UInt8], _ sequence: Int64, _ body: (inout Run) -> Void
    ) {
        body(
            &streams[[conversation, bytes(String(sequence))], default: [:]][
                run, default: Run(id: run)])
    }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// `llm.v1.RunEvent` → `llm_v1_runevent`: a scalar outside `[a-z0-9_]` becomes one underscore.
private func eventKey(_ name: [UInt8]) -> [UInt8] {
    String(decoding: name, as: UTF8.self).lowercased().unicodeScalars.map { scalar in
        switch scalar {
        case "a"..."z", "0"..."9", "_": UInt8(scalar.value)
        default: UInt8(ascii: "_")
        }
    }
}

extension Node {
    /// Puts a value at a path; nil removes it, and parents left without children go with it.
    public mutating func set(_ path: [[UInt8]], _ value: Node?) {
        if !change(path[...], value) { self = .object([:]) }
    }

    /// Says whether anything is left of the node.
    private mutating func change(_ path: ArraySlice<[UInt8]>, _ value: Node?) -> Bool {
        guard let key = path.first else {
            if let value { self = value }
            return value != nil
        }
        var children: [[UInt8]: Node] = [:]
        if case .object(let old) = self { children = old }
        // Held once, or all children would be copied for every write.
        self = .bool(false)
        var child = children.removeValue(forKey: key) ?? .object([:])
        if child.change(path.dropFirst(), value) { children[key] = child }
        guard !children.isEmpty else { return false }
        self = .object(children)
        return true
    }
}
