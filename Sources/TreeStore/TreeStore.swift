internal import EventLoop

/// When what has been written is on the disk, and not only with the system.
public enum SyncPolicy: String, CaseIterable, Sendable {
    /// Before it is acknowledged.
    case always
    /// At most a second after it was acknowledged.
    case interval
    /// When the system likes.
    case never
}

/// A directory that keeps journal entries and snapshots: one SQLite database with a write-ahead
/// log.
///
/// The rows that count are the parts of one snapshot and the entries after it, in unbroken order,
/// each with its checksum. It knows nothing of what the bytes mean.
public final class TreeStore {
    /// The file in the directory.
    public static let fileName = "tree.db"

    private let path: String
    private let policy: SyncPolicy
    private let database: SQLite
    private let checksum = Checksum()
    private let begin, commit: SQLite.Statement
    private let insertEntry, insertPart, updateState: SQLite.Statement
    private var state = State()
    private var lastEntry: Int64 = 0
    /// The snapshot that is being written; nil where none is.
    private var draft: State?
    private var draftBytes = 0
    /// Whether rows may be left of what is superseded.
    private var hasGarbage = true
    private var synchronous = ""
    private var unsyncedSince: Int64?

    /// How long entries are that no snapshot has taken in, in bytes.
    public private(set) var journalBytes = 0
    /// How long the parts of the snapshot are, in bytes.
    public private(set) var snapshotBytes = 0
    /// What the operator should know of what was found.
    public private(set) var warnings: [String] = []

    private struct State {
        /// The number of the snapshot; 0 for none.
        var generation: Int64 = 0
        var parts: Int64 = 0
        /// The last entry that the snapshot has taken in.
        var entriesTaken: Int64 = 0
    }

    /// `fbtr`.
    private static let applicationID = 0x6662_7472
    /// So much may be empty in a file, in bytes.
    private static let spareBytes = 16 * 1024 * 1024
    /// How many pages are given back at a time.
    private static let shrinkPages = 512
    /// How long acknowledged writes may wait for the disk by `interval`, in milliseconds.
    private static let syncInterval: Int64 = 1000

    /// Opens the directory, made where it is missing, and locks it until the process ends.
    ///
    /// - Parameter version: of the form of entries and parts, from 1 on; a higher one is refused.
    public init(
        _ directory: String, policy: SyncPolicy, version: Int
    ) throws(TreeStoreError) {
        do {
            try File.makeDirectory(directory, mode: 0o700)
            // SQLite gives its log the same permissions.
            try File.make("\(directory)/\(Self.fileName)", mode: 0o600)
        } catch {
            throw TreeStoreError(path: directory, reason: error.reason)
        }
        path = "\(directory)/\(Self.fileName)"
        self.policy = policy
        database = try SQLite(path)
        // Exclusive before the first access: no shared memory, and nobody else comes in.
        try database.run("PRAGMA locking_mode=EXCLUSIVE")
        // Only a file without pages can be made so that it can give pages back (`shrink`).
        if try database.pragma("page_count") == 0 {
            try database.run("PRAGMA auto_vacuum=INCREMENTAL")
        }
        try database.run("PRAGMA journal_mode=WAL")
        // After a write of hundreds of megabytes the log is made short again.
        try database.run("PRAGMA journal_size_limit=67108864")
        try database.run("BEGIN IMMEDIATE; COMMIT")
        try Self.check(database, path, version)
        let log = try Self.examine(path, policy)
        try database.run(
            """
            PRAGMA application_id=\(Self.applicationID); PRAGMA user_version=\(version);
            CREATE TABLE IF NOT EXISTS entries(
                id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, body BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS parts(
                id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, body BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS state(
                id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, parts INTEGER NOT NULL,
                entries_taken INTEGER NOT NULL)
            """)
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        insertEntry = try database.prepare("INSERT INTO entries VALUES(?1, ?2, ?3)")
        insertPart = try database.prepare("INSERT INTO parts VALUES(?1, ?2, ?3)")
        updateState = try database.prepare("REPLACE INTO state VALUES(0, ?1, ?2, ?3)")
        if let log { warnings.append(log) }
    }

    private static func check(
        _ database: SQLite, _ path: String, _ known: Int
    ) throws(TreeStoreError) {
        let application = try database.pragma("application_id")
        let version = try database.pragma("user_version")
        let pages = try database.pragma("schema_version")
        guard pages == 0 || application == applicationID else {
            throw TreeStoreError(path: path, reason: "expected a tree, found another database")
        }
        guard version <= known else {
            throw TreeStoreError(
                path: path,
                reason: "expected version \(known) or lower, found \(version): "
                    + "a newer firebridge has written it")
        }
    }

