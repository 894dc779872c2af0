/// One run of one stream. The oracle keeps them all; the newest one is what the tree shows.
struct Run {
    /// How a run ended, as `meta` says it.
    struct End {
        var isError: Bool
        var finishedAt: [UInt8]
        var message: [UInt8]?
    }

    let id: [UInt8]
    /// The chunks by index: the last record of an index counts.
    private var chunks: [Int64: Node] = [:]
    /// The first started marker's time, and the earliest chunk's.
    private var started: [UInt8]?
    private var firstChunk: [UInt8]?
    /// The first chunk's time in the order of the topic.
    private var metByChunk: [UInt8]?
    /// How many chunks have come.
    private var arrivals: Int64 = 0
    /// The last chunk, where it has no index of its own.
    private var unindexed: Node?
    /// Whether a chunk without index followed another one of another value, with no indexed chunk
    /// between: it is rejected (contract section 1).
    private(set) var lacksIndexes = false
    /// The first terminal marker, the first final chunk, and that chunk's index.
    private var markerEnd: End?
    private var chunkEnd: End?
    private var lastIndex: Int64?

    init(id: [UInt8]) { self.id = id }

    /// - Parameter given: the chunk's own index.
    mutating func add(chunk: Node, given: Int64?, byArrival: Bool, time: [UInt8], end: End?) {
        let index = byArrival ? arrivals : given ?? 0
        if given == nil, let unindexed, unindexed != chunk { lacksIndexes = true }
        unindexed = given == nil ? chunk : nil
        arrivals += 1
        metByChunk = metByChunk ?? time
        if firstChunk.map({ instant(time) < instant($0) }) ?? true { firstChunk = time }
        if let lastIndex, index > lastIndex { return }
        chunks[index] = chunk
        guard let end, chunkEnd == nil else { return }
        chunkEnd = end
        lastIndex = index
    }

    mutating func start(at time: [UInt8]) { started = started ?? time }

    mutating func finish(by marker: End) { markerEnd = markerEnd ?? marker }

    /// The run's place among the runs of its stream: by birth, a run without any before those that
    /// have one and by its end; at a tie by its id.
    private var age: (hasBirth: Int, time: Instant, id: [UInt8]) {
        let births = [started, firstChunk].compactMap { $0.map(instant) }
        if let birth = births.min() { return (1, birth, id) }
        return (0, markerEnd.map { instant($0.finishedAt) } ?? .oldest, id)
    }

    static func isOlder(_ a: Run, _ b: Run) -> Bool {
        let (a, b) = (a.age, b.age)
        if (a.hasBirth, a.time) != (b.hasBirth, b.time) {
            return (a.hasBirth, a.time) < (b.hasBirth, b.time)
        }
        return a.id.lexicographicallyPrecedes(b.id)
    }

    /// Whether each topic's first record of this run that tells a birth lies before the birth of
    /// that newer one.
    func isMet(before newer: Run) -> Bool {
        let birth = newer.age
        guard birth.hasBirth == 1 else { return true }
        return [started, metByChunk].allSatisfy { time in
            guard let time else { return true }
            let met = instant(time)
            return met < birth.time
                || (met == birth.time && id.lexicographicallyPrecedes(newer.id))
        }
    }

    /// The stream's node where this run is the newest.
    var node: Node? {
        var shown: [[UInt8]: Node] = [:]
        for (index, chunk) in chunks where index <= lastIndex ?? .max {
            shown[Array(String(index).utf8)] = chunk
        }
        let end = markerEnd ?? chunkEnd
        let meta = Node.object(of: [
            ("run_id", .string(id)),
            ("status", .text(end.map { $0.isError ? "error" : "complete" } ?? "streaming")),
            ("started_at", (started ?? firstChunk).map(Node.string)),
            ("finished_at", end.map { .string($0.finishedAt) }),
            ("error_message", end?.message.map(Node.string)),
        ])
        return .object(of: [("chunks", shown.isEmpty ? nil : .object(shown)), ("meta", meta)])
    }
}

/// The instant of a time that a record gave; the oldest one where it is none.
func instant(_ text: [UInt8]) -> Instant { Instant(text) ?? .oldest }
