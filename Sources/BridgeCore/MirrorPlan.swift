/// The mappings, checked against one another and sorted into sets.
public struct MirrorPlan: Sendable, CustomStringConvertible {
    /// The mappings, one a topic.
    public let mappings: [Mapping]
    /// The sets: topics that write the same streams, and every other topic by itself.
    public let sets: [TopicSet]
    /// The set of each topic.
    let setOfTopic: [String: Int]

    /// Topics that share fences and lanes because they write the same streams.
    public struct TopicSet: Sendable {
        /// The set's name, one key of the database.
        public let key: [UInt8]
        /// Its topics.
        public let topics: [String]
        /// The streams that its topics write.
        public let stream: Template?
    }

    /// The topics, set by set.
    public var description: String {
        sets.map { $0.topics.joined(separator: " ") }.joined(separator: " | ")
    }

    /// The topics of all mappings.
    public var topics: [String] { mappings.map(\.topic) }

    /// Checks the mappings against one another.
    public init(mappings: [Mapping]) throws(PlanError) {
        var problems: [PlanError.Problem] = []
        var setKeys: [String] = []
        var members: [String: [String]] = [:]
        var streams: [String: Template] = [:]
        var seen: Set<String> = []
        for (index, mapping) in mappings.enumerated() {
            if !seen.insert(mapping.topic).inserted {
                problems.append(
                    .init(
                        mapping: index, key: "topic",
                        message:
                            "topic '\(mapping.topic)' has a mapping already: expected one a topic"
                    ))
                continue
            }
            let name: String
            if let stream = mapping.form.stream {
                name = stream.description
                streams[name] = stream
            } else {
                // No template of a stream has just one segment, so the two kinds never collide.
                name = mapping.topic
            }
            if members[name] == nil { setKeys.append(name) }
            members[name, default: []].append(mapping.topic)
        }
        problems += Self.problems(of: mappings)
        guard problems.isEmpty else { throw PlanError(problems: problems) }
        self.mappings = mappings
        sets = setKeys.map { name in
            TopicSet(
                key: Key.escape(Array(name.utf8)), topics: members[name] ?? [],
                stream: streams[name])
        }
        var setOfTopic: [String: Int] = [:]
        for (index, set) in sets.enumerated() {
            for topic in set.topics { setOfTopic[topic] = index }
        }
        self.setOfTopic = setOfTopic
    }

    /// The contract's three default mappings.
    public static let standard: MirrorPlan = {
        do {
            let stream = try Template("streaming/{conversation_id}/{message_sequence}")
            return try MirrorPlan(mappings: [
                Mapping(topic: "llm.token-chunks", form: .chunk(node: stream, index: .field)),
                Mapping(
                    topic: "llm.run-lifecycle",
                    form: .run(
                        status: try Template("conversations/{conversation_id}/status"),
                        marker: try Template("events/{event_name}/{conversation_id}/runs"),
                        stream: stream, eventName: nil)),
                Mapping(
                    topic: "llm.finalized-messages",
                    form: .message(
                        node: try Template("events/{event_name}/{conversation_id}/messages"),
                        eventName: nil)),
            ])
        } catch {
            preconditionFailure("the default mappings are valid: \(error)")
        }
    }()
}

/// What is wrong with mappings, all at once.
public struct PlanError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One thing that is wrong.
    public struct Problem: Equatable, Sendable {
        /// Which mapping, from 0.
        public var mapping: Int
        /// Which of its keys.
        public var key: String
        /// What was expected and found.
        public var message: String
    }

    /// Everything that is wrong.
    public var problems: [Problem]

    /// One line a problem.
    public var description: String {
        problems.map { "mappings[\($0.mapping)].\($0.key): \($0.message)" }.joined(separator: "\n")
    }
}

extension Mapping.Form {
    /// The streams that records of this form write.
    var stream: Template? {
        switch self {
        case .chunk(let node, _): node
        case .run(_, _, let stream, _): stream
        default: nil
        }
    }

    /// The nodes that records of this form write, by configuration key.
    var nodes: [(key: String, template: Template, isStream: Bool)] {
        switch self {
        case .chunk(let node, _): [("node", node, true)]
        case .run(let status, let marker, let stream, _):
            [
                status.map { ("status", $0, false) }, marker.map { ("marker", $0, false) },
                stream.map { ("stream", $0, true) },
            ].compactMap { $0 }
        case .message(let node, _): [("node", node, false)]
        case .value(let value): [("node", value.node, false)]
        }
    }
}

