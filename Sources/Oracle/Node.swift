public import JSON

/// A node of the database in its logical form: an array is an object of its indexes, a null is an
/// absent node, and nothing is empty. So an absent node is `nil`, never a case.
public indirect enum Node: Hashable, Sendable {
    /// Children by key. Keys are bytes: Swift strings would merge the twins of é.
    case object([[UInt8]: Node])
    /// UTF-8 text.
    case string([UInt8])
    /// A number as it was written, every digit kept.
    case number([UInt8])
    /// A truth value.
    case bool(Bool)

    /// A text.
    public static func text(_ text: String) -> Node { .string(Array(text.utf8)) }

    /// An object of these members, those that are absent left out; nil where none is left.
    public static func object(of members: [(String, Node?)]) -> Node? {
        var children: [[UInt8]: Node] = [:]
        for (name, node) in members { children[Array(name.utf8)] = node }
        return children.isEmpty ? nil : .object(children)
    }

    /// The child of that key.
    public subscript(key: [UInt8]) -> Node? {
        guard case .object(let children) = self else { return nil }
        return children[key]
    }

    /// The child of that key.
    public subscript(key: String) -> Node? { self[Array(key.utf8)] }

    /// The node at a path below this one.
    public func at(_ path: some Sequence<[UInt8]>) -> Node? {
        var node = self
        for key in path {
            guard let child = node[key] else { return nil }
            node = child
        }
        return node
    }

    /// The children in byte order of their keys; none where the node is a leaf.
    public var children: [(key: [UInt8], node: Node)] {
        guard case .object(let children) = self else { return [] }
        return children.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
            ($0.key, $0.value)
        }
    }

    /// The text of a string.
    public var text: [UInt8]? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}

extension Node {
    /// Reads a value of a parsed text.
    ///
    /// - Parameter key: what becomes of a member's name; the names as they stand by default.
    public init?(
        _ tape: JSONTape, _ value: Int = 0, key: ([UInt8]) -> [UInt8] = { $0 }
    ) {
        switch tape.kind(value) {
        case .null: return nil
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .string: self = .string(tape.text(value))
        case .number: self = .number(Array(tape.raw(value)))
        case .array:
            var children: [[UInt8]: Node] = [:]
            for (index, element) in tape.elements(of: value).enumerated() {
                children[Array(String(index).utf8)] = Node(tape, element, key: key)
            }
            guard !children.isEmpty else { return nil }
            self = .object(children)
        case .object:
            var children: [[UInt8]: Node] = [:]
            for (name, member) in tape.members(of: value) {
                children[key(tape.text(name))] = Node(tape, member, key: key)
            }
            guard !children.isEmpty else { return nil }
            self = .object(children)
        }
    }

    /// Reads a JSON text; nil where it says that nothing is there.
    public static func parse(_ json: [UInt8]) throws(JSONError) -> Node? {
        Node(try JSONParser().parse(json))
    }

    /// The node as JSON, keys in byte order.
    public var json: [UInt8] {
        var out: [UInt8] = []
        append(to: &out)
        return out
    }

    private func append(to out: inout [UInt8]) {
        switch self {
        case .string(let text): out.appendJSONString(text)
        case .number(let digits): out += digits
        case .bool(let truth): out += (truth ? "true" : "false").utf8
        case .object:
            var separator = UInt8(ascii: "{")
            for (key, child) in children {
                out.append(separator)
                out.appendJSONString(key)
                out.append(UInt8(ascii: ":"))
                child.append(to: &out)
                separator = UInt8(ascii: ",")
            }
            out.append(UInt8(ascii: "}"))
        }
    }
}
