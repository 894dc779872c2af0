internal import BridgeCore
internal import Oracle

// What must hold when everything is delivered and nothing goes wrong any more.
extension World {
    func check(_ group: Group) {
        checkTree(after: group)
        checkDeadLetters(of: group)
        checkAgenda()
    }

    /// The tree is the one that the log demands; apart from streams whose time was up.
    private func checkTree(after group: Group) {
        var expected = expectedTree(after: group)
        var found = tree.root
        found.set([escaped("_firebridge")], nil)
        for (path, entry) in ledger {
            excuse(path, entry, in: &expected, found: &found)
        }
        if shape.settings.stallStatus { excuseStatuses(in: &expected, found: found) }
        let wrong = differences(
            expected: expected == .object([:]) ? nil : expected,
            found: found == .object([:]) ? nil : found)
        guard !wrong.isEmpty else { return }
        let some = wrong.prefix(3).map(\.description).joined(separator: "; ")
        fail("tree after \(group.name)", "\(wrong.count) differences: \(some)")
    }

    /// A stream may have been removed, or may have ended as stalled.
    private func excuse(
        _ path: [[UInt8]], _ entry: Node, in expected: inout Node, found: inout Node
    ) {
        guard let meta = expected.at(path)?["meta"], let run = meta["run_id"]?.text else {
            return fail("ledger of nothing", show(path))
        }
        let ledgerRun = entry["run"]?.text
        let isDisplaced = entry["old"]?[Key.escape(run)] != nil && shape.settings.keep > .zero
        if ledgerRun != run, isDisplaced || watcher.removedRuns.contains(run) {
            // Displaced while it was removed, before its birth was known; both can be one write.
            expected.set(path, nil)
            found.set(path, nil)
        } else if entry["removed"] != nil {
            if ledgerRun != run { fail("the wrong run was removed", show(path)) }
            expected.set(path, nil)
        } else if shape.settings.stallAfter > .zero, meta["status"] == .text("streaming"),
            let judged = found.at(path)?["meta"], judged["error_message"] == .text("stalled")
        {
            expected.set(path + [escaped("meta"), escaped("status")], .text("error"))
            expected.set(path + [escaped("meta"), escaped("error_message")], .text("stalled"))
            expected.set(path + [escaped("meta"), escaped("finished_at")], judged["finished_at"])
        }
    }

    /// A status node may say that a stream of the conversation has stalled, under its own time.
    private func excuseStatuses(in expected: inout Node, found: Node) {
        for conversation in watcher.stalledConversations {
            let path = [escaped("conversations"), conversation, escaped("status")]
            guard let status = found.at(path), let wanted = expected.at(path),
                status["error"]?["code"] == .text("stalled"), status["seq"] == wanted["seq"],
                status["since"] == wanted["since"],
                status["state"] == .text("CONVERSATION_ACTIVITY_STATE_ERROR"),
                wanted["state"] != .text("CONVERSATION_ACTIVITY_STATE_IDLE"),
                wanted["state"] != .text("CONVERSATION_ACTIVITY_STATE_ERROR")
            else { continue }
            expected.set(path, status)
        }
    }

    private func checkDeadLetters(of group: Group) {
        guard group.reject == .deadLetter, circumstances.reject == .deadLetter else { return }
        for partition in workload.partitions {
            for logged in workload.logs[partition]! {
                guard case .rejected(let reason) = logged.fate else { continue }
                let place = Place(partition: partition, offset: logged.record.offset)
                guard isDue(place, in: group), !group.deadLetters.contains(place) else { continue }
                fail("dead letter missing", "\(partition) \(place.offset), \(reason.rawValue)")
            }
        }
    }

    /// The agenda lists every stream of the ledger once, where it belongs.
    private func checkAgenda() {
        var wanted: [UInt8: Int] = [:]
        for (_, entry) in ledger {
            let kind = entry["removed"] != nil ? "r" : entry["end"] != nil ? "f" : "o"
            wanted[kind.utf8.first!, default: 0] += 1
        }
        var listed: [UInt8: Int] = [:]
        for (_, numbers) in tree.root.at(["_firebridge", "agenda"].map(escaped))?.children ?? [] {
            for (_, items) in numbers.children {
                for (name, _) in items.children { listed[name[0], default: 0] += 1 }
            }
        }
        func text(_ numbers: [UInt8: Int]) -> String {
            "ofr".utf8.map { "\(Unicode.Scalar($0)) \(numbers[$0] ?? 0)" }.joined(separator: ", ")
        }
        if wanted != listed {
            fail("agenda", "lists \(text(listed)), the ledger has \(text(wanted))")
        }
    }

    /// The ledger's entries, by the path of their stream.
    private var ledger: [(path: [[UInt8]], entry: Node)] {
        var entries: [(path: [[UInt8]], entry: Node)] = []
        for (_, set) in tree.root.at(["_firebridge", "streams"].map(escaped))?.children ?? [] {
            for (conversation, streams) in set.children {
                for (sequence, entry) in streams.children where sequence != escaped("erased") {
                    entries.append(([escaped("streaming"), conversation, sequence], entry))
                }
            }
        }
        return entries
    }

    /// Whether what is due by time has been done: finished streams removed, silent ones ended.
    var isTended: Bool { untended == nil }

    var untended: String? {
        for (path, entry) in ledger {
            let meta = tree.root.at(path)?["meta"]
            if shape.settings.keep > .zero, entry["end"] != nil, entry["removed"] == nil {
                return "; \(show(path)) is to be removed"
            }
            let state = tree.root.at([escaped("conversations"), path[1], escaped("status")])?[
                "state"]
            let isWorking = ["QUEUED", "EXECUTING_TOOLS", "COMPACTING"].contains {
                state == .text("CONVERSATION_ACTIVITY_STATE_\($0)")
            }
            if shape.settings.stallAfter > .zero, meta?["status"] == .text("streaming"), !isWorking
            {
                return "; \(show(path)) is to be ended as stalled"
            }
        }
        return nil
    }
}
