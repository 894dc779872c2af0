internal import JSON

/// Where a batch keeps what it has of a stream or partition, remembered by that itself.
struct BatchSlot {
    var batch = -1
    var index = 0
}

/// A record in a batch: kept until the batch has settled, also where it changed nothing.
struct PlannedRecord {
    /// nil for a chore, which has no record.
    var partition: PartitionState?
    var record: Record
    var conversation: Conversation?
    /// Its dead letter is on its way; it only carries its offset along.
    var isRejected = false
    /// Of a replay: why it writes nothing.
    var passedOver: Counters.PassedOver?
    /// When it was read, monotonic nanoseconds.
    var readAt: Int64
}

/// What one PATCH will carry: an antichain of paths, and the records that it settles.
///
/// Nodes of different mappings never lie one above the other (`MirrorPlan` sees to it), so only
/// writes below one stream need folding into one another; anything else is a node written whole.
struct Batch {
    let serial: Int
    /// Only fences and watermarks, no data.
    let isStateOnly: Bool
    /// A chore that goes by itself: nothing joins it.
    var isSealed = false
    /// How many of the records came from Kafka.
    private(set) var recordCount = 0
    private(set) var records: [PlannedRecord] = []
    /// The last offset of each partition's records.
    private(set) var through: [(partition: PartitionState, offset: Int64)] = []
    private(set) var parts: [Part] = []
    private(set) var bytes = 0
    private(set) var writeCount = 0
    private var streams: [StreamWrites] = []
    private var nodes: [(path: [UInt8], value: [UInt8])] = []
    private var nodeIndexes: [Bytes: Int] = [:]
    private var events: Set<Bytes> = []

    init(serial: Int, isStateOnly: Bool = false) {
        self.serial = serial
        self.isStateOnly = isStateOnly
    }

    var hasWrites: Bool { !streams.isEmpty || !nodes.isEmpty }

    /// Whether a record that writes about so many bytes still fits; the first one always does.
    func hasRoom(for cost: Int, writesMax: Int, bytesMax: Int) -> Bool {
        !hasWrites || (writeCount < writesMax && bytes + cost <= bytesMax)
    }

    /// Whether an event node is already written: two events of one node never merge.
    func holdsEvent(_ path: [UInt8]) -> Bool { events.contains(Bytes(path)) }

    mutating func add(_ record: consuming PlannedRecord, of part: Part) {
        touch(part)
        if let partition = record.partition {
            recordCount += 1
            let offset = record.record.offset
            if partition.slot.batch == serial {
                through[partition.slot.index].offset = offset
            } else {
                partition.slot = BatchSlot(batch: serial, index: through.count)
                through.append((partition, offset))
            }
        }
        records.append(record)
    }

    /// The record that was added last writes nothing.
    mutating func passOverLast(_ reason: Counters.PassedOver) {
        records[records.count - 1].passedOver = reason
    }

    /// Carries the part's fence and watermarks along.
    mutating func touch(_ part: Part) {
        if parts.last === part || parts.contains(where: { $0 === part }) { return }
        parts.append(part)
    }

    /// Writes a node whole.
    mutating func set(_ path: [UInt8], _ value: [UInt8]) {
        bytes += path.count + value.count + 4
        if let index = nodeIndexes[Bytes(path)] {
            nodes[index].value = value
        } else {
            nodeIndexes[Bytes(path)] = nodes.count
            nodes.append((path, value))
            writeCount += 1
        }
    }

    /// Takes note of a node that no other write of its kind may share the batch with.
    mutating func mark(_ path: [UInt8]) { events.insert(Bytes(path)) }

    mutating func setEvent(_ path: [UInt8], _ value: [UInt8]) {
        events.insert(Bytes(path))
        set(path, value)
    }

    /// The writes of a stream.
    mutating func withStream(
        _ stream: Stream, at base: @autoclosure () -> [UInt8],
        _ body: (inout StreamWrites) -> Void
    ) {
        if stream.slot.batch != serial {
            stream.slot = BatchSlot(batch: serial, index: streams.count)
            streams.append(StreamWrites(base: base()))
        }
        let index = stream.slot.index
        let before = (streams[index].bytes, streams[index].count)
        body(&streams[index])
        bytes += streams[index].bytes - before.0
        writeCount += streams[index].count - before.1
    }

