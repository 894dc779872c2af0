internal import JSON
internal import Tree
internal import TreeWire

// A query as the parameters of a request.
extension Query {
    /// The parameters that make a query.
    static let names = [
        "orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst",
        "limitToLast",
    ]

    /// The query of a request; nil where it has none.
    init?(_ target: RESTTarget) throws(Refusal) {
        let given = Self.names.filter { target.parameter($0) != nil }
        guard !given.isEmpty else { return nil }
        let parser = JSONParser()
        guard let text = target.parameter("orderBy") else {
            throw Refusal(400, "orderBy must be defined when other query parameters are defined")
        }
        order = try Self.order(text, parser)
        guard !given.contains("limitToFirst") || !given.contains("limitToLast") else {
            throw Refusal(400, "Only one of limitToFirst and limitToLast may be specified")
        }
        if let text = target.parameter("limitToFirst") {
            limit = .first(try Self.limit("limitToFirst", text))
        }
        if let text = target.parameter("limitToLast") {
            limit = .last(try Self.limit("limitToLast", text))
        }
        if let text = target.parameter("equalTo") {
            guard given.allSatisfy({ !$0.hasPrefix("start") && !$0.hasPrefix("end") }) else {
                throw Refusal(
                    400,
                    "equalTo cannot be specified in addition to startAfter, startAt, endAt, or "
                        + "endBefore")
            }
            start = try bound("equalTo", text, inclusive: true, parser)
            end = start
        }
        for (name, inclusive) in [("startAt", true), ("startAfter", false)] {
            guard let text = target.parameter(name) else { continue }
            guard start == nil else {
                throw Refusal(400, "Only one of startAt and startAfter may be specified")
            }
            start = try bound(name, text, inclusive: inclusive, parser)
        }
        for (name, inclusive) in [("endAt", true), ("endBefore", false)] {
            guard let text = target.parameter(name) else { continue }
            guard end == nil || given.contains("equalTo") else {
                throw Refusal(400, "Only one of endAt and endBefore may be specified")
            }
            end = try bound(name, text, inclusive: inclusive, parser)
        }
    }

    private static func order(_ text: [UInt8], _ parser: JSONParser) throws(Refusal) -> Order {
        guard let tape = try? parser.parse(text), tape.kind(0) == .string else {
            throw Refusal(400, "orderBy must be a valid JSON encoded path")
        }
        let name = tape.text(0)
        switch String(decoding: name, as: UTF8.self) {
        case "$key": return .key
        case "$value": return .value
        case "$priority": return .priority
        default:
            let path = Path(name)
            let limits = TreeLimits()
            guard path.depth > 0, path.segments.allSatisfy({ limits.allows(key: $0) }) else {
                throw Refusal(400, "orderBy must be a valid JSON encoded path")
            }
            return .child(path)
        }
    }

    static func limit(_ name: String, _ text: [UInt8]) throws(Refusal) -> Int {
        guard let limit = Int(String(decoding: text, as: UTF8.self)) else {
            throw Refusal(400, "\(name) must be an integer")
        }
        guard limit >= 1 else { throw Refusal(400, "\(name) must be positive") }
        return limit
    }

    /// A bound is a JSON leaf, or a leaf and a key with a comma between.
    private func bound(
        _ name: String, _ text: [UInt8], inclusive: Bool, _ parser: JSONParser
    ) throws(Refusal) -> Bound {
        let list = [UInt8(ascii: "[")] + text + [UInt8(ascii: "]")]
        guard let tape = try? parser.parse(list, depthMax: 2) else {
            throw Refusal(400, "\(name) must be a valid JSON encoded value")
        }
        let parts = Array(tape.elements(of: 0))
        var decoder = ValueDecoder()
        guard (1...2).contains(parts.count), tape.kind(parts[0]) != .object,
            tape.kind(parts[0]) != .array, let value = try? decoder.decode(tape, parts[0])
        else { throw Refusal(400, "Constraint index field must be a JSON primitive") }
        var bound = Bound(value: value, key: nil, inclusive: inclusive)
        if parts.count == 2 {
            guard tape.kind(parts[1]) == .string else {
                throw Refusal(400, "Constraint key field must be a string")
            }
            bound.key = .key(ChildKey(tape.text(parts[1])))
        }
        if order == .key {
            guard case .string(let key) = value else {
                throw Refusal(400, "\(name) must be a string when ordering by key")
            }
            bound.key = .key(ChildKey(key))
        }
        return bound
    }
}
