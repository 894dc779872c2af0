internal import Tree

/// All that stood in the databases at one moment, written down part by part, so that nobody has to
/// wait for the whole.
public struct Snapshot {
    struct Database {
        var name: [UInt8]
        /// The text of rules of its own.
        var rules: [UInt8]?
        var root: Value
    }

    /// A node that is written child by child.
    private struct Level {
        var place: Path
        var rest: Children.Iterator
        /// A child that did not go with the others.
        var next: (key: ChildKey, value: Value)?
        var priority: Value
    }

    /// A part is about so long, in bytes, save where a single text is longer.
    static let partBytes = 64 * 1024

    private var database: [UInt8] = []
    private var waiting: [Database]
    private var levels: [Level] = []

    init(_ databases: [Database]) { waiting = databases.reversed() }

    /// The next part, for `TreeServer.restore`; nil at the end.
    public mutating func next() -> [UInt8]? {
        while true {
            if let part = levels.isEmpty ? nextDatabase() : nextOfLevel() { return part }
            if levels.isEmpty, waiting.isEmpty { return nil }
        }
    }

    private mutating func nextDatabase() -> [UInt8]? {
        guard let next = waiting.popLast() else { return nil }
        database = next.name
        var part: [UInt8] = []
        if let rules = next.rules { part.append(rules: rules, of: database) }
        part += begin(next.root, at: .root) ?? []
        return part.isEmpty ? nil : part
    }

    /// Goes down into a node. A leaf is a part by itself.
    private mutating func begin(_ value: Value, at place: Path) -> [UInt8]? {
        guard value.isObject else {
            return value.isNull ? nil : entry(Update(path: place, value: value))
        }
        levels.append(
            Level(
                place: place, rest: value.children.makeIterator(), next: nil,
                priority: value.priority))
        return nil
    }

    private func entry(_ update: Update) -> [UInt8] {
        var part: [UInt8] = []
        part.begin(entry: Journal.Kind.update, of: database)
        part.append(packed: update)
        return part
    }

    /// The next children of the lowest level that go together.
    private mutating func nextOfLevel() -> [UInt8]? {
        guard var level = levels.popLast() else { return nil }
        var run: [UInt8] = []
        var count = 0
        while let child = level.next ?? level.rest.next() {
            level.next = nil
            let mark = run.count
            run.append(packed: child.key)
            if run.append(packed: child.value, countMax: mark + Self.partBytes) {
                count += 1
                guard run.count >= Self.partBytes else { continue }
                levels.append(level)
                return part(level.place, count, run)
            }
            run.removeLast(run.count - mark)
            guard count == 0 else {
                level.next = child
                levels.append(level)
                return part(level.place, count, run)
            }
            levels.append(level)
            return begin(child.value, at: level.place.appending(child.key.bytes))
        }
        // Its priority comes when there is something that can have it.
        guard count == 0 else {
            levels.append(level)
            return part(level.place, count, run)
        }
        guard !level.priority.isNull else { return nil }
        return entry(Update(path: level.place.appending(priorityName), value: level.priority))
    }

    private func part(_ place: Path, _ count: Int, _ run: [UInt8]) -> [UInt8] {
        var part: [UInt8] = []
        part.begin(entry: Journal.Kind.children, of: database)
        part.append(packed: place)
        part.append(varint: UInt64(count))
        part.append(contentsOf: run)
        return part
    }
}