    /// What SQLite drops of its log, in words; nil for nothing.
    private static func examine(
        _ path: String, _ policy: SyncPolicy
    ) throws(TreeStoreError) -> String? {
        let file: [UInt8]
        do {
            file = try File.read("\(path)-wal", bytesMax: .max)
        } catch {
            guard error.isNotFound else {
                throw TreeStoreError(path: "\(path)-wal", reason: error.reason)
            }
            return nil
        }
        let log = WriteAheadLog(file)
        guard log.framesCut > 0 else { return nil }
        let cut = "its last \(log.framesCut) pages are torn"
        // Each commit was on the disk before the next began: two cannot have been torn by a crash.
        guard policy != .always || log.commitsCut <= 1 else {
            throw TreeStoreError(
                path: "\(path)-wal",
                reason: "\(cut), with \(log.commitsCut) commits in them. That is damage, or it was "
                    + "written with another --fsync. Restore the directory from a copy, or start "
                    + "once with --fsync interval to go on without them")
        }
        return "\(path)-wal: \(cut) and are left out: a write that was not acknowledged, "
            + "or not yet synced"
    }
}

// Reading.
extension TreeStore {
    /// Gives all rows that count: the parts of the snapshot, then the entries.
    public func load(_ take: ([UInt8]) throws -> Void) throws(TreeStoreError) {
        let found = try database.prepare("SELECT generation, parts, entries_taken FROM state")
        while try found.step() {
            state = State(
                generation: found.integer(0), parts: found.integer(1),
                entriesTaken: found.integer(2))
        }
        let first = state.generation << 32
        snapshotBytes = try load(
            "parts", "id >= \(first) AND id < \(first + state.parts)", from: first, take
        ).bytes
        let parts = try count("parts", "id >= \(first) AND id < \(first + state.parts)")
        guard parts == state.parts else {
            throw damage("parts", "expected \(state.parts), found \(parts)")
        }
        let entries = try load(
            "entries", "id > \(state.entriesTaken)", from: state.entriesTaken + 1, take)
        journalBytes = entries.bytes
        lastEntry = state.entriesTaken + entries.count
    }

    private func count(_ table: String, _ condition: String) throws(TreeStoreError) -> Int64 {
        let rows = try database.prepare("SELECT count(*) FROM \(table) WHERE \(condition)")
        return try rows.step() ? rows.integer(0) : 0
    }

    private func load(
        _ table: String, _ condition: String, from first: Int64, _ take: ([UInt8]) throws -> Void
    ) throws(TreeStoreError) -> (count: Int64, bytes: Int) {
        let rows = try database.prepare(
            "SELECT id, sum, body FROM \(table) WHERE \(condition) ORDER BY id")
        var (count, bytes): (Int64, Int) = (0, 0)
        while try rows.step() {
            let id = rows.integer(0)
            let body = rows.bytes(2)
            guard id == first + count else {
                throw damage(table, "expected row \(first + count), found row \(id)")
            }
            guard checksum.sum(id, body) == rows.integer(1) else {
                throw damage(table, "row \(id) does not have its checksum")
            }
            do {
                try take(body)
            } catch {
                throw damage(table, "row \(id): \(error)")
            }
            count += 1
            bytes += body.count
        }
        return (count, bytes)
    }

    private func damage(_ table: String, _ what: String) -> TreeStoreError {
        TreeStoreError(
            path: path,
            reason: "\(table): \(what). The file is damaged; nothing was changed. "
                + "Restore the directory from a copy")
    }
}

// Writing.
extension TreeStore {
    /// Keeps entries. When it returns they survive the end of the process, and by
    /// `SyncPolicy.always` that of the machine.
    public func append(_ entries: [UInt8], now: Int64) throws(TreeStoreError) {
        try transaction(syncs: policy == .always) { () throws(TreeStoreError) in
            let id = lastEntry + 1
            try insertEntry.run(id, checksum.sum(id, entries), bytes: entries)
            lastEntry = id
        }
        journalBytes += entries.count
        if policy == .interval { unsyncedSince = unsyncedSince ?? now }
    }

    /// When `sync` is due, in milliseconds of the clock that `append` was told; nil where it is
    /// not.
    public var syncDue: Int64? { unsyncedSince.map { $0 + Self.syncInterval } }

