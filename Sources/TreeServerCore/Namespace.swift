internal import Tree
internal import TreeRules
internal import TreeWire

/// One database: its tree, its rules, and who listens.
final class Namespace {
    let name: [UInt8]
    private(set) var tree = Tree()
    /// What guards it; nil leaves it open.
    var rules: Rules? {
        didSet { rulesChanges += 1 }
    }
    /// Counts the changes of the rules. Where it has moved, open listens must be asked for again
    /// (`mayRead`), and end where they are refused.
    private(set) var rulesChanges = 0
    /// The places by which rules decided who may listen.
    private var reasons = ListenerIndex()
    private var listeners = ListenerIndex()
    private var streams: [StreamID: Stream] = [:]

    /// What a stream shows.
    struct Stream {
        var path: Path
        var style: JSONStyle
        var query: Query?
        var caller = Caller.anonymous
        /// The places by which rules decided that the caller may listen, the clock aside.
        var reasons: Set<Path> = []
        var dependsOnTime = false
        /// The window that was sent last, where there is a query.
        var window = Value.null
    }

    /// How a request changes the tree, as its listeners are told.
    enum Change {
        /// The value at the place of the request is replaced.
        case put
        /// Places below it are replaced.
        case patch
    }

    init(name: [UInt8], rules: Rules?) {
        self.name = name
        self.rules = rules
    }

    /// Begins a stream; the data of its first event.
    func open(_ id: StreamID, _ stream: Stream, at now: Int64) -> Value {
        var stream = stream
        let value = stream.query?.select(from: tree.get(stream.path)) ?? tree.get(stream.path)
        if stream.query != nil { stream.window = value }
        streams[id] = stream
        listeners.insert(id, at: stream.path)
        _ = keepsAccess(id, at: now)
        return value
    }

    func close(_ id: StreamID) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        listeners.remove(id, at: stream.path)
        for path in stream.reasons { reasons.remove(id, at: path) }
    }

    /// Applies the writes of one request at `place`, and gives each stream that they touch its one
    /// event.
    func apply(
        _ update: Update, at place: Path, as change: Change, now: Int64,
        emit: (StreamID, [UInt8]) -> Void, revoke: (StreamID) -> Void
    ) {
        guard !listeners.isEmpty else {
            tree.apply(update)
            return
        }
        let touched = listeners.touched(below: place, by: update.writes)
        var before: [StreamID: Value] = [:]
        for (id, touch) in touched where touch.isReplaced {
            before[id] = streams[id].map { tree.get($0.path) }
        }
        tree.apply(update)
        // Before anything is sent: who loses access by this write does not see it.
        for id in streamsLosingAccess(by: update, at: now) { revoke(id) }
        var events = ChangeEvents(update: update, place: place, change: change)
        for id in listeners.atOrAbove(place).sorted() {
            guard let stream = streams[id] else { continue }
            if stream.query != nil {
                emitWindow(id, emit)
            } else {
                emit(id, events.event(from: stream.path.depth, style: stream.style))
            }
        }
        for (id, touch) in touched.sorted(by: { $0.key < $1.key }) {
            guard let stream = streams[id] else { continue }
            if stream.query != nil {
                emitWindow(id, emit)
            } else if !touch.isReplaced {
                emit(id, patch(stream, update, touch.writes))
            } else {
                let value = tree.get(stream.path)
                let isNamed = update.writes.contains { $0.path == stream.path }
                if isNamed || value != before[id] { emit(id, put(stream, value)) }
            }
        }
    }

    /// Sends a query's window again where it has changed.
    private func emitWindow(_ id: StreamID, _ emit: (StreamID, [UInt8]) -> Void) {
        guard var stream = streams[id], let query = stream.query else { return }
        let window = query.select(from: tree.get(stream.path))
        guard window != stream.window else { return }
        stream.window = window
        streams[id] = stream
        emit(id, put(stream, window))
    }

    private func put(_ stream: Stream, _ value: Value) -> [UInt8] {
        var event: [UInt8] = []
        event.append(event: .put, path: .root, data: value.json(stream.style))
        return event
    }

    private func patch(_ stream: Stream, _ update: Update, _ indexes: [Int]) -> [UInt8] {
        var event: [UInt8] = []
        let data = patchJSON(
            indexes.map { update.writes[$0] }, below: stream.path.depth, stream.style)
        event.append(event: .patch, path: .root, data: data)
        return event
    }
}

