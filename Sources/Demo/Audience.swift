internal import JSON
internal import Tree
internal import TreeWire

/// What a reader of the tree sees of the conversations, and how long after they were produced.
struct Audience {
    /// A conversation as it grows.
    struct Conversation {
        var id: [UInt8]
        /// The end of its text.
        var tail = ""
        /// How many chunks are there.
        var chunks = 0
        /// `streaming`, `complete` or `error`.
        var status = "streaming"
        /// When it last grew, by the monotonic clock.
        var grownAt: Int64 = 0

        var isFinished: Bool { status != "streaming" }
    }

    /// What has been seen of late, the latest begun last.
    private(set) var conversations: [Conversation] = []
    /// How many have ended.
    private(set) var finished = 0
    /// From produce to visible, of every chunk, in nanoseconds.
    private(set) var latencies: [Int64] = []
    /// When the chunks of the last seconds became visible, with their latencies.
    private var arrivals: [(at: Int64, latency: Int64)] = []
    private var produced: [[UInt8]: Int64] = [:]
    private var stream = EventStreamParser()
    private let parser = JSONParser()
    private var decoder = ValueDecoder()

    /// What is told of "now" is told of so long, in nanoseconds.
    static let window: Int64 = 4_000_000_000
    private static let conversationsMax = 40
    private static let tailMax = 2000

    /// How many are being told.
    var active: Int { conversations.count { !$0.isFinished } }

    /// A chunk goes out: `CONVERSATION/SEQUENCE/chunks/INDEX`, by the monotonic clock.
    mutating func produced(_ chunk: [UInt8], at now: Int64) { produced[chunk] = now }

    /// How many have gone out and are not visible yet.
    var outstanding: Int { produced.count }

    /// A conversation is told once more: what is on its way of the answer before will not be seen.
    mutating func forget(_ conversation: [UInt8]) {
        let beginning = conversation + "/".utf8
        produced = produced.filter { !$0.key.starts(with: beginning) }
    }

    /// The stream begins anew.
    mutating func reconnect() { stream = EventStreamParser() }

    /// Takes a piece of the event stream of `/streaming`.
    ///
    /// - Returns: false where it cannot be understood.
    mutating func hear(_ piece: [UInt8], at now: Int64) -> Bool {
        guard let events = try? stream.feed(piece) else { return false }
        for event in events {
            guard let event = try? TreeEvent(event, parser: parser, decoder: &decoder) else {
                return false
            }
            switch event {
            case .put(let path, let value): see(path.segments, value, at: now)
            case .patch(let path, let writes):
                for write in writes {
                    see(path.segments + write.path.segments, write.value, at: now)
                }
            case .keepAlive: break
            case .cancel, .authRevoked: return false
            }
        }
        return true
    }

    /// Chunks a second, and latencies in nanoseconds, over the last seconds.
    mutating func recent(at now: Int64) -> (rate: Double, latencies: [Int64]) {
        arrivals.removeAll { $0.at < now - Self.window }
        return (
            Double(arrivals.count) / (Double(Self.window) / 1e9), arrivals.map(\.latency)
        )
    }

    /// Walks down to what a reader would notice: `ID/SEQUENCE/chunks/INDEX` and `…/meta/status`.
    private mutating func see(_ path: [[UInt8]], _ value: Value, at now: Int64) {
        let place = path.count > 2 ? String(decoding: path[2], as: UTF8.self) : ""
        switch (path.count, place) {
        case (0...2, _), (3, "chunks"), (3, "meta"):
            for (key, child) in value.children { see(path + [key.bytes], child, at: now) }
        case (4, "chunks"): seeChunk(path, value, at: now)
        case (4, "meta") where path[3] == Array("status".utf8):
            guard case .string(let status) = value else { return }
            seeStatus(of: path[0], String(decoding: status, as: UTF8.self))
        default: break
        }
    }

    private mutating func seeChunk(_ path: [[UInt8]], _ value: Value, at now: Int64) {
        let name = Array(path.joined(separator: "/".utf8))
        // What a bridge writes again after a restart was seen before.
        guard let sent = produced.removeValue(forKey: name) else { return }
        latencies.append(now - sent)
        arrivals.append((now, now - sent))
        let index = find(path[0])
        conversations[index].chunks += 1
        conversations[index].grownAt = now
        guard case .string(let content) = value[Array("content".utf8)] else { return }
        conversations[index].tail += String(decoding: content, as: UTF8.self)
        let surplus = conversations[index].tail.count - Self.tailMax
        if surplus > Self.tailMax { conversations[index].tail.removeFirst(surplus) }
    }

    private mutating func seeStatus(of id: [UInt8], _ status: String) {
        let index = find(id)
        let was = conversations[index].isFinished
        conversations[index].status = status
        if conversations[index].isFinished, !was { finished += 1 }
    }

    private mutating func find(_ id: [UInt8]) -> Int {
        if let index = conversations.lastIndex(where: { $0.id == id }) { return index }
        if conversations.count >= Self.conversationsMax,
            let oldest = conversations.firstIndex(where: \.isFinished)
        {
            conversations.remove(at: oldest)
        }
        conversations.append(Conversation(id: id))
        return conversations.count - 1
    }
}

/// The value below which so many of a hundred lie; nil where there is none.
func percentile(_ percent: Int, of values: [Int64]) -> Int64? {
    guard !values.isEmpty else { return nil }
    let rank = (values.count * percent + 99) / 100
    return values.sorted()[max(rank, 1) - 1]
}
