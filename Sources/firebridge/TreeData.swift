internal import Arguments
internal import EventLoop
internal import Tree
internal import TreeServerCore
internal import TreeStore

/// The directory of a durable tree: what has changed goes there before anybody is told.
///
/// A write that cannot be kept ends the process: it stands in the tree's memory already, and what
/// comes up again is what was kept.
final class TreeData {
    private let tree: TreeServer
    private let store: TreeStore
    /// A snapshot on its way to the disk, part by part, so that nobody waits for the whole.
    private var snapshot: Snapshot?
    /// How long the entries are that have come since the snapshot was taken.
    private var bytesSince = 0
    private var isTidying = true

    /// A snapshot is due when so many bytes of entries would have to be read at the next start, or
    /// half of what the last snapshot has.
    private static let journalBytesMin = 8 * 1024 * 1024
    /// How much of a snapshot is written between two turns of the loop, in bytes.
    private static let turnBytes = 256 * 1024

    /// The directory of `--data`, its tree read into the server; nil without that flag.
    init?(_ arguments: Arguments, _ tree: TreeServer) throws(TreeGuard.Failure) {
        guard let directory = arguments.value("data") else { return nil }
        let name = arguments.value("fsync") ?? SyncPolicy.always.rawValue
        guard let policy = SyncPolicy(rawValue: name) else {
            let known = SyncPolicy.allCases.map(\.rawValue).joined(separator: ", ")
            throw TreeGuard.Failure(
                lines: ["--fsync: expected one of \(known), found '\(name)'"],
                code: ExitCode.usage)
        }
        // An export that is mistyped would find an empty tree, and write that over the last one.
        let file = "\(directory)/\(TreeStore.fileName)"
        if arguments.has("export"), File.stamp(file) == nil {
            throw TreeGuard.Failure(lines: ["--export: no tree is kept there: \(file) is missing"])
        }
        do throws(TreeStoreError) {
            self.tree = tree
            store = try TreeStore(directory, policy: policy, version: packedVersion)
            for warning in store.warnings { _ = Output.fail("tree: \(warning)", code: 0) }
            var reader = PackedReader()
            try store.load { try tree.restore($0, with: &reader) }
        } catch {
            throw TreeGuard.Failure(lines: ["--data: \(error)"])
        }
        tree.keepChanges()
    }

    /// Whether something has changed that is not kept yet.
    var isPending: Bool { tree.hasChanges }

    /// Keeps what has changed.
    func settle(at now: Int64) {
        guard tree.hasChanges else { return }
        for entries in tree.takeChanges() {
            if snapshot != nil { bytesSince += entries.count }
            orEnd { () throws(TreeStoreError) in try store.append(entries, now: now) }
        }
    }

    /// Keeps all that there is now, however much, and gives back what room it does not need.
    func rewrite() {
        orEnd { () throws(TreeStoreError) in
            try store.beginSnapshot()
            snapshot = tree.snapshot()
            while snapshot != nil { try writeSnapshot() }
            while try store.collectGarbage() {}
        }
    }

    /// Does some of what can be done at any time.
    func turn(at now: Int64) {
        orEnd { () throws(TreeStoreError) in
            if let due = store.syncDue, now >= due { try store.sync() }
            if snapshot != nil {
                try writeSnapshot()
            } else if isTidying {
                isTidying = try store.collectGarbage()
            } else if store.journalBytes > max(Self.journalBytesMin, store.snapshotBytes / 2) {
                settle(at: now)
                try store.beginSnapshot()
                bytesSince = 0
                snapshot = tree.snapshot()
            }
        }
    }

    /// How long nothing of that is due; nil for ever.
    func nextTurn(at now: Int64) -> Duration? {
        let isLong = store.journalBytes > max(Self.journalBytesMin, store.snapshotBytes / 2)
        if snapshot != nil || isTidying || isLong { return .zero }
        return store.syncDue.map { .milliseconds(max(0, $0 - now)) }
    }

    /// Brings all to the disk.
    func close() {
        settle(at: 0)
        orEnd { () throws(TreeStoreError) in try store.close() }
    }

    private func writeSnapshot() throws(TreeStoreError) {
        var parts: [[UInt8]] = []
        var bytes = 0
        while bytes < Self.turnBytes {
            guard let part = snapshot?.next() else {
                try store.add(parts)
                try store.finishSnapshot(journalBytes: bytesSince)
                snapshot = nil
                isTidying = true
                return
            }
            bytes += part.count
            parts.append(part)
        }
        try store.add(parts)
    }

    private func orEnd(_ body: () throws(TreeStoreError) -> Void) {
        do throws(TreeStoreError) {
            try body()
        } catch {
            let code = Output.fail(
                "tree: --data: \(error); what was not acknowledged is lost, the rest is kept",
                code: ExitCode.internalError)
            ThisProcess.exitNow(code)
        }
    }
}
