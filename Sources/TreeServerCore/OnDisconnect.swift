internal import JSON
internal import Tree
internal import TreeWire

/// What a session's client wants written when it leaves, in the order in which it said so.
///
/// The data stay JSON until then: server values are those of that moment.
struct OnDisconnect {
    struct Write {
        var path: Path
        /// JSON.
        var data: [UInt8]
        /// Writes of one update have one number and take effect together.
        var group: Int
        /// Where the client's request was: what the group's paths lie at or below.
        var place: Path
    }

    private(set) var writes: [Write] = []
    private(set) var bytes = 0
    private var groups = 0

    /// Adds the writes of one request, none of which is at or below another; each takes the place
    /// of all that was to be written there or below.
    mutating func add(_ added: [(path: Path, data: [UInt8])], at place: Path) {
        groups += 1
        cancel(added.map(\.path))
        for (path, data) in added {
            bytes += Self.cost(path, data)
            writes.append(Write(path: path, data: data, group: groups, place: place))
        }
    }

    /// Forgets what was to be written at places and below, in one pass.
    mutating func cancel(_ paths: [Path]) {
        guard !writes.isEmpty else { return }
        let cancelled = Set(paths)
        let depths = Set(paths.lazy.map(\.depth))
        writes.removeAll { write in
            let isCancelled = depths.contains { depth in
                depth <= write.path.depth
                    && cancelled.contains(Path(segments: Array(write.path.segments.prefix(depth))))
            }
            if isCancelled { bytes -= Self.cost(write.path, write.data) }
            return isCancelled
        }
    }

    /// What a write counts, in bytes: its data and what keeping its path costs.
    static func cost(_ path: Path, _ data: [UInt8]) -> Int {
        data.count + 64 * (path.depth + 1)
    }

    /// All writes by groups, in their order.
    var inGroups: [[Write]] {
        var found: [[Write]] = []
        for write in writes {
            if found.last?.last?.group == write.group {
                found[found.count - 1].append(write)
            } else {
                found.append([write])
            }
        }
        return found
    }
}

extension TreeServer {
    func queueOnDisconnect(
        _ request: SessionRequest, _ session: Session
    ) throws(Refusal) -> SessionReply {
        let isUpdate = request.action == "om"
        let path = try path(request, mayBePriority: !isUpdate)
        guard let data = request.member(SessionRequest.Name.data) else { throw .noData }
        let update: Update
        var writes: [(path: Path, data: [UInt8])] = []
        if isUpdate {
            guard request.tape.kind(data) == .object else {
                throw Refusal(400, "Invalid data; an update needs an object.")
            }
            update = try updates(
                request.tape, data, below: path, in: session.namespace, at: request.now)
            for (name, index) in request.tape.members(of: data) {
                let place = decoder.path(request.tape, name, below: path)
                writes.append((place, Array(request.tape.raw(index))))
            }
        } else {
            let value = try decode(
                request.tape, data, at: path, in: session.namespace, now: request.now)
            update = Update(path: path, value: value)
            writes.append((path, Array(request.tape.raw(data))))
        }
        guard session.namespace.mayWrite(update, as: session.caller, at: request.now) else {
            throw .permissionDenied
        }
        let bytes = writes.reduce(session.onDisconnect.bytes) {
            $0 + OnDisconnect.cost($1.path, $1.data)
        }
        guard bytes <= options.onDisconnectBytesMax else { throw .tooBig }
        session.onDisconnect.add(writes, at: path)
        return .done
    }

    func cancelOnDisconnect(
        _ request: SessionRequest, _ session: Session
    ) throws(Refusal) -> SessionReply {
        session.onDisconnect.cancel([try path(request, mayBePriority: true)])
        return .done
    }

    /// Writes what a client wanted written when it leaves, as far as it still may.
    func runOnDisconnect(_ session: Session, at now: Int64) {
        for group in session.onDisconnect.inGroups {
            var writes: [Update.Write] = []
            for write in group {
                guard let tape = try? parser.parse(write.data),
                    let value = try? decode(
                        tape, 0, at: write.path, in: session.namespace, now: now)
                else { continue }
                writes.append(Update.Write(path: write.path, value: value))
            }
            guard let update = try? Update(writes), let first = group.first, !writes.isEmpty
            else { continue }
            // `o` replaces its place; what is left of an `om` is an update below its.
            let isPut = group.count == 1 && first.path == first.place
            try? apply(
                update, to: session.namespace, at: first.place, as: isPut ? .put : .patch,
                by: session.caller, now: now)
        }
        session.onDisconnect = OnDisconnect()
    }
}
