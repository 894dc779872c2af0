public import Tree

/// What an expression has as its value.
enum RuleValue: Sendable {
    case null
    case bool(Bool)
    case number(Number)
    case string([UInt8])
    /// `auth` and what is in it, or the value of a node with children.
    case object(Value)
    case snapshot(Snapshot)

    /// A number: an integer of 64 bits where it is one.
    enum Number: Equatable, Sendable {
        case int(Int64)
        case double(Double)

        static func of(_ number: Double) -> Number {
            guard number.magnitude < 0x1p63, number == number.rounded(.towardZero) else {
                return .double(number)
            }
            return .int(Int64(number))
        }

        var double: Double {
            switch self {
            case .int(let number): Double(number)
            case .double(let number): number
            }
        }

        static func == (a: Number, b: Number) -> Bool {
            if case .int(let x) = a, case .int(let y) = b { return x == y }
            return a.double == b.double
        }

        static func < (a: Number, b: Number) -> Bool {
            if case .int(let x) = a, case .int(let y) = b { return x < y }
            return a.double < b.double
        }

        /// As it is joined to a string.
        var text: [UInt8] {
            switch self {
            case .int(let number): Array(String(number).utf8)
            case .double(let number) where number.isNaN: Array("NaN".utf8)
            case .double(let number) where number.isInfinite:
                Array((number < 0 ? "-Infinity" : "Infinity").utf8)
            case .double(let number): Array("\(number)".utf8)
            }
        }
    }

    init(_ value: Value) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .number(.int(number))
        case .double(let number): self = .number(.double(number))
        case .string(let text): self = .string(text)
        case .object: self = .object(value)
        case .prioritized(let value, _): self = RuleValue(value)
        }
    }

    /// What it is, for `TypeSet`'s names.
    var type: TypeSet {
        switch self {
        case .null: .null
        case .bool: .bool
        case .number: .number
        case .string: .string
        case .object: .object
        case .snapshot: .snapshot
        }
    }

    /// Strict equality: values of two kinds are never equal.
    static func == (a: RuleValue, b: RuleValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let x), .bool(let y)): x == y
        case (.number(let x), .number(let y)): x == y
        case (.string(let x), .string(let y)): x == y
        case (.object(let x), .object(let y)): x == y
        default: false
        }
    }
}

/// What an expression may have as its value.
struct TypeSet: OptionSet {
    let rawValue: UInt16

    static let string = TypeSet(rawValue: 1)
    static let number = TypeSet(rawValue: 2)
    static let bool = TypeSet(rawValue: 4)
    static let null = TypeSet(rawValue: 8)
    static let object = TypeSet(rawValue: 16)
    static let snapshot = TypeSet(rawValue: 32)
    static let query = TypeSet(rawValue: 64)

    /// The value of a node.
    static let value: TypeSet = [.string, .number, .bool, .null, .object]

    /// What it is, in words.
    var shown: String {
        let names: [(TypeSet, String)] = [
            (.string, "string"), (.number, "number"), (.bool, "boolean"), (.null, "null"),
            (.object, "object"), (.snapshot, "RuleDataSnapshot"), (.query, "query"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: " or ")
    }
}

/// `data`, `newData`, `root`: a place in the database as it is, or as it would be.
struct Snapshot: Sendable {
    /// The whole database as it would be, rather than as it is.
    var isNew: Bool
    var path: [[UInt8]]

    func child(_ text: [UInt8]) -> Snapshot {
        Snapshot(isNew: isNew, path: path + Path(text).segments)
    }
}

/// The query of a read, as rules see it.
public struct RuleQuery: Sendable {
    /// By what the children are ordered.
    public enum Order: Equatable, Sendable {
        case key, value, priority
        /// By what stands at this path of each child.
        case child([UInt8])
    }

    /// By what the children are ordered.
    public var order = Order.key
    /// The lower bound.
    public var startAt = Value.null
    /// The upper bound.
    public var endAt = Value.null
    /// The one value that is asked for.
    public var equalTo = Value.null
    /// The most children from the beginning.
    public var limitToFirst: Int?
    /// The most children from the end.
    public var limitToLast: Int?

    /// A read without any.
    public init() {}
}
