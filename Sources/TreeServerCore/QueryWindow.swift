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
        var left: Set<ChildKey> = []
        var entered: Set<ChildKey> = []
        move(Set(touched.keys), in: value, &left, &entered)
        var changes: [Update.Write] = []
        for key in left.union(entered).union(touched.keys).sorted() {
            if entered.contains(key), !left.contains(key) {
                changes.append(Update.Write(path: place(key), value: value.children[key]))
            } else if left.contains(key), !entered.contains(key) {
                changes.append(Update.Write(path: place(key), value: .null))
            } else if left.contains(key) {  // and came back: it has stayed
                changes += (touched[key] ?? []).filter {
                    showsPriorities || !$0.path.isPriorityPlace
                }
            }
        }
        return changes
    }

    private func place(_ key: ChildKey) -> Path { Path(segments: [key.bytes]) }

    /// Takes the touched children out and puts them where they belong now.
    ///
    /// - Parameters:
    ///   - left: takes the keys of rows that were taken out, also where they came back.
    ///   - entered: takes the keys of rows that were put in.
    private mutating func move(
        _ touched: Set<ChildKey>, in value: Value, _ left: inout Set<ChildKey>,
        _ entered: inout Set<ChildKey>
    ) {
        let limit = query.limit?.count ?? .max
        let isLast = query.limit?.isLast == true
        let edge = rows.count >= limit ? (isLast ? rows.first : rows.last) : nil
        rows.removeAll { row in
            guard touched.contains(row.key) else { return false }
            left.insert(row.key)
            return true
        }
        for key in touched {
            guard let row = query.row(key, value.children[key]) else { continue }
            rows.insert(row, at: place(of: row))
            entered.insert(key)
        }
        // The children outside lie beyond the edge that a full window had. Where there are too few
        // on this side of it, one of them comes in.
        if let edge {
            let near = rows.count {
                isLast ? query.compare($0, edge) >= 0 : query.compare($0, edge) <= 0
            }
            if near < limit { return refill(from: value, &left, &entered) }
        }
        while rows.count > limit {
            let out = isLast ? rows.removeFirst() : rows.removeLast()
            if entered.remove(out.key) == nil { left.insert(out.key) }
        }
    }

    private mutating func refill(
        from value: Value, _ left: inout Set<ChildKey>, _ entered: inout Set<ChildKey>
    ) {
        let known = Set(rows.lazy.map(\.key))
        rows = query.rows(of: value)
        let shown = Set(rows.lazy.map(\.key))
        for key in known.subtracting(shown) where entered.remove(key) == nil { left.insert(key) }
        entered.formUnion(shown.subtracting(known))
    }

    /// Where a row belongs among the others.
    private func place(of row: Query.Row) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if query.compare(rows[middle], row) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
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