// MARK: - What mappings must not do

extension MirrorPlan {
    private static func problems(of mappings: [Mapping]) -> [PlanError.Problem] {
        var problems: [PlanError.Problem] = []
        var nodes: [(mapping: Int, key: String, template: Template, isStream: Bool)] = []
        for (index, mapping) in mappings.enumerated() {
            func complain(_ key: String, _ message: String) {
                problems.append(.init(mapping: index, key: key, message: message))
            }
            for (key, template, isStream) in mapping.form.nodes {
                if let reason = Self.placeProblem(template, isStream: isStream, of: mapping) {
                    complain(key, reason)
                }
                if template.segments[0].canBecome(Array("_firebridge".utf8)) {
                    complain(
                        key,
                        "'\(template)' can reach _firebridge, the bridge's own state: expected a "
                            + "literal first segment")
                }
                let levels = isStream ? 3 : 0
                if template.segments.count + levels > Key.depthMax {
                    complain(key, "'\(template)' is deeper than the database allows")
                }
                for other in nodes where template.overlaps(other.template) {
                    let shared =
                        isStream && other.isStream
                        && template.description == other.template.description
                    guard !shared else { continue }
                    complain(
                        key,
                        "'\(template)' and '\(other.template)' (mappings[\(other.mapping)]."
                            + "\(other.key)) can be one node or one above the other: expected nodes "
                            + "apart")
                }
                nodes.append((index, key, template, isStream))
            }
        }
        return problems
    }

    private static func placeProblem(
        _ template: Template, isStream: Bool, of mapping: Mapping
    ) -> String? {
        if isStream {
            let fields = template.segments.joined().compactMap { part -> String? in
                guard case .place(let place) = part else { return nil }
                guard case .field(let name) = place else { return "" }
                return name
            }
            guard fields.sorted() == ["conversation_id", "message_sequence"] else {
                return "expected {conversation_id} and {message_sequence}, once each and nothing "
                    + "else, found '\(template)'"
            }
            return nil
        }
        let known: Set<String>
        switch mapping.form {
        case .value: known = Set(mapping.fields.keys)
        case .run, .message:
            known = ["conversation_id", "event_name", "message_sequence", "run_id"]
        case .chunk: known = ["conversation_id", "message_sequence"]
        }
        guard let stranger = template.fieldNames.subtracting(known).min() else { return nil }
        let hint =
            known.isEmpty
            ? "a name from this mapping's `fields`"
            : known.sorted().map { "{\($0)}" }.joined(separator: ", ")
        return "unknown place {\(stranger)} in '\(template)': expected \(hint)"
    }
}

extension Template {
    /// Whether a node of one can be, or be above, a node of the other.
    func overlaps(_ other: Template) -> Bool {
        zip(segments, other.segments).allSatisfy { $0.canEqual($1) }
    }
}

extension [Template.Part] {
    private var onlyLiteral: [UInt8]? {
        guard count == 1, case .literal(let bytes) = self[0] else { return nil }
        return bytes
    }

    private var head: [UInt8] { if case .literal(let bytes)? = first { bytes } else { [] } }
    private var tail: [UInt8] { if case .literal(let bytes)? = last { bytes } else { [] } }

    func canBecome(_ literal: [UInt8]) -> Bool {
        if let own = onlyLiteral { return own == literal }
        guard literal.starts(with: head) else { return false }
        var rest = literal.dropFirst(head.count)
        guard rest.count >= tail.count, rest.suffix(tail.count).elementsEqual(tail) else {
            return false
        }
        rest = rest.dropLast(tail.count)
        // What stands between two places is found in this order, each as early as it can be.
        for case .literal(let bytes) in dropFirst(head.isEmpty ? 0 : 1).dropLast(
            tail.isEmpty ? 0 : 1)
        {
            guard let range = rest.firstRange(of: bytes) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    func canEqual(_ other: [Template.Part]) -> Bool {
        if let own = onlyLiteral { return other.canBecome(own) }
        if let literal = other.onlyLiteral { return canBecome(literal) }
        // Between its ends each has a place, which can be whatever the other one has there.
        return zip(head, other.head).allSatisfy { $0 == $1 }
            && zip(tail.reversed(), other.tail.reversed()).allSatisfy { $0 == $1 }
    }
}
