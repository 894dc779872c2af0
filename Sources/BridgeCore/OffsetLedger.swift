/// How far one partition is: read, settled, told to the tree, committed.
///
/// Records are planned strictly in order and a lane settles its batches in order, so what is
/// settled is everything below one offset, except records whose dead letter is not acknowledged
/// yet.
struct OffsetLedger {
    /// The offset after the last record that was read.
    private(set) var position: Int64
    /// Every record below has settled, the held ones aside.
    private(set) var settled: Int64
    /// Rejected records whose dead letter is not acknowledged, in order.
    private(set) var held: [Int64] = []
    /// The watermark that the tree has acknowledged.
    private(set) var acknowledged: Int64
    /// The offset that Kafka has acknowledged.
    private(set) var committed: Int64

    init(resumingAt offset: Int64) {
        position = offset
        settled = offset
        acknowledged = offset
        committed = offset
    }

    /// Whether a record is the next one, and not one that was read before.
    func expects(_ offset: Int64) -> Bool { offset >= position }

    mutating func read(_ offset: Int64) { position = offset + 1 }

    /// What was read from an offset on is as if it had not been.
    mutating func unread(from offset: Int64) { position = min(position, offset) }

    mutating func settle(through offset: Int64) { settled = max(settled, offset + 1) }

    mutating func hold(_ offset: Int64) {
        let index = held.firstIndex { $0 >= offset } ?? held.count
        if index < held.count, held[index] == offset { return }
        held.insert(offset, at: index)
    }

    mutating func release(_ offset: Int64) { held.removeAll { $0 == offset } }

    /// The lowest offset still unsettled once a batch that ends at `through` has landed.
    func watermark(through offset: Int64? = nil, flaw: Flaw? = nil) -> Int64 {
        let landed = max(settled, offset.map { $0 + 1 } ?? settled)
        guard flaw != .commitsPastGap, let first = held.first else { return landed }
        return min(first, landed)
    }

    mutating func acknowledge(_ watermark: Int64) {
        acknowledged = max(acknowledged, watermark)
    }

    mutating func commit(_ offset: Int64) { committed = max(committed, offset) }

    /// Whether the tree's watermark is behind what has settled.
    func isBehind(flaw: Flaw? = nil) -> Bool { watermark(flaw: flaw) > acknowledged }

    /// Whether everything that was read has settled.
    var isSettled: Bool { settled == position && held.isEmpty }

    /// Whether the tree has been told everything.
    var isTold: Bool { acknowledged == position && held.isEmpty }

    /// Whether Kafka has been told everything.
    var isDone: Bool { committed == position && held.isEmpty }
}
