internal import Tree

/// What a query shows of a place, kept up to date write by write.
///
/// It holds keys and what they are ordered by, not values: those are in the tree. A write costs a
/// look at the children it touches; only where a full window loses a child are all children looked
/// at again.
struct QueryWindow {
    let query: Query
    /// In the query's order.
    private var rows: [Query.Row] = []

    init(_ query: Query) { self.query = query }

    /// Begins anew with the place's value; the window's children.
    mutating func fill(from value: Value) -> Value {
        rows = query.rows(of: value)
        return query.node(of: rows, in: value)
    }

    /// The window's children, where the value is the one that the window was last told.
    func view(of value: Value) -> Value { query.node(of: rows, in: value) }

    /// Follows writes strictly below the place.
    ///
    /// - Parameters:
    ///   - writes: their paths are relative to the place.
    ///   - value: the place after the writes.
    ///   - showsPriorities: whether a change of a priority alone is worth telling.
    /// - Returns: what has changed in the window, in key order: the writes below children that stay
    ///   in it, the whole value of one that came, null for one that left.
    mutating func apply(
        _ writes: [Update.Write], leaving value: Value, showsPriorities: Bool
    ) -> [Update.Write] {
        var touched: [ChildKey: [Update.Write]] = [:]
        for write in writes {
            guard let name = write.path.segments.first, !isPriority(name) else { continue }
            touched[ChildKey(name), default: []].append(write)
        }
        guard !touched.isEmpty else { return [] }
        let before = Set(rows.lazy.map(\.key))
        move(touched.keys, in: value)
        let after = Set(rows.lazy.map(\.key))
        var changes: [Update.Write] = []
        for key in before.union(after).sorted() {
            switch (before.contains(key), after.contains(key)) {
            case (true, true):
                changes += (touched[key] ?? []).filter {
                    showsPriorities || !$0.path.isPriorityPlace
                }
            case (true, false): changes.append(Update.Write(path: place(key), value: .null))
            case (false, true):
                changes.append(Update.Write(path: place(key), value: value.children[key]))
            case (false, false): break
            }
        }
        return changes
    }

    private func place(_ key: ChildKey) -> Path { Path(segments: [key.bytes]) }

    /// Takes the touched children out and puts them where they belong now.
    private mutating func move(_ touched: some Collection<ChildKey>, in value: Value) {
        let limit = query.limit?.count ?? .max
        let wasFull = rows.count >= limit
        let edge = query.limit?.isLast == true ? rows.first : rows.last
        let moved = Set(touched)
        rows.removeAll { moved.contains($0.key) }
        for key in moved {
            guard let row = query.row(key, value.children[key]) else { continue }
            let place = rows.firstIndex { query.compare(row, $0) < 0 } ?? rows.count
            rows.insert(row, at: place)
        }
        guard wasFull, let edge else {
            rows = query.limited(rows)
            return
        }
        // The children outside lie beyond the edge that the window had. Where there are too few on
        // this side of it, one of them comes in.
        let near = rows.count {
            let order = query.compare($0, edge)
            return query.limit?.isLast == true ? order >= 0 : order <= 0
        }
        rows = near >= limit ? query.limited(rows) : query.rows(of: value)
    }
}

extension Query.Limit {
    var count: Int {
        switch self {
        case .first(let count), .last(let count): count
        }
    }

    var isLast: Bool {
        if case .last = self { true } else { false }
    }
}
