internal import JSON

/// Where the bridge keeps its own state, below `_firebridge` (contract section 7, docs/state.md).
enum StateLayout {
    static let version: Int64 = 1
    /// How deep it goes: `_firebridge/streams/SET/CONVERSATION/SEQUENCE/ends/RUN/status`.
    static let levels = 8
    static let versionPath = Array("_firebridge/version".utf8)
    static let fences = Array("_firebridge/fences".utf8)
    static let allStreams = Array("_firebridge/streams".utf8)
    static let allGuards = Array("_firebridge/guards".utf8)

    static func watermarks(group: [UInt8]) -> [UInt8] { join("watermarks", group) }

    static func watermark(group: [UInt8], topic: [UInt8], partition: Int32) -> [UInt8] {
        join("watermarks", group, topic, number(partition))
    }

    static func fence(group: [UInt8], set: [UInt8], partition: Int32) -> [UInt8] {
        join("fences", group, set, number(partition))
    }

    static func streams(set: [UInt8]) -> [UInt8] { join("streams", set) }

    static func streams(set: [UInt8], conversation: [UInt8]) -> [UInt8] {
        join("streams", set, conversation)
    }

    static func stream(set: [UInt8], conversation: [UInt8], sequence: Int64) -> [UInt8] {
        join("streams", set, conversation, number(sequence))
    }

    static func agenda(set: [UInt8]) -> [UInt8] { join("agenda", set) }

    static func agenda(set: [UInt8], partition: Int32) -> [UInt8] {
        join("agenda", set, number(partition))
    }

    static func guards(set: [UInt8], node: [UInt8]) -> [UInt8] {
        let escaped = Key.escape(node)
        guard escaped.count > Key.bytesMax else { return join("guards", set, escaped) }
        return join("guards", set, hex(FNV1a.hash(node)) + hex(FNV1a.hash(node.reversed())))
    }

    /// A stream's item in the agenda: open, finished or removed, in order of time.
    static func agendaItem(_ stream: Stream, conversation: [UInt8]) -> [UInt8] {
        agendaItem(
            endedBy: stream.endedBy, endedAt: stream.endedAt, removedAt: stream.removedAt,
            sequence: stream.sequence, conversation: conversation)
    }

    static func agendaItem(
        endedBy: Stream.EndCause?, endedAt: Int64?, removedAt: Int64?, sequence: Int64,
        conversation: [UInt8]
    ) -> [UInt8] {
        let name = hex(FNV1a.hash(conversation + [UInt8(ascii: "/")] + number(sequence)))
        if let removedAt { return Array("r".utf8) + padded(removedAt) + name }
        if endedBy != nil, let endedAt { return Array("f".utf8) + padded(endedAt) + name }
        return Array("o".utf8) + name
    }

    /// The last key of an agenda's items of one kind up to a time.
    static func agendaBound(_ kind: String, _ milliseconds: Int64) -> [UInt8] {
        Array(kind.utf8) + padded(max(0, milliseconds)) + Array("~".utf8)
    }

    private static func join(_ first: String, _ rest: [UInt8]...) -> [UInt8] {
        var path = Array("_firebridge/".utf8)
        path.append(contentsOf: first.utf8)
        for key in rest {
            path.append(UInt8(ascii: "/"))
            path.append(contentsOf: key)
        }
        return path
    }

    private static func number(_ value: some BinaryInteger) -> [UInt8] {
        var out: [UInt8] = []
        out.appendDecimal(Int64(value))
        return out
    }

    private static func padded(_ milliseconds: Int64) -> [UInt8] {
        let digits = number(milliseconds)
        return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 13 - digits.count)) + digits
    }

    private static func hex(_ value: UInt64) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<16).map { digits[Int(value >> UInt64(60 - $0 * 4) & 15)] }
    }
}

/// Who may write for a set and partition number, and how far: the fence.
struct Fence: Equatable {
    var epoch: Int64
    var owner: [UInt8]
    var serial: Int64
    /// The database's clock when it was last written; nil after a clean stop.
    var at: Int64?

    init?(reading tape: JSONTape, _ value: Int) {
        guard let epoch = tape.member(Name.epoch, of: value).flatMap(tape.int64) else { return nil }
        self.epoch = epoch
        owner = tape.member(Name.owner, of: value).map { tape.text($0) } ?? []
        serial = tape.member(Name.serial, of: value).flatMap(tape.int64) ?? 0
        at = tape.member(Name.at, of: value).flatMap(tape.int64)
    }

    /// The fence as it is written: the database fills in its own clock.
    static func json(epoch: Int64, owner: [UInt8], serial: Int64, isLive: Bool = true) -> [UInt8] {
        var out = ObjectWriter()
        out.add(Name.epoch, epoch)
        out.add(Name.owner, text: owner)
        out.add(Name.serial, serial)
        if isLive { out.add(Name.at, JSONWord.serverTime) }
        return out.finish()
    }
}

/// The lowest offset that the tree does not hold yet.
struct Watermark: Equatable {
    var next: Int64
    var cluster: [UInt8]?

    init?(reading tape: JSONTape, _ value: Int) {
        guard let next = tape.member(Name.next, of: value).flatMap(tape.int64) else { return nil }
        self.next = next
        cluster = tape.member(Name.cluster, of: value).map { tape.text($0) }
    }

    init(next: Int64, cluster: [UInt8]?) {
        self.next = next
        self.cluster = cluster
    }

    var json: [UInt8] {
        var out = ObjectWriter()
        out.add(Name.next, next)
        if let cluster { out.add(Name.cluster, text: cluster) }
        return out.finish()
    }
}

extension JSONTape {
    /// The children of a node as the database gives it: an object's members, or an array's elements
    /// that are not null, by their index.
    func children(of node: Int) -> [(key: [UInt8], value: Int)] {
        switch kind(node) {
        case .object: return members(of: node).map { (text($0.name), $0.value) }
        case .array:
            return elements(of: node).enumerated().compactMap { index, element in
                kind(element) == .null ? nil : (Array(String(index).utf8), element)
            }
        default: return []
        }
    }

    /// The child of that key.
    func child(_ key: [UInt8], of node: Int) -> Int? {
        children(of: node).first { $0.key == key }?.value
    }
}
