public import JSON

/// Why a JSON text cannot be stored.
public struct ValueError: Error, Equatable, Sendable {
    /// What is wrong.
    public enum Kind: Equatable, Sendable {
        /// A member name that is empty or has a forbidden character.
        case key
        /// A member name longer than the limit.
        case keyTooLong
        /// A place deeper than the limit.
        case tooDeep
        /// A string longer than the limit.
        case stringTooLong
        /// A number that no double holds.
        case number
        /// A server value that is not known.
        case serverValue
        /// `.value` beside children, or a `.value` that is not a leaf.
        case exportForm
        /// A priority that is neither a number nor a text nor null.
        case priority
    }

    /// What is wrong.
    public var kind: Kind
    /// Where, in bytes from the beginning of the text.
    public var offset: Int

    /// Makes an error.
    public init(_ kind: Kind, at offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

/// Makes values of parsed JSON.
///
/// Arrays become nodes, nulls and empty nodes vanish, `{".value": …}` is its value, `.priority` its
/// priority, `{".sv": …}` becomes what the server says. It keeps names and short texts
/// that it met lately, so one decoder should live as long as its owner.
public struct ValueDecoder {
    /// What the server puts for a server value.
    public struct ServerValues {
        /// `{".sv": "timestamp"}`: milliseconds since 1970.
        public var now: Int64
        /// What stands at a path now: `{".sv": {"increment": n}}` adds to it.
        public var current: (Path) -> Value

        /// Makes the server's side of server values.
        public init(now: Int64, current: @escaping (Path) -> Value) {
            self.now = now
            self.current = current
        }
    }

    private let limits: TreeLimits
    private var interner = Interner()
    private var packer = LeafPacker()
    private var trail: [[UInt8]] = []

    /// A decoder that refuses what the limits forbid.
    public init(limits: TreeLimits = TreeLimits()) { self.limits = limits }

    /// The value of a JSON value that is to stand at `path`, which may be a priority's.
    ///
    /// - Parameter server: nil refuses server values.
    public mutating func decode(
        _ tape: JSONTape, _ index: Int = 0, at path: Path = .root, server: ServerValues? = nil
    ) throws(ValueError) -> Value {
        trail = path.segments
        guard path.isPriorityPlace else { return try decode(tape, index, server) }
        trail.removeLast()
        return try priority(tape, index, server)
    }

    private mutating func decode(
        _ tape: JSONTape, _ index: Int, _ server: ServerValues?
    ) throws(ValueError) -> Value {
        let token = tape.tokens[index]
        switch token.kind {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number: return try number(tape, index)
        case .string:
            guard Int(token.end - token.start) <= limits.stringBytesMax else {
                throw ValueError(.stringTooLong, at: Int(token.start))
            }
            return .string(text(tape, index))
        case .array: return try array(tape, index, server)
        case .object: return try object(tape, index, server)
        }
    }

    /// The path of a member's name, its memory shared with those met lately. A slash at its
    /// beginning or end counts for nothing; a repeated one makes an empty name.
    ///
    /// - Parameter base: what the path is below.
    public mutating func path(_ tape: JSONTape, _ name: Int, below base: Path) -> Path {
        let token = tape.tokens[name]
        let isPlain = !token.isEscaped
        let text = isPlain ? tape.bytes : tape.text(name)
        var range = isPlain ? Int(token.start)..<Int(token.end) : 0..<text.count
        let slash = UInt8(ascii: "/")
        if !range.isEmpty, text[range.lowerBound] == slash { range = range.dropFirst() }
        if !range.isEmpty, text[range.upperBound - 1] == slash { range = range.dropLast() }
        var segments: [[UInt8]] = []
        segments.reserveCapacity(base.depth + 8)
        segments.append(contentsOf: base.segments)
        var start = range.lowerBound
        for index in range where text[index] == slash {
            segments.append(interner.text(text, start..<index))
            start = index + 1
        }
        segments.append(interner.text(text, start..<range.upperBound))
        return Path(segments: segments)
    }

    private mutating func text(_ tape: JSONTape, _ index: Int) -> [UInt8] {
        let token = tape.tokens[index]
        if token.isEscaped { return tape.text(index) }
        return interner.text(tape.bytes, Int(token.start)..<Int(token.end))
    }

    private func number(_ tape: JSONTape, _ index: Int) throws(ValueError) -> Value {
        try Self.number(tape, index)
    }

    private static func number(_ tape: JSONTape, _ index: Int) throws(ValueError) -> Value {
        if let integer = tape.int64(index) { return .int(integer) }
        guard let double = Double(String(decoding: tape.raw(index), as: UTF8.self)), double.isFinite
        else { throw ValueError(.number, at: Int(tape.tokens[index].start)) }
        return .number(double)
    }

    private mutating func array(
        _ tape: JSONTape, _ array: Int, _ server: ServerValues?
    ) throws(ValueError) -> Value {
        var entries: [Children.Entry] = []
        let end = Int(tape.tokens[array].next)
        var index = array + 1
        var place: Int32 = 0
        try descend(tape, array, empty: index == end)
        while index < end {
            let key = ChildKey(index: place)
            trail.append(server == nil ? [] : key.bytes)
            let value = try decode(tape, index, server)
            trail.removeLast()
            if !value.isNull { entries.append(Children.Entry(key: key, value: value)) }
            place += 1
            index = Int(tape.tokens[index].next)
        }
        return .node(Children(entries))
    }

    /// Refuses children at a place where the tree may not grow deeper.
    private func descend(_ tape: JSONTape, _ container: Int, empty: Bool) throws(ValueError) {
        guard empty || trail.count < limits.depthMax else {
            throw ValueError(.tooDeep, at: Int(tape.tokens[container].start))
        }
    }

    private mutating func object(
        _ tape: JSONTape, _ object: Int, _ server: ServerValues?
    ) throws(ValueError) -> Value {
        let end = Int(tape.tokens[object].next)
        var index = object + 1
        if index < end, tape.bytes[Int(tape.tokens[index].start)] == UInt8(ascii: "."),
            let special = try special(tape, object, server)
        {
            return special
        }
        try descend(tape, object, empty: index == end)
        if let leaves = leaves(tape, object) { return .object(leaves) }
        var priority = Value.null
        var entries: [Children.Entry] = []
        entries.reserveCapacity(Int(tape.tokens[object].count))
        while index < end {
            defer { index = Int(tape.tokens[index + 1].next) }
            if tape.isText(index, priorityName) {
                priority = try self.priority(tape, index + 1, server)
                continue
            }
            let name = text(tape, index)
            if name == valueName, let special = try special(tape, object, server) { return special }
            guard limits.allows(key: name) else {
                let tooLong = name.count > limits.keyBytesMax
                throw ValueError(tooLong ? .keyTooLong : .key, at: Int(tape.tokens[index].start))
            }
            trail.append(name)
            let value = try decode(tape, index + 1, server)
            trail.removeLast()
            entries.append(Children.Entry(key: ChildKey(name), value: value))
        }
        let node = Value.node(Children(entries))
        return priority.isNull ? node : node.with(priority: priority)
    }

    /// A node of a few leaves, packed; nil where it is another, or something is wrong with it.
    private mutating func leaves(_ tape: JSONTape, _ object: Int) -> Children? {
        let token = tape.tokens[object]
        guard token.count > 0, Int(token.count) <= PackedLeaves.countMax,
            Int(token.end - token.start) <= 2 * PackedLeaves.bytesMax
        else { return nil }
        packer.begin()
        let end = Int(token.next)
        var index = object + 1
        while index < end {
            let value = tape.tokens[index + 1]
            let name = tape.tokens[index]
            index += 2
            switch value.kind {
            case .null, .object, .array: return nil  // null might take back a repeated name
            case .string:
                guard Int(value.end - value.start) <= limits.stringBytesMax else { return nil }
            case .true, .false, .number: break
            }
            let range = Int(name.start)..<Int(name.end)
            guard !name.isEscaped, range.count <= limits.keyBytesMax,
                packer.add(tape.bytes, range, value: index - 1)
            else { return nil }
        }
        guard !packer.isEmpty else { return nil }
        return packer.finish(tape.bytes) { index, out in
            let token = tape.tokens[index]
            switch token.kind {
            case .true: out.append(PackedTag.true)
            case .false: out.append(PackedTag.false)
            case .number:
                guard let number = try? Self.number(tape, index) else { return false }
                out.append(packed: number)
            case .string:
                if token.isEscaped {
                    let text = tape.text(index)
                    out.append(packedText: text, 0..<text.count)
                } else {
                    out.append(packedText: tape.bytes, Int(token.start)..<Int(token.end))
                }
            default: return false
            }
            return true
        }
    }

    private mutating func priority(
        _ tape: JSONTape, _ index: Int, _ server: ServerValues?
    ) throws(ValueError) -> Value {
        let start = Int(tape.tokens[index].start)
        switch tape.kind(index) {
        case .null: return .null
        case .number, .string: return try decode(tape, index, server)
        case .object:
            guard tape.member(serverValueName, of: index) != nil, let server else {
                throw ValueError(.priority, at: start)
            }
            trail.append(priorityName)
            let value = try decode(tape, index, server)
            trail.removeLast()
            return value
        case .true, .false, .array: throw ValueError(.priority, at: start)
        }
    }

    /// The value of `{".value": leaf[, ".priority": p]}` and `{".sv": …}`; nil for other objects.
    private mutating func special(
        _ tape: JSONTape, _ object: Int, _ server: ServerValues?
    ) throws(ValueError) -> Value? {
        var found: (name: [UInt8], value: Int)?
        var priorityIndex: Int?
        var others = 0
        for (name, value) in tape.members(of: object) {
            let text = tape.text(name)
            if text == valueName || text == serverValueName {
                found = (text, value)
            } else if text == priorityName {
                priorityIndex = value
            } else {
                others += 1
            }
        }
        guard let found else { return nil }
        let start = Int(tape.tokens[found.value].start)
        guard others == 0 else { throw ValueError(.exportForm, at: start) }
        if found.name == serverValueName {
            guard let server else { throw ValueError(.serverValue, at: start) }
            return try serverValue(tape, found.value, server)
        }
        if tape.kind(found.value) == .object, tape.member(serverValueName, of: found.value) == nil {
            throw ValueError(.exportForm, at: start)
        }
        let value = try decode(tape, found.value, server)
        guard let priorityIndex else { return value }
        return value.with(priority: try priority(tape, priorityIndex, server))
    }

    private func serverValue(
        _ tape: JSONTape, _ index: Int, _ server: ServerValues
    ) throws(ValueError) -> Value {
        if tape.kind(index) == .string, tape.isText(index, Array("timestamp".utf8)) {
            return .int(server.now)
        }
        guard let amount = tape.member(Array("increment".utf8), of: index),
            tape.kind(amount) == .number
        else { throw ValueError(.serverValue, at: Int(tape.tokens[index].start)) }
        let delta = try number(tape, amount)
        return server.current(Path(segments: trail)).adding(delta)
    }
}

private let valueName = Array(".value".utf8)
private let serverValueName = Array(".sv".utf8)

extension Value {
    /// The sum of two numbers: integers add up to an integer, or to a double where that does not
    /// fit 64 bits. What is no number counts for nothing.
    func adding(_ delta: Value) -> Value {
        switch (plain, delta) {
        case (.int(let a), .int(let b)):
            let (sum, overflow) = a.addingReportingOverflow(b)
            return overflow ? .number(Double(a) + Double(b)) : .int(sum)
        case (.int(let a), .double(let b)): return .finite(Double(a) + b)
        case (.double(let a), .int(let b)): return .finite(a + Double(b))
        case (.double(let a), .double(let b)): return .finite(a + b)
        default: return delta
        }
    }

    /// A sum that may have left the range of doubles: then the greatest of them.
    private static func finite(_ sum: Double) -> Value {
        let greatest = Double.greatestFiniteMagnitude
        return .number(Swift.min(Swift.max(sum, -greatest), greatest))
    }
}
