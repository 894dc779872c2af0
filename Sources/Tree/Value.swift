/// What stands at a place of the tree: nothing, a leaf, or a node with children.
///
/// A value is canonical: a node has at least one child and none of its children is null; a number
/// that is an integer of 64 bits is `int`, whatever way it was written (`7`, `7.0`, `7e0`).
///
/// A priority is a case of its own, a boxed pair, so that values without one stay as small as they
/// are. Code that looks at what a value is asks `plain`.
public enum Value: Equatable, Sendable {
    /// Nothing: an absent node.
    case null
    /// A leaf that is true or false.
    case bool(Bool)
    /// A leaf that is an integer of 64 bits.
    case int(Int64)
    /// A leaf that is any other finite number. Use `Value.number`, which picks the case.
    case double(Double)
    /// A leaf that is a text, UTF-8.
    case string([UInt8])
    /// A node with children, at least one. Use `Value.node`, which turns none into null.
    case object(Children)
    /// A leaf or node that has a priority. Use `Value.with(priority:)`: the value is neither null
    /// nor has itself a priority, and the priority is a number or a text.
    indirect case prioritized(Value, priority: Value)

    /// The value of a finite number: `int` where it is an integer of 64 bits.
    public static func number(_ number: Double) -> Value {
        precondition(number.isFinite, "the tree holds finite numbers only")
        guard number.magnitude < 0x1p63 else { return .double(number) }
        let integer = Int64(number)
        return Double(integer) == number ? .int(integer) : .double(number)
    }

    /// The node with these children, in any order; of a repeated name the last one counts.
    public static func node(_ children: some Sequence<(name: [UInt8], value: Value)>) -> Value {
        node(Children(children.map { Children.Entry(key: ChildKey($0.name), value: $0.value) }))
    }

    /// The node with these children, null where there are none.
    public static func node(_ children: Children) -> Value {
        children.isEmpty ? .null : .object(children)
    }

    /// Whether nothing stands there.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The children; none for a leaf.
    public var children: Children {
        switch self {
        case .object(let children): children
        case .prioritized(.object(let children), _): children
        default: Children()
        }
    }

    /// Whether it is a node with children.
    public var isObject: Bool {
        switch self {
        case .object, .prioritized(.object, _): true
        default: false
        }
    }

    /// The child of that name, null where there is none.
    public subscript(name: [UInt8]) -> Value {
        switch self {
        case .object(let children), .prioritized(.object(let children), _):
            children[ChildKey(name)]
        default: .null
        }
    }

    /// What stands at a path below. A path that ends in `.priority` leads to the priority.
    public subscript(path: Path) -> Value {
        var value = self
        for segment in path.segments {
            switch value {
            case .object(let children): value = children[ChildKey(segment)]
            case .prioritized(_, let priority) where isPriority(segment): value = priority
            case .prioritized(.object(let children), _): value = children[ChildKey(segment)]
            default: return .null
            }
        }
        return value
    }

    /// The value with each child that is a node replaced by `true`, without priorities.
    public var shallow: Value {
        guard case .object(let children) = plain else { return plain }
        let entries = children.map { key, value in
            Children.Entry(key: key, value: value.isObject ? .bool(true) : value.plain)
        }
        return .object(Children(entries))
    }

    /// How many leaves it has, itself included.
    public var leafCount: Int {
        switch self {
        case .null: 0
        case .object(let children): children.reduce(0) { $0 + $1.value.leafCount }
        case .prioritized(let value, _): value.leafCount
        default: 1
        }
    }

    /// Puts a value at a path below, in place. A leaf on the way becomes a node and keeps its
    /// priority; nodes left without children vanish; removing something below a leaf changes
    /// nothing. A path that ends in `.priority` sets the priority of what stands there.
    public mutating func set(_ value: consuming Value, at path: Path) {
        set(value, at: path.segments, from: 0)
    }

    mutating func set(_ value: consuming Value, at names: [[UInt8]], from depth: Int) {
        guard depth < names.count else {
            self = value
            return
        }
        if depth == names.count - 1, isPriority(names[depth]) {
            self = with(priority: value)
            return
        }
        if case .prioritized(var inner, let priority) = self {
            self = .null
            inner.set(value, at: names, from: depth)
            self = inner.with(priority: priority)
            return
        }
        guard case .object(var children) = self else {
            guard !value.isNull else { return }
            let chain = Value.chain(names, from: depth, value)
            if !chain.isNull { self = chain }
            return
        }
        self = .null  // so that `children` is the only reference and changes in place
        children.set(value, at: names, from: depth)
        self = .node(children)
    }

    /// Puts children beside those that stand at the path below, in place: what a snapshot is read
    /// back by.
    mutating func add(_ added: consuming Children, at names: [[UInt8]], from depth: Int) {
        if case .prioritized(var inner, let priority) = self {
            self = .null
            inner.add(added, at: names, from: depth)
            self = inner.with(priority: priority)
            return
        }
        guard case .object(var children) = self else {
            set(.node(added), at: names, from: depth)
            return
        }
        self = .null  // so that `children` is the only reference and changes in place
        if depth == names.count {
            for (key, value) in added { children.set(value, at: [key.bytes], from: 0) }
        } else {
            children.add(added, at: names, from: depth)
        }
        self = .node(children)
    }

    /// Nodes with a single child each, named from `depth` on, and the value at their end. Null for
    /// a priority: there is nothing yet that could have it.
    static func chain(_ names: [[UInt8]], from depth: Int, _ value: consuming Value) -> Value {
        if let last = names.last, isPriority(last) { return .null }
        for name in names[depth...].reversed() {
            value = .object(Children([Children.Entry(key: ChildKey(name), value: value)]))
        }
        return value
    }
}

extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A leaf written as `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A leaf written as an integer.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A leaf written as a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A leaf written as a text.
    public init(stringLiteral value: String) { self = .string(Array(value.utf8)) }
    /// Nothing, written as `nil`.
    public init(nilLiteral: ()) { self = .null }
    /// A node written as a dictionary.
    public init(dictionaryLiteral children: (String, Value)...) {
        self = .node(children.map { (name: Array($0.0.utf8), value: $0.1) })
    }
}

extension Value: CustomStringConvertible {
    /// Compact JSON without array coercion.
    public var description: String { String(decoding: json(.export), as: UTF8.self) }
}
