internal import Tree

/// `orderBy` with its bounds and limit: which children of a place are shown.
struct Query {
    enum Order: Equatable {
        case key, value, priority
        case child(Path)
    }

    enum Limit: Equatable {
        case first(Int), last(Int)
    }

    struct Bound {
        var value: Value
        /// Nil: the bound takes in, or leaves out, all keys of its value.
        var key: BoundKey?
        var inclusive: Bool
    }

    enum BoundKey: Equatable {
        case key(ChildKey)
        /// Before and after all keys: `[MIN_NAME]` and `[MAX_NAME]` of sessions.
        case lowest, highest
    }

    var order: Order
    var start: Bound?
    var end: Bound?
    var limit: Limit?

    /// A child, by its key and what the query orders by.
    struct Row {
        var key: ChildKey
        var index: Value
    }

    /// The children of `value` that the query shows; null for a leaf.
    func select(from value: Value) -> Value { node(of: rows(of: value), in: value) }

    /// The children that the query shows, in its order.
    func rows(of value: Value) -> [Row] {
        var rows: [Row] = []
        for (key, child) in value.children {
            if let row = row(key, child) { rows.append(row) }
        }
        if order != .key { rows.sort { compare($0, $1) < 0 } }
        return limited(rows)
    }

    /// The row of a child; nil where there is none or it lies outside the bounds.
    func row(_ key: ChildKey, _ child: Value) -> Row? {
        if child.isNull { return nil }
        let row = Row(key: key, index: index(of: child))
        return isInside(row) ? row : nil
    }

    /// Rows in the query's order, cut to its limit.
    func limited(_ rows: [Row]) -> [Row] {
        switch limit {
        case .first(let count) where rows.count > count: Array(rows.prefix(count))
        case .last(let count) where rows.count > count: Array(rows.suffix(count))
        default: rows
        }
    }

    /// The node of the rows' children.
    func node(of rows: [Row], in value: Value) -> Value {
        let children = value.children
        return .node(rows.map { (name: $0.key.bytes, value: children[$0.key]) })
    }

    private func index(of child: Value) -> Value {
        let index: Value =
            switch order {
            case .key: .null
            case .priority: child.priority
            case .value: child.plain
            case .child(let path): child[path].plain
            }
        // Nodes are ordered alike: the rank is all that is kept of them.
        return index.isObject ? .object(Children()) : index
    }

    private func isInside(_ row: Row) -> Bool {
        if let start {
            let order = compare(row, start, openKeyIsAfter: !start.inclusive)
            if order < 0 || order == 0 && !start.inclusive { return false }
        }
        if let end {
            let order = compare(row, end, openKeyIsAfter: end.inclusive)
            if order > 0 || order == 0 && !end.inclusive { return false }
        }
        return true
    }

    /// - Parameter openKeyIsAfter: whether a bound without key lies after all keys of its value, or
    ///   before them.
    private func compare(_ row: Row, _ bound: Bound, openKeyIsAfter: Bool) -> Int {
        let order = self.order == .key ? 0 : row.index.rankOrder(bound.value)
        if order != 0 { return order }
        switch bound.key {
        case nil: return openKeyIsAfter ? -1 : 1
        case .lowest: return 1
        case .highest: return -1
        case .key(let key): return row.key < key ? -1 : row.key == key ? 0 : 1
        }
    }

    func compare(_ a: Row, _ b: Row) -> Int {
        let order = a.index.rankOrder(b.index)
        if order != 0 { return order }
        return a.key == b.key ? 0 : a.key < b.key ? -1 : 1
    }
}
