/// The children of a node in key order.
///
/// Up to `blockMax` children are one sorted array. More are a sorted sequence of such arrays, so
/// that a write costs a binary search and the shift of one block, however many children there are;
/// a new last child is found by one comparison. A few leaves may be their packed form. Absent children have no entry: no value here is
/// null.
public struct Children: Sendable {
    struct Entry: Sendable, Equatable {
        var key: ChildKey
        var value: Value
    }

    enum Storage: Sendable {
        case block([Entry])
        /// At least one block, none of them empty.
        case blocks([[Entry]])
        /// A few leaves, at least one (`PackedLeaves`).
        case packed([UInt8])
    }

    static let blockMax = 256

    var storage: Storage

    /// No children.
    public init() { storage = .block([]) }

    /// The children of entries in any order; of a repeated key the last one counts.
    init(_ entries: consuming [Entry]) {
        sort(&entries)
        if entries.contains(where: { $0.value.isNull }) { entries.removeAll { $0.value.isNull } }
        guard entries.count > Self.blockMax else {
            storage = .block(entries)
            return
        }
        let all = entries
        storage = .blocks(
            stride(from: 0, to: all.count, by: Self.blockMax).map {
                Array(all[$0..<Swift.min($0 + Self.blockMax, all.count)])
            })
    }

    init(packed bytes: [UInt8]) { storage = .packed(bytes) }

    /// Whether there are none.
    public var isEmpty: Bool {
        if case .block(let entries) = storage { entries.isEmpty } else { false }
    }

    /// How many there are.
    public var count: Int {
        switch storage {
        case .block(let entries): entries.count
        case .blocks(let blocks): blocks.reduce(0) { $0 + $1.count }
        case .packed(let bytes): PackedLeaves(bytes).count
        }
    }

    /// The first child in key order.
    public var first: (key: ChildKey, value: Value)? {
        blocks.first?.first.map { ($0.key, $0.value) }
    }

    /// The last child in key order.
    public var last: (key: ChildKey, value: Value)? {
        blocks.last?.last.map { ($0.key, $0.value) }
    }

    var blocks: [[Entry]] {
        switch storage {
        case .block(let entries): [entries]
        case .blocks(let blocks): blocks
        case .packed(let bytes): [PackedLeaves(bytes).entries]
        }
    }

    /// The child of that key, null where there is none.
    public subscript(key: ChildKey) -> Value {
        switch storage {
        case .block(let entries):
            let (index, found) = search(entries, key)
            return found ? entries[index].value : .null
        case .blocks(let blocks):
            let block = blockIndex(blocks, key)
            let (index, found) = search(blocks[block], key)
            return found ? blocks[block][index].value : .null
        case .packed(let bytes): return PackedLeaves(bytes)[key]
        }
    }

    /// Puts a value at the path that the names from `depth` on make, in place.
    mutating func set(_ value: consuming Value, at names: [[UInt8]], from depth: Int) {
        let key = ChildKey(names[depth])
        if case .packed(let bytes) = storage { storage = .block(PackedLeaves(bytes).entries) }
        switch storage {
        case .packed: break
        case .block(var entries):
            storage = .block([])  // so that `entries` is the only reference and changes in place
            Self.set(&entries, key, value, names, depth + 1)
            storage =
                entries.count > Self.blockMax ? .blocks(divide(entries, key)) : .block(entries)
        case .blocks(var blocks):
            storage = .block([])
            let index = blockIndex(blocks, key)
            Self.set(&blocks[index], key, value, names, depth + 1)
            if blocks[index].count > Self.blockMax {
                let halves = divide(blocks[index], key)
                blocks[index] = halves[0]
                blocks.insert(halves[1], at: index + 1)
            } else {
                mend(&blocks, at: index)
            }
            storage = blocks.count > 1 ? .blocks(blocks) : .block(blocks.first ?? [])
        }
    }

    /// Puts children beside those that stand at the path that the names from `depth` on make.
    mutating func add(_ added: consuming Children, at names: [[UInt8]], from depth: Int) {
        let name = [names[depth]]
        var child = self[ChildKey(names[depth])]
        set(.null, at: name, from: 0)  // so that `child` is the only reference
        child.add(added, at: names, from: depth + 1)
        set(child, at: name, from: 0)
    }

    private static func set(
        _ entries: inout [Entry], _ key: ChildKey, _ value: consuming Value, _ names: [[UInt8]],
        _ depth: Int
    ) {
        let (index, found) = search(entries, key)
        if found {
            entries[index].value.set(value, at: names, from: depth)
            if entries[index].value.isNull { entries.remove(at: index) }
        } else if !value.isNull {
            let chain = Value.chain(names, from: depth, value)
            if !chain.isNull { entries.insert(Entry(key: key, value: chain), at: index) }
        }
    }