// Who may go on listening.
extension Namespace {
    /// Whether rules still allow a stream; remembers by what they decided.
    private func keepsAccess(_ id: StreamID, at now: Int64) -> Bool {
        guard let rules, var stream = streams[id], !stream.caller.isAdmin else { return true }
        let grant = rules.readGrant(
            stream.path, query: RuleQuery(stream.query), auth: stream.caller.auth, now: now,
            in: tree)
        guard let grant else { return false }
        stream.dependsOnTime = grant.usesNow
        if grant.lookedAt != stream.reasons {
            for path in stream.reasons { reasons.remove(id, at: path) }
            for path in grant.lookedAt { reasons.insert(id, at: path) }
            stream.reasons = grant.lookedAt
        }
        streams[id] = stream
        return true
    }

    /// The streams that rules no longer allow.
    func streamsLosingAccess(at now: Int64) -> [StreamID] {
        streams.keys.sorted().filter { !keepsAccess($0, at: now) }
    }

    /// Whether time has taken a stream's access.
    func hasLostAccess(_ id: StreamID, at now: Int64) -> Bool {
        streams[id]?.dependsOnTime == true && !keepsAccess(id, at: now)
    }

    /// The streams that rules no longer allow after a write to what they decided by.
    private func streamsLosingAccess(by update: Update, at now: Int64) -> [StreamID] {
        guard !reasons.isEmpty else { return [] }
        let touched = reasons.touched(below: .root, by: update.writes)
        return touched.keys.sorted().filter { !keepsAccess($0, at: now) }
            + reasons.atOrAbove(.root).filter {
                touched[$0] == nil && !keepsAccess($0, at: now)
            }
    }
}

extension StreamID: Comparable {
    /// Whether `a` was opened before `b`.
    public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// The events of a change for its listeners at and above its place, each rendered once for all who
/// listen at the same depth, which is the same place.
private struct ChangeEvents {
    let update: Update
    let place: Path
    let change: Namespace.Change
    private var data: [(style: JSONStyle, data: [UInt8])] = []
    private var events: [(depth: Int, style: JSONStyle, event: [UInt8])] = []

    init(update: Update, place: Path, change: Namespace.Change) {
        self.update = update
        self.place = place
        self.change = change
    }

    mutating func event(from depth: Int, style: JSONStyle) -> [UInt8] {
        let known = events.first { $0.depth == depth && $0.style == style }
        if let known { return known.event }
        var event: [UInt8] = []
        let name: TreeEventName = change == .put ? .put : .patch
        event.append(event: name, path: place.dropFirst(depth), data: data(style))
        events.append((depth, style, event))
        return event
    }

    private mutating func data(_ style: JSONStyle) -> [UInt8] {
        if let known = data.first(where: { $0.style == style }) { return known.data }
        let fresh =
            switch change {
            case .put: update.writes[0].value.json(style)
            case .patch: patchJSON(update.writes, below: place.depth, style)
            }
        data.append((style, fresh))
        return fresh
    }
}

/// `{"a/b":value,…}` with paths from `depth` down.
func patchJSON(_ writes: [Update.Write], below depth: Int, _ style: JSONStyle) -> [UInt8] {
    var out: [UInt8] = [UInt8(ascii: "{")]
    for (index, write) in writes.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        if style.pretty { out.append(contentsOf: "\n  ".utf8) }
        out.append(json: .string(write.path.dropFirst(depth).joined))
        out.append(UInt8(ascii: ":"))
        if style.pretty { out.append(UInt8(ascii: " ")) }
        out.append(json: write.value, style)
    }
    if style.pretty { out.append(UInt8(ascii: "\n")) }
    out.append(UInt8(ascii: "}"))
    return out
}