    /// The PATCH, with the state's own writes after the data.
    func body(state: [(path: [UInt8], value: [UInt8])]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes + nodes.count * 8 + state.count * 160 + 64)
        out.append(UInt8(ascii: "{"))
        for stream in streams { stream.append(to: &out) }
        for (path, value) in nodes { out.appendMember(path, value) }
        for (path, value) in state { out.appendMember(path, value) }
        if out.count > 1 { out.removeLast() }
        out.append(UInt8(ascii: "}"))
        return out
    }
}

/// What a batch writes below one stream's node.
struct StreamWrites {
    private let base: [UInt8]
    /// `chunks` is written as a whole value: nothing older stays.
    private var isFresh = false
    private var isRemoved = false
    private var meta: [UInt8]?
    /// In order of index; nil deletes.
    private var chunks: [(index: Int64, leaf: [UInt8]?)] = []
    private(set) var bytes = 0

    init(base: [UInt8]) { self.base = base }

    var count: Int { isFresh || isRemoved ? 2 : chunks.count + (meta == nil ? 0 : 1) }

    /// The stream begins anew.
    mutating func begin() {
        isFresh = true
        isRemoved = false
        chunks = []
        meta = nil
        bytes = base.count + 16
    }

    /// The node goes.
    mutating func remove() {
        begin()
        isFresh = false
        isRemoved = true
    }

    mutating func setMeta(_ value: [UInt8]) {
        bytes += base.count + value.count + 10
        meta = value
    }

    mutating func setChunk(_ index: Int64, _ leaf: [UInt8]?) {
        bytes += (isFresh ? 8 : base.count + 20) + (leaf?.count ?? 4)
        guard let last = chunks.last, last.index >= index else {
            chunks.append((index, leaf))
            return
        }
        var low = 0
        var high = chunks.count - 1
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].index < index { low = middle + 1 } else { high = middle }
        }
        if chunks[low].index == index {
            chunks[low].leaf = leaf
        } else {
            chunks.insert((index, leaf), at: low)
        }
    }

    fileprivate func append(to out: inout [UInt8]) {
        var prefix: [UInt8] = []
        prefix.appendJSONString(base)
        prefix.removeLast()
        if isRemoved {
            out.append(contentsOf: prefix)
            out.append(contentsOf: Self.null)
            return
        }
        if let meta {
            out.append(contentsOf: prefix)
            out.append(contentsOf: Self.metaKey)
            out.append(contentsOf: meta)
            out.append(UInt8(ascii: ","))
        }
        if isFresh {
            out.append(contentsOf: prefix)
            appendWhole(to: &out)
            return
        }
        prefix.append(contentsOf: Self.chunkKey)
        for index in chunks.indices {
            out.append(bytes: prefix)
            out.appendDecimal(chunks[index].index)
            out.append(text: "\":")
            if let leaf = chunks[index].leaf {
                out.append(bytes: leaf)
            } else {
                out.append(text: "null")
            }
            out.append(UInt8(ascii: ","))
        }
    }

    private func appendWhole(to out: inout [UInt8]) {
        out.append(contentsOf: Self.chunksKey)
        let opening = out.count
        out.append(UInt8(ascii: "{"))
        for case (let index, let leaf?) in chunks {
            out.append(UInt8(ascii: "\""))
            out.appendDecimal(index)
            out.append(UInt8(ascii: "\""))
            out.append(UInt8(ascii: ":"))
            out.append(contentsOf: leaf)
            out.append(UInt8(ascii: ","))
        }
        if out.count == opening + 1 {
            out.removeLast()
            out.append(contentsOf: JSONWord.null)
            out.append(UInt8(ascii: ","))
        } else {
            out[out.count - 1] = UInt8(ascii: "}")
            out.append(UInt8(ascii: ","))
        }
    }

    private static let metaKey = Array(#"/meta":"#.utf8)
    private static let chunksKey = Array(#"/chunks":"#.utf8)
    private static let chunkKey = Array("/chunks/".utf8)
    private static let null = Array(#"":null,"#.utf8)
}

extension [UInt8] {
    fileprivate mutating func appendMember(_ path: [UInt8], _ value: [UInt8]) {
        appendJSONString(path)
        append(UInt8(ascii: ":"))
        append(contentsOf: value)
        append(UInt8(ascii: ","))
    }
}
