internal import JSON
internal import Tree

// A query as sessions send it: `sp` `sn` `sin` start, `ep` `en` `ein` end, `l` limit, `vf` its
// side, `i` index.
extension Query {
    /// The query of an object; nil where it shows everything.
    init?(_ tape: JSONTape, _ object: Int) throws(Refusal) {
        guard tape.kind(object) == .object else { throw Refusal(400, "q must be an object") }
        func member(_ name: StaticString) -> Int? {
            tape.member(Array("\(name)".utf8), of: object)
        }
        order = .priority
        if let index = member("i") { order = try Self.order(tape, index) }
        let startsAt = member("sp")
        if let startsAt {
            start = try Self.bound(tape, startsAt, member("sn"), member("sin"), order)
        }
        if let endsAt = member("ep") {
            end = try Self.bound(tape, endsAt, member("en"), member("ein"), order)
        }
        if let text = member("l") {
            guard let count = tape.int64(text).flatMap({ Int(exactly: $0) }), count >= 1 else {
                throw Refusal(400, "l must be a positive integer")
            }
            let side = member("vf").map { tape.text($0) }
            let isFirst = side.map { $0 == Array("l".utf8) } ?? (startsAt != nil)
            limit = isFirst ? .first(count) : .last(count)
        }
        // An order alone shows everything: clients sort by themselves.
        if start == nil, end == nil, limit == nil { return nil }
    }

    private static func order(_ tape: JSONTape, _ index: Int) throws(Refusal) -> Order {
        guard tape.kind(index) == .string else { throw Refusal(400, "i must be a string") }
        let name = tape.text(index)
        switch String(decoding: name, as: UTF8.self) {
        case ".key": return .key
        case ".value": return .value
        case ".priority": return .priority
        default:
            let path = Path(name)
            let limits = TreeLimits()
            guard path.depth > 0, path.segments.allSatisfy({ limits.allows(key: $0) }) else {
                throw Refusal(400, "i must be .key, .value, .priority or a path")
            }
            return .child(path)
        }
    }

    private static func bound(
        _ tape: JSONTape, _ value: Int, _ name: Int?, _ inclusive: Int?, _ order: Order
    ) throws(Refusal) -> Bound {
        var decoder = ValueDecoder()
        guard tape.kind(value) != .object, tape.kind(value) != .array,
            let leaf = try? decoder.decode(tape, value)
        else { throw Refusal(400, "Constraint index field must be a JSON primitive") }
        let isInclusive = inclusive.map { tape.kind($0) != .false } ?? true
        var bound = Bound(value: leaf, key: nil, inclusive: isInclusive)
        if order == .key {
            guard case .string(let key) = leaf else {
                throw Refusal(400, "a bound must be a string when ordering by key")
            }
            bound.key = Self.key(key)
        } else if let name {
            guard tape.kind(name) == .string else {
                throw Refusal(400, "Constraint key field must be a string")
            }
            bound.key = Self.key(tape.text(name))
        }
        return bound
    }

    private static func key(_ name: [UInt8]) -> BoundKey {
        switch String(decoding: name, as: UTF8.self) {
        case "[MIN_NAME]": .lowest
        case "[MAX_NAME]": .highest
        default: .key(ChildKey(name))
        }
    }
}
