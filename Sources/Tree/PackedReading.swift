/// Bytes that are not the packed form of what is wanted.
public struct PackedError: Error, Equatable, Sendable {
    /// Where, in bytes from the beginning.
    public var offset: Int

    /// Makes an error.
    public init(offset: Int) { self.offset = offset }
}

/// Reads the packed form. It shares the memory of texts that it met lately, so one reader should
/// read all there is.
public struct PackedReader {
    private var bytes: [UInt8] = []
    private var index = 0
    private var interner = Interner()
    private let known = PackedTexts.shared.texts
    /// Deeper values are not read: the stack is finite.
    private static let depthMax = 64

    /// A reader of nothing.
    public init() {}

    /// Begins to read other bytes.
    public mutating func begin(_ bytes: [UInt8]) {
        self.bytes = bytes
        index = 0
    }

    /// Whether all has been read.
    public var isAtEnd: Bool { index == bytes.count }

    /// The next byte.
    public mutating func byte() throws(PackedError) -> UInt8 {
        guard index < bytes.count else { throw PackedError(offset: index) }
        defer { index += 1 }
        return bytes[index]
    }

    /// A number of no sign.
    public mutating func varint() throws(PackedError) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw PackedError(offset: index) }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
    }

    /// A number of things of which each takes a byte at least.
    public mutating func count() throws(PackedError) -> Int {
        let number = try varint()
        guard number <= UInt64(bytes.count - index) else { throw PackedError(offset: index) }
        return Int(number)
    }

    private mutating func signed() throws(PackedError) -> Int64 {
        let number = try varint()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    /// So many bytes.
    public mutating func text(_ count: Int) throws(PackedError) -> [UInt8] {
        guard count <= bytes.count - index else { throw PackedError(offset: index) }
        defer { index += count }
        return interner.text(bytes, index..<index + count)
    }

    private func text(numbered number: UInt8) throws(PackedError) -> [UInt8] {
        guard Int(number) < known.count else { throw PackedError(offset: index) }
        return known[Int(number)]
    }

    /// A value.
    public mutating func value() throws(PackedError) -> Value { try value(depth: 0) }

    private mutating func value(depth: Int) throws(PackedError) -> Value {
        guard depth < Self.depthMax else { throw PackedError(offset: index) }
        let tag = try byte()
        if tag & PackedTag.known != 0 { return .string(try text(numbered: tag & 0x7F)) }
        if tag & PackedTag.shortString != 0 { return .string(try text(Int(tag & 0x3F))) }
        switch tag {
        case PackedTag.null: return .null
        case PackedTag.false: return .bool(false)
        case PackedTag.true: return .bool(true)
        case PackedTag.int: return .int(try signed())
        case PackedTag.double:
            var bits: UInt64 = 0
            for shift in stride(from: 0, to: UInt64.bitWidth, by: 8) {
                bits |= UInt64(try byte()) << UInt64(shift)
            }
            let number = Double(bitPattern: bits)
            guard number.isFinite else { throw PackedError(offset: index) }
            return .number(number)
        case PackedTag.string: return .string(try text(try count()))
        case PackedTag.object: return .node(try children(depth: depth))
        case PackedTag.prioritized:
            let value = try value(depth: depth + 1)
            return value.with(priority: try self.value(depth: depth + 1))
        default: throw PackedError(offset: index)
        }
    }

    /// The number of children, and each.
    public mutating func children() throws(PackedError) -> Children { try children(depth: 0) }

    private mutating func children(depth: Int) throws(PackedError) -> Children {
        if let leaves = leaves() { return leaves }
        let count = try count()
        var entries: [Children.Entry] = []
        entries.reserveCapacity(count)
        for _ in 0..<count {
            let key = try key()
            entries.append(Children.Entry(key: key, value: try value(depth: depth + 1)))
        }
        return Children(entries)
    }

    /// A node that stays as it is; nil, and nothing read, where it has to be taken apart.
    private mutating func leaves() -> Children? {
        let start = index
        if (try? skipLeaves()) == true, index - start < PackedLeaves.bytesMax {
            return Children(packed: Array(bytes[start..<index]))
        }
        index = start
        return nil
    }

    private mutating func skipLeaves() throws(PackedError) -> Bool {
        let count = Int(try byte())
        guard (1...PackedLeaves.countMax).contains(count) else { return false }
        var last: [UInt8] = []
        for _ in 0..<count {
            let tag = try byte()
            let name: [UInt8]
            if tag & PackedName.known != 0 {
                name = try text(numbered: tag & 0x7F)
            } else {
                guard (1...PackedName.longest).contains(tag) else { return false }
                name = try text(Int(tag))
                guard LeafPacker.isUsual(name[0]) else { return false }
            }
            guard last.isEmpty || utf16Order(last, name) < 0 else { return false }
            last = name
            guard try skipLeaf() else { return false }
        }
        return true
    }

    private mutating func skipLeaf() throws(PackedError) -> Bool {
        let tag = try byte()
        if tag & PackedTag.known != 0 {
            _ = try text(numbered: tag & 0x7F)
            return true
        }
        var length = 0
        if tag & PackedTag.shortString != 0 {
            length = Int(tag & 0x3F)
        } else {
            switch tag {
            case PackedTag.false, PackedTag.true: break
            case PackedTag.int: _ = try varint()
            case PackedTag.string: length = try count()
            default: return false
            }
        }
        guard length <= bytes.count - index else { return false }
        index += length
        return true
    }

    /// A name.
    public mutating func key() throws(PackedError) -> ChildKey {
        let tag = try byte()
        if tag & PackedName.known != 0 {
            return ChildKey(text: try text(numbered: tag & 0x7F))
        }
        switch tag {
        case PackedName.number:
            guard let number = Int32(exactly: try signed()) else {
                throw PackedError(offset: index)
            }
            return ChildKey(index: number)
        case PackedName.long: return ChildKey(try text(try count()))
        default: return ChildKey(try text(Int(tag)))
        }
    }

    /// A path that was written after another.
    public mutating func path(after last: Path = .root) throws(PackedError) -> Path {
        let shared = try varint()
        guard shared <= UInt64(last.depth) else { throw PackedError(offset: index) }
        var path = Path(segments: Array(last.segments.prefix(Int(shared))))
        for _ in 0..<(try count()) { path.segments.append(try key().bytes) }
        return path
    }

    /// The writes of an update.
    public mutating func update() throws(PackedError) -> Update {
        var writes: [Update.Write] = []
        var last = Path.root
        for _ in 0..<(try count()) {
            last = try path(after: last)
            writes.append(Update.Write(path: last, value: try value()))
        }
        do { return try Update(writes) } catch { throw PackedError(offset: index) }
    }
}
