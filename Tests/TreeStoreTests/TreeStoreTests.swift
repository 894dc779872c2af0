import EventLoop
import Glibc
import Testing

@testable import TreeStore

/// A directory of one test's, gone with it.
private final class Directory {
    let path: String

    init() {
        path = "/tmp/firebridge-store-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    }

    var file: String { "\(path)/\(TreeStore.fileName)" }
    var log: String { file + "-wal" }

    deinit {
        for suffix in ["", "-wal", "-journal", "-shm"] { unsafe unlink(file + suffix) }
        unsafe rmdir(path)
    }

    func open(_ policy: SyncPolicy = .always) throws -> TreeStore {
        try TreeStore(path, policy: policy, version: 1)
    }

    /// All that counts, as a process that starts finds it.
    func load(_ policy: SyncPolicy = .always) throws -> (rows: [String], warnings: [String]) {
        let store = try open(policy)
        return (try rows(store), store.warnings)
    }

    func bytes(_ path: String) throws -> [UInt8] { try File.read(path, bytesMax: 1 << 28) }

    /// A copy of the files as they are now: what a machine leaves that loses power.
    func copy(cuttingLogAt count: Int? = nil) throws -> Directory {
        let copy = Directory()
        try File.makeDirectory(copy.path, mode: 0o700)
        try File.write(copy.file, bytes(file))
        let log = try bytes(log)
        try File.write(copy.log, Array(log.prefix(count ?? log.count)))
        return copy
    }
}

private func rows(_ store: TreeStore) throws -> [String] {
    var rows: [String] = []
    try store.load { rows.append(String(decoding: $0, as: UTF8.self)) }
    return rows
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite("The store of a durable tree") struct TreeStoreTests {
    @Test(
        "What was appended is there again, in order, by every policy",
        arguments: SyncPolicy.allCases)
    func appends(policy: SyncPolicy) throws {
        let directory = Directory()
        var store: TreeStore? = try directory.open(policy)
        #expect(try rows(store!) == [])
        for number in 0..<50 { try store!.append(bytes("e\(number)"), now: Int64(number)) }
        // As a process that was killed leaves it.
        let copy = try directory.copy()
        #expect(try copy.load().rows == (0..<50).map { "e\($0)" })
        store = nil
        let again = try directory.open(policy)
        #expect(try rows(again) == (0..<50).map { "e\($0)" })
        try again.append(bytes("more"), now: 0)
        #expect(try directory.copy().load().rows.last == "more")
    }

    @Test("Only by `interval` does anything wait for a sync, for a second")
    func intervals() throws {
        for policy in SyncPolicy.allCases {
            let directory = Directory()
            let store = try directory.open(policy)
            _ = try rows(store)
            try store.append(bytes("a"), now: 5000)
            try store.append(bytes("b"), now: 5500)
            #expect(store.syncDue == (policy == .interval ? 6000 : nil))
            try store.sync()
            #expect(store.syncDue == nil)
            #expect(try directory.copy().load().rows == ["a", "b"])
        }
    }

    @Test("A snapshot takes the place of the entries before it once it is whole, never earlier")
    func snapshots() throws {
        let directory = Directory()
        let store = try directory.open()
        _ = try rows(store)
        for round in 0..<3 {
            let before = try directory.copy().load().rows
            try store.append(bytes("x\(round)"), now: 0)
            try store.beginSnapshot()
            try store.add([bytes("p\(round)"), bytes("q\(round)")])
            try store.append(bytes("y\(round)"), now: 0)
            try store.add([bytes("r\(round)")])
            #expect(try directory.copy().load().rows == before + ["x\(round)", "y\(round)"])
            try store.finishSnapshot(journalBytes: 2)
            let after = ["p\(round)", "q\(round)", "r\(round)", "y\(round)"]
            #expect(try directory.copy().load().rows == after)
            while try store.collectGarbage() {}
            #expect(try directory.copy().load().rows == after)
            #expect(store.journalBytes == 2 && store.snapshotBytes == 6)
        }
    }

    @Test("A tree that has become small gives its room back, and a crash amid that harms nothing")
    func shrinks() throws {
        let directory = Directory()
        var store: TreeStore? = try directory.open(.never)
        let big = [UInt8](repeating: 0x78, count: 1 << 20)
        for _ in 0..<64 { try store?.append(big, now: 0) }
        try store?.beginSnapshot()
        try store?.add([bytes("all")])
        try store?.finishSnapshot(journalBytes: 0)
        var turns = 0
        while try store?.collectGarbage() == true {
            turns += 1
            if turns % 4 == 0 { #expect(try directory.copy().load(.never).rows == ["all"]) }
        }
        #expect(turns > 8)
        try store?.close()
        store = nil
        #expect(try directory.bytes(directory.file).count < 20 << 20)
        #expect(try directory.load().rows == ["all"])
    }

    @Test("A snapshot that a crash has left half is swept away")
    func halfSnapshot() throws {
        let directory = Directory()
        let store = try directory.open()
        _ = try rows(store)
        try store.append(bytes("a"), now: 0)
        try store.beginSnapshot()
        try store.add([bytes("half")])
        let copy = try directory.copy()
        let again = try copy.open()
        #expect(try rows(again) == ["a"])
        while try again.collectGarbage() {}
        try again.beginSnapshot()
        try again.add([bytes("whole")])
        try again.finishSnapshot(journalBytes: 0)
        while try again.collectGarbage() {}
        #expect(try copy.copy().load().rows == ["whole"])
    }

    @Test("Two processes never share a directory")
    func lock() throws {
        let directory = Directory()
        let store = try directory.open()
        _ = try rows(store)
        // Locks are a process's: another one has to try.
        let other = try Subprocess(
            ["sqlite3", directory.file, "SELECT count(*) FROM entries"], output: .null, error: .null
        )
        #expect(other.wait(timeout: .seconds(20)) != .code(0))
        try store.append(bytes("a"), now: 0)
    }

    @Test("A log that was torn at its end is cut there, with a warning")
    func torn() throws {
        let directory = Directory()
        let store = try directory.open()
        _ = try rows(store)
        for number in 0..<5 { try store.append(bytes("e\(number)"), now: 0) }
        let whole = try directory.bytes(directory.log).count
        try store.append(bytes("last"), now: 0)
        let all = try directory.bytes(directory.log).count
        #expect(all > whole)
        for cut in [whole + 1, whole + 23, whole + 24, whole + 2000, all - 1] {
            let copy = try directory.copy(cuttingLogAt: cut)
            let found = try copy.load()
            #expect(found.rows == (0..<5).map { "e\($0)" }, "cut at \(cut)")
            // Less than a frame's salts are nothing that could be told from an old frame.
            #expect(found.warnings.count == (cut - whole < 16 ? 0 : 1), "cut at \(cut)")
            #expect(found.warnings.allSatisfy { $0.contains("torn") })
        }
        for cut in [whole, all] {
            #expect(try directory.copy(cuttingLogAt: cut).load().warnings == [])
        }
        // And it goes on from there.
        let copy = try directory.copy(cuttingLogAt: all - 1)
        let again = try copy.open()
        _ = try rows(again)
        try again.append(bytes("new"), now: 0)
        #expect(try copy.copy().load().rows.last == "new")
    }

    @Test("A log that is damaged before its last commit is an error, unless it need not be whole")
    func damagedLog() throws {
        let directory = Directory()
        let store = try directory.open()
        _ = try rows(store)
        var ends: [Int] = []
        for number in 0..<6 {
            try store.append(bytes("e\(number)"), now: 0)
            ends.append(try directory.bytes(directory.log).count)
        }
        let copy = try directory.copy()
        var log = try copy.bytes(copy.log)
        log[ends[2] + 1000] ^= 1
        try File.write(copy.log, log)
        let error = #expect(throws: TreeStoreError.self) { try copy.load() }
        #expect(error?.description.contains("--fsync interval") == true)
        #expect(try copy.bytes(copy.log) == log, "nothing was changed")
        let found = try copy.load(.interval)
        #expect(found.rows == ["e0", "e1", "e2"] && found.warnings.count == 1)
    }

    @Test("Damage in the file is an error that says where, wherever it is, and changes nothing")
    func damagedFile() throws {
        let directory = Directory()
        var store: TreeStore? = try directory.open()
        _ = try rows(store!)
        for number in 0..<20 {
            try store!.append(
                bytes("entry \(number) ") + [UInt8](repeating: 7, count: 2000), now: 0)
        }
        try store!.close()
        store = nil
        let whole = try directory.bytes(directory.file)
        var found = 0
        for offset in stride(from: 100, to: whole.count, by: 997) {
            let copy = Directory()
            try File.makeDirectory(copy.path, mode: 0o700)
            var bytes = whole
            bytes[offset] ^= 0x10
            try File.write(copy.file, bytes)
            do {
                let rows = try copy.load().rows
                #expect(rows.count == 20, "a byte that nobody needs, at \(offset)")
                let isSame = zip(rows, 0..<20).allSatisfy { $0.hasPrefix("entry \($1) ") }
                #expect(isSame)
            } catch let error as TreeStoreError {
                #expect(error.description.hasPrefix(copy.file))
                found += 1
            }
        }
        #expect(found > 10)
    }

    @Test("Another program's database, a newer version and a file in the way are refused")
    func refused() throws {
        let directory = Directory()
        try File.makeDirectory(directory.path, mode: 0o700)
        let make = { (statement: String) in
            let other = try Subprocess(
                ["sqlite3", directory.file, statement], output: .null, error: .null)
            #expect(other.wait(timeout: .seconds(20)) == .code(0))
        }
        try make("CREATE TABLE t(x)")
        let other = #expect(throws: TreeStoreError.self) { try directory.open() }
        #expect(other?.reason == "expected a tree, found another database")
        try make("PRAGMA application_id=\(0x6662_7472); PRAGMA user_version=2")
        let newer = #expect(throws: TreeStoreError.self) { try directory.open() }
        #expect(newer?.reason.contains("newer firebridge") == true)
        try File.write(directory.file, bytes(String(repeating: "no database ", count: 100)))
        #expect(throws: TreeStoreError.self) { try directory.open() }
        #expect(throws: TreeStoreError.self) {
            try TreeStore("/proc/none/there", policy: .always, version: 1)
        }
    }

    @Test("The checksum is CRC-32 with a number before the bytes")
    func checksum() {
        #expect(Checksum().sum(0, bytes("123456789")) == 0xCBF4_3926)
        #expect(Checksum().sum(1, bytes("123456789")) != 0xCBF4_3926)
    }
}
