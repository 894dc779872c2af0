/// The mappings, checked against one another and sorted into sets.
public struct MirrorPlan: Sendable, CustomStringConvertible {
    /// The mappings, one a topic.
    public let mappings: [Mapping]
    /// The sets: topics that write the same streams, and every other topic by itself.
    public let sets: [TopicSet]
    /// How many keys the path in `database.url` has: they count where the database counts levels.
    public let rootDepth: Int
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

    /// The longest root below which the bridge's own state still has room.
    public static let rootDepthMax = Key.depthMax - StateLayout.levels

    /// Checks the mappings against one another.
    ///
    /// - Parameter rootDepth: How many keys the path in `database.url` has.
    public init(mappings: [Mapping], rootDepth: Int = 0) throws(PlanError) {
        let problems = Self.problems(of: mappings, below: rootDepth)
        guard problems.isEmpty else { throw PlanError(problems: problems) }
        self.rootDepth = rootDepth
        var setKeys: [String] = []
        var members: [String: [String]] = [:]
        var streams: [String: Template] = [:]
        for mapping in mappings {
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
    var nodes: [(key: String, template: Template, kind: NodeKind)] {
        switch self {
        case .chunk(let node, _): [("node", node, .stream)]
        case .run(let status, let marker, let stream, _):
            [
                status.map { ("status", $0, .status) }, marker.map { ("marker", $0, .marker) },
                stream.map { ("stream", $0, .stream) },
            ].compactMap { $0 }
        case .message(let node, _): [("node", node, .message)]
        case .value(let value):
            [("node", value.node, value.write == .merge ? .mergedValue : .value)]
        }
    }
}

/// What stands at a node of the tree.
enum NodeKind {
    case stream, status, marker, message, value, mergedValue

    /// How far what is written there goes below the node: where that is the record's choice, as
    /// far as it goes at the least.
    var levels: Int {
        switch self {
        case .stream: 3  // `chunks/0/content`
        case .status: 2  // `error/code`
        case .message: 2  // `message` and what is in it
        case .marker: 1  // `runId`
        case .mergedValue: 1
        case .value: 0
        }
    }
}

// MARK: - What mappings must not do

extension MirrorPlan {
    /// Everything that is wrong with mappings.
    ///
    /// - Parameters:
    ///   - numbers: What each is called where some have been left out; their places by default.
    ///   - rootDepth: How many keys the path in `database.url` has.
    public static func problems(
        of mappings: [Mapping], numbers: [Int]? = nil, below rootDepth: Int = 0
    ) -> [PlanError.Problem] {
        var problems: [PlanError.Problem] = []
        var topics: Set<String> = []
        var nodes: [(number: Int, key: String, template: Template, kind: NodeKind)] = []
        for (index, mapping) in mappings.enumerated() {
            let number = numbers?[index] ?? index
            func complain(_ key: String, _ message: String) {
                problems.append(.init(mapping: number, key: key, message: message))
            }
            if !topics.insert(mapping.topic).inserted {
                complain(
                    "topic",
                    "topic '\(mapping.topic)' has a mapping already: expected one a topic")
            }
            for (key, template, kind) in mapping.form.nodes {
                for reason in Self.problems(of: template, kind, of: mapping, below: rootDepth) {
                    complain(key, reason)
                }
                for other in nodes where template.overlaps(other.template) {
                    let shared =
                        kind == .stream && other.kind == .stream
                        && template.description == other.template.description
                    guard !shared else { continue }
                    complain(
                        key,
                        "'\(template)' and '\(other.template)' (mappings[\(other.number)]."
                            + "\(other.key)) can be one node or one above the other: expected nodes "
                            + "apart")
                }
                nodes.append((number, key, template, kind))
            }
        }
        return problems
    }

    /// What is wrong with a template by itself.
    private static func problems(
        of template: Template, _ kind: NodeKind, of mapping: Mapping, below rootDepth: Int
    ) -> [String] {
        var problems: [String] = []
        if let reason = placeProblem(template, kind, of: mapping) { problems.append(reason) }
        if template.segments[0].canBecome(Array("_firebridge".utf8)) {
            problems.append(
                "'\(template)' can reach _firebridge, the bridge's own state: expected a literal "
                    + "first segment")
        }
        let depth = rootDepth + template.segments.count + kind.levels
        if depth > Key.depthMax {
            let root = rootDepth > 0 ? " (\(rootDepth) of them in database.url)" : ""
            let below =
                kind.levels > 0 ? ", what is written below '\(template)' included" : ""
            problems.append(
                "expected at most \(Key.depthMax) levels\(below), found \(depth)\(root): shorten "
                    + "the path")
        }
        // The whole template is one key there: set by set, fences and ledger stand under it.
        let bytes = Key.escape(Array(template.description.utf8)).count
        if kind == .stream, bytes > Key.bytesMax {
            problems.append(
                "expected at most \(Key.bytesMax) bytes, '/' and '%' counted as three each (the "
                    + "stream's path is one key of _firebridge), found \(bytes): shorten the path")
        }
        return problems
    }

    private static func placeProblem(
        _ template: Template, _ kind: NodeKind, of mapping: Mapping
    ) -> String? {
        if kind == .stream {
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
        if kind == .status, template.fieldNames.contains("event_name") {
            let pointer = mapping.fields["event_name"]?.description ?? "/event_context/event_name"
            return "expected no {event_name}, which only markers have, found '\(template)': leave "
                + "it out, or take the record's own text by {\(pointer)}"
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
