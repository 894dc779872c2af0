// Small nodes whose children are all leaves, which is what most of a tree is made of, are kept as
// the bytes of their packed form: one piece of memory instead of one for the node and one for each
// text.

/// Walks the packed form of such a node: the number of children, and of each the name and the leaf.
///
/// The bytes are right: they were made, or have been looked through, by `PackedLeaves.init`.
struct PackedLeaves {
    /// More children are kept as entries.
    static let countMax = 16
    /// Longer texts gain nothing.
    static let bytesMax = 512

    let bytes: [UInt8]
    private var index = 1
    private let known = PackedTexts.shared

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var count: Int { Int(bytes[0]) }

    /// A text: one of `PackedTexts`, or bytes of these.
    enum Text {
        case known(Int)
        case own(Range<Int>)
    }

    /// A leaf: a text, or what is no text.
    enum Leaf {
        case text(Text)
        case other(Value)
    }

    /// The name of the next child; nil at the end. Its leaf must be read before the next one.
    mutating func name() -> Text? {
        guard index < bytes.count else { return nil }
        let tag = bytes[index]
        index += 1
        if tag & PackedName.known != 0 { return .known(Int(tag & 0x7F)) }
        defer { index += Int(tag) }
        return .own(index..<index + Int(tag))
    }

    mutating func leaf() -> Leaf {
        let tag = bytes[index]
        index += 1
        if tag & PackedTag.known != 0 { return .text(.known(Int(tag & 0x7F))) }
        if tag & PackedTag.shortString != 0 { return .text(own(Int(tag & 0x3F))) }
        switch tag {
        case PackedTag.false: return .other(.bool(false))
        case PackedTag.true: return .other(.bool(true))
        case PackedTag.int:
            let number = varint()
            return .other(.int(Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)))
        case PackedTag.double:
            var bits: UInt64 = 0
            for shift in 0..<8 { bits |= UInt64(bytes[index + shift]) << UInt64(8 * shift) }
            index += 8
            return .other(.double(Double(bitPattern: bits)))
        default: return .text(own(Int(varint())))
        }
    }

    private mutating func own(_ count: Int) -> Text {
        defer { index += count }
        return .own(index..<index + count)
    }

    private mutating func varint() -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = bytes[index]
            index += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
    }

    func text(_ text: Text) -> [UInt8] {
        switch text {
        case .known(let number): known.texts[number]
        case .own(let range): Array(bytes[range])
        }
    }

    func value(_ leaf: Leaf) -> Value {
        switch leaf {
        case .text(let text): .string(self.text(text))
        case .other(let value): value
        }
    }

    private func isText(_ text: Text, _ other: [UInt8]) -> Bool {
        switch text {
        case .known(let number):
            let text = known.texts[number]
            return isSame(text.span, other.span)
        case .own(let range): return isSame(bytes.span.extracting(range), other.span)
        }
    }

    /// The children as entries.
    var entries: [Children.Entry] {
        var walk = PackedLeaves(bytes)
        var entries: [Children.Entry] = []
        entries.reserveCapacity(count)
        while let name = walk.name() {
            let key = ChildKey(text: text(name))
            entries.append(Children.Entry(key: key, value: value(walk.leaf())))
        }
        return entries
    }

    /// The leaf of that name, null where there is none.
    subscript(key: ChildKey) -> Value {
        guard case .text(let wanted) = key.form else { return .null }
        var walk = PackedLeaves(bytes)
        while let name = walk.name() {
            let leaf = walk.leaf()
            if isText(name, wanted) { return value(leaf) }
        }
        return .null
    }
}

/// Packs the children of a node while they are read. It keeps its memory, so one should live long.
struct LeafPacker {
    private struct Member {
        var known: UInt8?
        var name: Range<Int>
        var value: Int
    }

    private var members: [Member] = []
    /// One byte too many before what counts, so that taking that out copies no more than it.
    private var packed: [UInt8] = []
    private let texts = PackedTexts.shared

    /// Begins a node.
    mutating func begin() { members.removeAll(keepingCapacity: true) }

    var isEmpty: Bool { members.isEmpty }
    var count: Int { members.count }

    /// Takes the name of a child, and whatever says what its leaf is, in any order.
    ///
    /// - Returns: whether the node can still be packed: not with a name that is twice, reads as a
    ///   number, or may not stand in a tree.
    mutating func add(_ bytes: [UInt8], _ name: Range<Int>, value: Int) -> Bool {
        guard (1...Int(PackedName.longest)).contains(name.count) else { return false }
        guard Self.isUsual(bytes[name.lowerBound]), members.count < PackedLeaves.countMax else {
            return false
        }
        let known = texts.number(of: bytes.span.extracting(name))
        guard known != nil || isAllowed(bytes.span.extracting(name)) else { return false }
        var place = members.count
        while place > 0 {
            let order = order(members[place - 1], known, name, bytes)
            if order == 0 { return false }
            if order < 0 { break }
            place -= 1
        }
        members.append(Member(known: known, name: name, value: value))
        var index = members.count - 1
        while index > place {
            members.swapAt(index, index - 1)
            index -= 1
        }
        return true
    }

    private func isAllowed(_ name: Span<UInt8>) -> Bool {
        for index in name.indices where isForbiddenInKey(name[index]) { return false }
        return true
    }

    private func order(
        _ a: Member, _ known: UInt8?, _ name: Range<Int>, _ bytes: [UInt8]
    ) -> Int {
        if let x = a.known, let y = known { return Int(x) - Int(y) }
        return utf16Order(bytes.span.extracting(a.name), bytes.span.extracting(name))
    }

    /// Whether a name that begins so is ordered by its bytes and is no `.priority` or the like.
    static func isUsual(_ first: UInt8) -> Bool {
        first > UInt8(ascii: "9") || first < UInt8(ascii: "-")
    }

    /// The node, its leaves appended by the closure; nil where it is too long.
    mutating func finish(
        _ bytes: [UInt8], _ append: (_ value: Int, _ out: inout [UInt8]) -> Bool
    ) -> Children? {
        packed.removeAll(keepingCapacity: true)
        packed.append(0)
        packed.append(UInt8(members.count))
        for member in members {
            if let known = member.known {
                packed.append(PackedName.known | known)
            } else {
                packed.append(UInt8(member.name.count))
                packed.append(contentsOf: bytes[member.name])
            }
            guard append(member.value, &packed) else { return nil }
        }
        guard packed.count <= PackedLeaves.bytesMax else { return nil }
        return Children(packed: Array(packed[1...]))
    }
}
