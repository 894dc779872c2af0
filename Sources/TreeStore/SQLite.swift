internal import CSQLite

/// An open database file, and its only owner.
@safe
final class SQLite {
    private let database: OpaquePointer
    private let path: String

    init(_ path: String) throws(TreeStoreError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard let database = unsafe opened else {
            throw TreeStoreError(path: path, reason: "no memory")
        }
        unsafe self.database = database
        self.path = path
        guard code == SQLITE_OK, unsafe fb_sqlite_keep_log(database) == SQLITE_OK else {
            throw error()
        }
    }

    deinit { unsafe sqlite3_close_v2(database) }

    /// The error of the call that has just failed.
    func error() -> TreeStoreError {
        let reason = unsafe String(cString: sqlite3_errmsg(database))
        let isBusy = unsafe sqlite3_errcode(database) == SQLITE_BUSY
        return TreeStoreError(path: path, reason: reason, isBusy: isBusy)
    }

    /// Runs statements that give no rows that anybody wants.
    func run(_ text: String) throws(TreeStoreError) {
        guard unsafe sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else {
            throw error()
        }
    }

    func prepare(_ text: String) throws(TreeStoreError) -> Statement {
        var statement: OpaquePointer?
        guard unsafe sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK,
            let statement = unsafe statement
        else { throw error() }
        return unsafe Statement(self, statement)
    }

    /// What a pragma says: a number.
    func pragma(_ name: String) throws(TreeStoreError) -> Int {
        let statement = try prepare("PRAGMA \(name)")
        return try statement.step() ? Int(statement.integer(0)) : 0
    }

    /// How many rows the last statement has changed.
    var changes: Int { unsafe Int(sqlite3_changes(database)) }

    /// A prepared statement.
    @safe
    final class Statement {
        private let owner: SQLite
        private let statement: OpaquePointer

        fileprivate init(_ owner: SQLite, _ statement: OpaquePointer) {
            self.owner = owner
            unsafe self.statement = statement
        }

        deinit { unsafe sqlite3_finalize(statement) }

        /// The next row, false at the end.
        func step() throws(TreeStoreError) -> Bool {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW: return true
            case SQLITE_DONE:
                unsafe sqlite3_reset(statement)
                return false
            default:
                let error = owner.error()
                unsafe sqlite3_reset(statement)
                throw error
            }
        }

        /// Runs it with these integers, and bytes after them.
        func run(_ integers: Int64..., bytes: [UInt8]? = nil) throws(TreeStoreError) {
            bind(integers)
            guard let bytes else {
                _ = try step()
                return
            }
            var failure: TreeStoreError?
            unsafe bytes.withUnsafeBytes { buffer in
                let place = Int32(integers.count + 1)
                unsafe fb_sqlite_bind(
                    statement, place, buffer.baseAddress, UInt64(buffer.count))
                do throws(TreeStoreError) { _ = try step() } catch { failure = error }
            }
            unsafe sqlite3_clear_bindings(statement)
            if let failure { throw failure }
        }

        func bind(_ integers: [Int64]) {
            for (index, integer) in integers.enumerated() {
                unsafe sqlite3_bind_int64(statement, Int32(index + 1), integer)
            }
        }

        func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

        func bytes(_ column: Int32) -> [UInt8] {
            let bytes = unsafe sqlite3_column_blob(statement, column)
            let count = unsafe Int(sqlite3_column_bytes(statement, column))
            return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }
}