    /// Brings what was acknowledged to the disk.
    public func sync() throws(TreeStoreError) {
        guard unsyncedSince != nil else { return }
        unsyncedSince = nil
        try transaction(syncs: true) { () throws(TreeStoreError) in try write(state) }
    }

    /// Brings all into the one file. Only for the end: it may take a while.
    public func close() throws(TreeStoreError) {
        try database.run("PRAGMA synchronous=FULL; PRAGMA wal_checkpoint(TRUNCATE)")
        synchronous = "FULL"
        unsyncedSince = nil
    }

    /// Begins a snapshot that takes in all entries so far; drops one that was begun.
    public func beginSnapshot() throws(TreeStoreError) {
        // A number that no row left by a crash bears.
        let rows = try database.prepare("SELECT max(id) >> 32 FROM parts")
        let last = try rows.step() ? rows.integer(0) : 0
        draft = State(
            generation: max(last, state.generation) + 1, parts: 0, entriesTaken: lastEntry)
        draftBytes = 0
    }

    /// Adds parts to the snapshot that was begun.
    public func add(_ parts: [[UInt8]]) throws(TreeStoreError) {
        guard var draft else { return }
        try transaction(syncs: false) { () throws(TreeStoreError) in
            for part in parts {
                let id = draft.generation << 32 + draft.parts
                try insertPart.run(id, checksum.sum(id, part), bytes: part)
                draft.parts += 1
                draftBytes += part.count
            }
        }
        self.draft = draft
    }

    /// The snapshot is whole: from now on it counts, and what it has taken in is garbage.
    ///
    /// - Parameter journalBytes: how long the entries are that have come since it was begun.
    public func finishSnapshot(journalBytes: Int) throws(TreeStoreError) {
        guard let draft else { return }
        try transaction(syncs: policy != .never) { () throws(TreeStoreError) in try write(draft) }
        state = draft
        self.draft = nil
        self.journalBytes = journalBytes
        snapshotBytes = draftBytes
        hasGarbage = true
    }

    /// Removes some of what is superseded, or gives back some of its room.
    ///
    /// - Returns: whether there may be more.
    public func collectGarbage() throws(TreeStoreError) -> Bool {
        guard hasGarbage else { return false }
        let first = state.generation << 32
        let drafted = (draft?.generation ?? .max >> 32) << 32
        var removed = 0
        try transaction(syncs: false) { () throws(TreeStoreError) in
            try database.run(
                """
                DELETE FROM entries WHERE id IN (SELECT id FROM entries \
                WHERE id <= \(state.entriesTaken) ORDER BY id LIMIT 64)
                """)
            removed += database.changes
            try database.run(
                """
                DELETE FROM parts WHERE id IN (SELECT id FROM parts WHERE id < \(first) \
                OR id >= \(first + state.parts) AND id < \(drafted) ORDER BY id LIMIT 8)
                """)
            removed += database.changes
        }
        hasGarbage = removed > 0
        if !hasGarbage { hasGarbage = try shrink() }
        return hasGarbage
    }

    /// Gives room back to the system where most of the file is empty, so that it does not stay as
    /// long as the tree has ever been. The next snapshot needs some.
    ///
    /// - Returns: whether there may be more.
    private func shrink() throws(TreeStoreError) -> Bool {
        let spare = max(Self.spareBytes, 2 * (snapshotBytes + journalBytes))
        let free = try database.pragma("freelist_count")
        guard try free * database.pragma("page_size") > spare else { return false }
        try transaction(syncs: false) { () throws(TreeStoreError) in
            try database.run("PRAGMA incremental_vacuum(\(Self.shrinkPages))")
        }
        return try database.pragma("freelist_count") < free
    }

    private func write(_ state: State) throws(TreeStoreError) {
        try updateState.run(state.generation, state.parts, state.entriesTaken)
    }

    private func transaction(
        syncs: Bool, _ body: () throws(TreeStoreError) -> Void
    ) throws(TreeStoreError) {
        // NORMAL keeps the file sound whatever happens; FULL waits for the disk at each commit.
        let wanted = syncs ? "FULL" : "NORMAL"
        if synchronous != wanted {
            try database.run("PRAGMA synchronous=\(wanted)")
            synchronous = wanted
        }
        try begin.run()
        try body()
        try commit.run()
        if syncs { unsyncedSince = nil }
    }
}
