/// A YAML document as nodes. What a configuration never needs is refused, so that no file can make
/// the bridge work without end: depth, size, tags, several documents.
struct YAMLParser {
    /// The largest file, in bytes.
    static let bytesMax = 1 << 20
    /// The deepest nesting.
    static let depthMax = 32
    /// The most values, each alias counted as all that it stands for.
    static let nodesMax = 20_000

    private let events: YAMLEvents
    private var anchors: [(name: String, node: Node, weight: Int)] = []
    private var nodes = 0

    /// Parses a document; nil where there is none (an empty file, or only comments).
    ///
    /// Repeated keys are found too, beside the nodes: they do not hide the errors that follow.
    static func parse(
        _ text: [UInt8], findings: inout Findings
    ) throws(YAMLFailure) -> Node? {
        guard text.count <= bytesMax else {
            throw YAMLFailure(
                line: 1, column: 1,
                message: "expected at most \(bytesMax) bytes, found \(text.count)")
        }
        var parser = Self(events: YAMLEvents(text))
        return try parser.document(&findings)
    }

    private init(events: YAMLEvents) { self.events = events }

    private mutating func document(_ findings: inout Findings) throws(YAMLFailure) -> Node? {
        _ = try events.next()
        let start = try events.next()
        guard case .documentStart = start.event else { return nil }
        guard let root = try node(events.next(), depth: 1, path: "", &findings) else { return nil }
        _ = try events.next()
        let end = try events.next()
        guard case .streamEnd = end.event else {
            throw Self.failure(end, "expected one document, found another")
        }
        return root
    }

    /// The value that begins with an event; nil for the end of a collection.
    private mutating func node(
        _ item: YAMLEvents.Item, depth: Int, path: String, _ findings: inout Findings
    ) throws(YAMLFailure) -> Node? {
        guard depth <= Self.depthMax else {
            throw Self.failure(item, "expected at most \(Self.depthMax) levels")
        }
        guard item.tag == nil else {
            throw Self.failure(item, "expected a value without tag, found \(quote(item.tag ?? ""))")
        }
        let before = nodes
        try count(1, at: item)
        let place = Place.file(line: item.line, column: item.column)
        let node: Node
        switch item.event {
        case .scalar(let text, let isPlain):
            node = Node(content: .scalar(.init(text: text, isPlain: isPlain)), place: place)
        case .alias(let name):
            guard let anchor = anchors.last(where: { sameBytes($0.name, name) }) else {
                throw Self.failure(item, "expected a known anchor, found \(quote("*" + name))")
            }
            try count(anchor.weight, at: item)
            return anchor.node
        case .sequenceStart:
            var elements: [Node] = []
            while let element = try self.node(
                events.next(), depth: depth + 1, path: "\(path)[\(elements.count)]", &findings)
            {
                elements.append(element)
            }
            node = Node(content: .sequence(elements), place: place)
        case .mappingStart:
            let members = try members(depth: depth, path: path, &findings)
            node = Node(content: .mapping(members), place: place)
        default: return nil
        }
        if let anchor = item.anchor { anchors.append((anchor, node, nodes - before)) }
        return node
    }

    private mutating func members(
        depth: Int, path: String, _ findings: inout Findings
    ) throws(YAMLFailure) -> [Node.Member] {
        var members: [Node.Member] = []
        while true {
            let item = try events.next()
            if case .end = item.event { return members }
            guard case .scalar(let name, _) = item.event else {
                throw Self.failure(item, "expected a text as key")
            }
            let place = Place.file(line: item.line, column: item.column)
            let path = path.isEmpty ? name : "\(path).\(name)"
            let first = try events.next()
            guard let value = try node(first, depth: depth + 1, path: path, &findings) else {
                throw Self.failure(item, "expected a value")
            }
            if let first = members.first(where: { sameBytes($0.name, name) }) {
                findings.add(
                    place, path, "expected each key once, found it again\(first.place.after)")
                continue
            }
            members.append(.init(name: name, place: place, value: value))
        }
    }

    private mutating func count(_ more: Int, at item: YAMLEvents.Item) throws(YAMLFailure) {
        nodes += more
        guard nodes <= Self.nodesMax else {
            throw Self.failure(
                item, "expected at most \(Self.nodesMax) values, aliases written out")
        }
    }

    private static func failure(_ item: YAMLEvents.Item, _ message: String) -> YAMLFailure {
        YAMLFailure(line: item.line, column: item.column, message: message)
    }
}

extension Place {
    fileprivate var after: String {
        guard case .file(let line, _) = self else { return "" }
        return " after line \(line)"
    }
}