    /// Removes a block that became empty and joins one that became small with its successor.
    private func mend(_ blocks: inout [[Entry]], at index: Int) {
        if blocks[index].isEmpty {
            blocks.remove(at: index)
        } else if index + 1 < blocks.count,
            blocks[index].count + blocks[index + 1].count <= Self.blockMax / 2
        {
            blocks[index].append(contentsOf: blocks[index + 1])
            blocks.remove(at: index + 1)
        }
    }
}

/// Two blocks of one that is too long. A block that grew at its end is left full, because children
/// mostly arrive in order.
private func divide(_ entries: [Children.Entry], _ key: ChildKey) -> [[Children.Entry]] {
    let cut = entries.last?.key == key ? entries.count - 1 : entries.count / 2
    return [Array(entries[..<cut]), Array(entries[cut...])]
}

/// Sorts entries by key, stably, and keeps the last of a repeated key.
private func sort(_ entries: inout [Children.Entry]) {
    var hasTwins = false
    if entries.count <= 16 {
        hasTwins = sortFew(&entries)
    } else if !isAscending(entries) {
        entries.sort { $0.key.order($1.key) < 0 }
        hasTwins = !isAscending(entries)
    }
    guard hasTwins else { return }
    var unique: [Children.Entry] = []
    for entry in entries {
        if unique.last?.key == entry.key { unique.removeLast() }
        unique.append(entry)
    }
    entries = unique
}

/// Sorts by insertion, in place: small nodes are most of a tree.
///
/// - Returns: whether a key came twice.
private func sortFew(_ entries: inout [Children.Entry]) -> Bool {
    var span = entries.mutableSpan
    var hasTwins = false
    var end = 1
    while end < span.count {
        var place = end
        while place > 0 {
            let order = span[place - 1].key.order(span[place].key)
            if order == 0 { hasTwins = true }
            if order <= 0 { break }
            span.swapAt(place - 1, place)
            place -= 1
        }
        end += 1
    }
    return hasTwins
}

private func isAscending(_ entries: [Children.Entry]) -> Bool {
    let span = entries.span  // borrows: an array's subscript would count references
    var index = 1
    while index < span.count {
        if span[index - 1].key.order(span[index].key) >= 0 { return false }
        index += 1
    }
    return true
}

/// Where the key is, or where it would have to be inserted.
private func search(_ entries: [Children.Entry], _ key: ChildKey) -> (index: Int, found: Bool) {
    let span = entries.span
    var low = 0
    var high = span.count
    guard high > 0 else { return (0, false) }
    let atEnd = span[high - 1].key.order(key)
    if atEnd <= 0 { return atEnd == 0 ? (high - 1, true) : (high, false) }
    high -= 1
    while low < high {
        let middle = (low + high) / 2
        let order = span[middle].key.order(key)
        if order == 0 { return (middle, true) }
        if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
}

/// The block in which the key is or belongs: the last one that begins at or before it.
private func blockIndex(_ blocks: [[Children.Entry]], _ key: ChildKey) -> Int {
    let span = blocks.span
    var low = 0
    var high = span.count - 1
    if span[high][0].key.order(key) <= 0 { return high }
    while low < high {
        let middle = (low + high + 1) / 2
        if span[middle][0].key.order(key) <= 0 { low = middle } else { high = middle - 1 }
    }
    return low
}

extension Children: Sequence {
    /// Walks the children in key order.
    public struct Iterator: IteratorProtocol {
        var blocks: [[Entry]]
        var block = 0
        var index = 0

        /// The next child.
        public mutating func next() -> (key: ChildKey, value: Value)? {
            while block < blocks.count {
                if index < blocks[block].count {
                    let entry = blocks[block][index]
                    index += 1
                    return (entry.key, entry.value)
                }
                block += 1
                index = 0
            }
            return nil
        }
    }

    /// Walks the children in key order.
    public func makeIterator() -> Iterator { Iterator(blocks: blocks) }

    /// How many there are.
    public var underestimatedCount: Int { count }
}

extension Children: Equatable {
    /// Whether both hold the same keys and values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a.storage, b.storage) {
        case (.block(let x), .block(let y)): return x == y
        case (.packed(let x), .packed(let y)): return x == y
        default: break
        }
        return a.count == b.count && a.elementsEqual(b) { $0.key == $1.key && $0.value == $1.value }
    }
}
