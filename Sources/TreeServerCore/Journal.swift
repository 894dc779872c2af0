public import Tree
internal import TreeRules

/// What changes the databases, as bytes: entries one after the other, which a server that starts
/// anew reads back (`TreeServer.restore`).
///
/// An entry is its kind, the length and bytes of the database's name, and by kind:
///
///     1  an update                                   its writes, in the packed form
///     2  rules                                       their length and text
///     3  a part of a snapshot                        a path, children that stand there
struct Journal {
    enum Kind {
        static let update: UInt8 = 1
        static let rules: UInt8 = 2
        static let children: UInt8 = 3
    }

    /// The longest entry, in bytes: what keeps them takes no more than 1 GB in one piece, and a write
    /// of 256 MiB of JSON can be longer than that.
    let entryBytesMax: Int
    /// What was noted since it was last taken, save what is in `full`.
    private var entries: [UInt8] = []
    private var full: [[UInt8]] = []

    private static let rowBytesMax = 256 * 1024 * 1024

    init(entryBytesMax: Int) { self.entryBytesMax = entryBytesMax }

    var isEmpty: Bool { entries.isEmpty && full.isEmpty }

    /// - Returns: false where the update is too long; then nothing is noted.
    mutating func note(_ update: Update, in database: [UInt8]) -> Bool {
        let mark = entries.count
        entries.begin(entry: Kind.update, of: database)
        entries.append(packed: update)
        guard entries.count - mark <= entryBytesMax else {
            entries.removeLast(entries.count - mark)
            return false
        }
        if entries.count > Self.rowBytesMax {
            full.append(entries)
            entries = []
        }
        return true
    }

    mutating func note(rules text: [UInt8], in database: [UInt8]) {
        entries.append(rules: text, of: database)
    }

    mutating func take() -> [[UInt8]] {
        defer {
            full = []
            entries.removeAll(keepingCapacity: entries.capacity < 1 << 20)
        }
        return entries.isEmpty ? full : full + [entries]
    }
}

extension [UInt8] {
    mutating func begin(entry kind: UInt8, of database: [UInt8]) {
        append(kind)
        append(varint: UInt64(database.count))
        append(contentsOf: database)
    }

    mutating func append(rules text: [UInt8], of database: [UInt8]) {
        begin(entry: Journal.Kind.rules, of: database)
        append(varint: UInt64(text.count))
        append(contentsOf: text)
    }
}

/// Why entries of a journal cannot be read back.
public enum JournalError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The bytes are no entry, so many bytes from their beginning.
    case malformed(offset: Int)
    /// Rules of a database that are none, by this version.
    case rules(database: String, message: String)

    /// What is wrong, in words.
    public var description: String {
        switch self {
        case .malformed(let offset): "no journal entry at byte \(offset)"
        case .rules(let database, let message): "the rules of '\(database)': \(message)"
        }
    }
}

// Durability: the shell keeps what is noted here before any answer goes out.
extension TreeServer {
    /// Begins to write down what changes, for `takeChanges`.
    ///
    /// - Parameter entryBytesMax: a write that is longer, written down, is refused.
    public func keepChanges(entryBytesMax: Int = 512 * 1024 * 1024) {
        journal = Journal(entryBytesMax: entryBytesMax)
    }

    /// Whether something has changed since changes were last taken.
    public var hasChanges: Bool { journal?.isEmpty == false }

    /// What has changed since the last time, in order, in pieces of some hundred megabytes at most.
    public func takeChanges() -> [[UInt8]] { journal?.take() ?? [] }

    /// All that there is now: parts that, restored in order, make the same databases. It costs
    /// nothing to take; later changes do not show in it.
    public func snapshot() -> Snapshot {
        Snapshot(
            namespaceNames.map { name in
                let namespace = namespace(name)
                let rules = namespace.hasOwnRules ? namespace.rules?.text : nil
                return Snapshot.Database(name: name, rules: rules, root: namespace.tree.root)
            })
    }

    /// Takes entries of a journal, or a part of a snapshot, for what has happened. Before anybody
    /// is served.
    public func restore(
        _ entries: [UInt8], with reader: inout PackedReader
    ) throws(JournalError) {
        reader.begin(entries)
        while !reader.isAtEnd {
            let change: Change
            do {
                change = try Change(&reader)
            } catch {
                throw .malformed(offset: error.offset)
            }
            let namespace = namespace(change.database)
            switch change.content {
            case .update(let update): namespace.restore { $0.apply(update) }
            case .children(let path, let children): namespace.restore { $0.add(children, at: path) }
            case .rules(let text):
                do {
                    namespace.rules = try Rules(text)
                } catch {
                    let name = String(decoding: change.database, as: UTF8.self)
                    throw .rules(database: name, message: error.description)
                }
            }
            forgetIfBlank(namespace)
        }
    }

    /// What stands in a database.
    public func root(of database: [UInt8]) -> Value { namespace(database).tree.root }

    /// Replaces all that stands in a database, as its owner may. It is not written down as a change:
    /// a snapshot follows, which has no limit.
    public func replace(_ database: [UInt8], with root: Value) {
        namespace(database).restore { $0 = Tree(root) }
    }
}

/// One entry, read back.
private struct Change {
    enum Content {
        case update(Update)
        case rules([UInt8])
        case children(Path, Children)
    }

    var database: [UInt8]
    var content: Content

    init(_ reader: inout PackedReader) throws(PackedError) {
        let kind = try reader.byte()
        database = try reader.text(reader.count())
        switch kind {
        case Journal.Kind.update: content = .update(try reader.update())
        case Journal.Kind.rules: content = .rules(try reader.text(reader.count()))
        case Journal.Kind.children:
            let path = try reader.path()
            content = .children(path, try reader.children())
        default: throw PackedError(offset: 0)
        }
    }
}
