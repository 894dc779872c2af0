/// Writes that take effect together: each replaces all that stands at its path.
public struct Update: Equatable, Sendable {
    /// One write.
    public struct Write: Equatable, Sendable {
        /// Where.
        public var path: Path
        /// What shall stand there; null removes.
        public var value: Value

        /// Makes a write.
        public init(path: Path, value: Value) {
            self.path = path
            self.value = value
        }
    }

    /// Two writes of which one lies at or above the other, so that their order would matter.
    public struct Conflict: Error, Equatable, Sendable {
        /// The upper place.
        public var ancestor: Path
        /// The place at or below it.
        public var path: Path
    }

    /// The writes, ascending by path; no path is at or above another.
    public let writes: [Write]

    /// The update of these writes.
    public init(_ writes: [Write]) throws(Conflict) {
        let sorted =
            isAscending(writes) ? writes : writes.sorted { $0.path.order($1.path) < 0 }
        for index in sorted.indices.dropFirst() {
            let (a, b) = (sorted[index - 1].path, sorted[index].path)
            if a.isPrefix(of: b) { throw Conflict(ancestor: a, path: b) }
        }
        self.writes = sorted
    }

    /// The update of a single write.
    public init(path: Path, value: Value) { writes = [Write(path: path, value: value)] }
}

private func isAscending(_ writes: [Update.Write]) -> Bool {
    for index in writes.indices.dropFirst()
    where writes[index - 1].path.order(writes[index].path) > 0 {
        return false
    }
    return true
}

/// A database: one value with paths into it.
public struct Tree: Equatable, Sendable {
    /// All of it.
    public private(set) var root: Value

    /// A tree that holds a value.
    public init(_ root: Value = .null) { self.root = root }

    /// What stands at the path, null where nothing does.
    public func get(_ path: Path) -> Value { root[path] }

    /// Replaces what stands at the path.
    public mutating func set(_ value: consuming Value, at path: Path) { root.set(value, at: path) }

    /// Puts children beside those that stand at the path.
    public mutating func add(_ children: consuming Children, at path: Path) {
        root.add(children, at: path.segments, from: 0)
    }

    /// Applies all writes of the update; priorities last, so that what they belong to is there.
    public mutating func apply(_ update: Update) {
        var hasPriority = false
        for write in update.writes {
            if write.path.isPriorityPlace {
                hasPriority = true
            } else {
                root.set(write.value, at: write.path)
            }
        }
        guard hasPriority else { return }
        for write in update.writes where write.path.isPriorityPlace {
            root.set(write.value, at: write.path)
        }
    }
}
