internal import BridgeCore
internal import Oracle

// What people and machines do to a running group.
extension World {
    private enum Deed { case rebalance, stop, refuse, down, reset, setBack, breakBroker }

    /// Does something now and then; often where answers are to come amid the next claim's work.
    ///
    /// - Parameter withState: whether offsets and the database may be set back too.
    func doMischief(to group: Group, times: Int, withState: Bool) {
        after(milliseconds(300, writesAreSlow ? 1_200 : 5_000)) { [self] in
            guard times > 0, !isCalm else { return }
            var deeds: [Deed] = []
            if faults.rebalances { deeds.append(.rebalance) }
            if faults.stops { deeds.append(.stop) }
            if faults.outages { deeds += [.refuse, .down] }
            if withState, faults.resets { deeds.append(.reset) }
            if withState, faults.setbacks { deeds.append(.setBack) }
            if circumstances.brokerOutages { deeds.append(.breakBroker) }
            guard !deeds.isEmpty else { return }
            perform(random.pick(deeds), on: group)
            doMischief(to: group, times: times - 1, withState: withState)
        }
    }

    private func perform(_ deed: Deed, on group: Group) {
        let duration = ms(random.pick([20, 100, 500, 3_000]))
        switch deed {
        case .rebalance:
            if !group.running.isEmpty { rebalance(group, lost: random.chance(0.5)) }
        case .stop:
            if !group.running.isEmpty { random.pick(group.running).stop() }
        case .refuse:
            log("the database refuses everything")
            refusingUntil = now + duration
        case .down:
            log("the database is down")
            downUntil = now + duration
        case .breakBroker:
            log("the broker takes nothing")
            brokerDownUntil = now + ms(random.pick([500, 3_000, 10_000]))
        case .reset: resetOffset(of: group)
        case .setBack: setBackDatabase(under: group)
        }
    }

    /// An operator sets an offset back while the group is down.
    private func resetOffset(of group: Group) {
        guard !group.isFrozen, !group.commits.isEmpty, isInStep(group) else { return }
        killAll(group)
        let partition = random.pick(group.commits.keys.sorted())
        let old = group.commits[partition]!.offset
        let beginning = group.passed[partition]?.map(\.upperBound).max() ?? 0
        guard beginning <= old else { return startAll(group) }
        let new = Int64(random.int(Int(beginning)..<Int(old) + 1))
        log("the operator sets \(partition) from \(old) to \(new)")
        count("operator's resets")
        group.commits[partition] = Group.Commit(offset: new, metadata: "")
        group.anew[partition] = nil
        after(faults.zombies ? milliseconds(0, 300) : ms(300)) { self.startAll(group) }
    }

    /// Neither an operator's word nor a set-back waits to be noticed.
    func isInStep(_ group: Group) -> Bool {
        group.commits.allSatisfy { partition, commit in
            commit.isMarked
                && watcher.watermark(group.name, partition, in: tree.root) ?? 0 >= commit.offset
        }
    }

    /// The database goes back to an earlier state while the group is down.
    private func setBackDatabase(under group: Group) {
        guard !group.isFrozen, !snapshots.isEmpty, group.commits.values.allSatisfy(\.isMarked)
        else { return }
        killAll(group)
        log("the database is set back")
        count("set-backs")
        age += 1
        tree.root = random.pick(snapshots)
        after(ms(300)) { self.startAll(group) }
    }

    /// Keeps states of the database to go back to, only such as have every partition's watermark.
    func takeSnapshots(of group: Group) {
        guard faults.setbacks else { return }
        after(milliseconds(500, 4_000)) { [self] in
            guard !isCalm, snapshots.count < 5 else { return }
            let isComplete = workload.partitions.allSatisfy {
                watcher.watermark(group.name, $0, in: tree.root) != nil
            }
            if isComplete { snapshots.append(tree.root) }
            takeSnapshots(of: group)
        }
    }

    /// Someone removes the nodes of some conversations while no bridge runs.
    func removeByHand() {
        // The second group restores only what it reads.
        guard logStarts.isEmpty, !hasSkipped else { return }
        let conversations = ["streaming", "conversations"].flatMap { name in
            tree.root[name]?.children.map { [escaped(name), $0.key] } ?? []
        }
        let events = (tree.root["events"]?.children ?? []).flatMap { name, node in
            node.children.map { [escaped("events"), name, $0.key] }
        }
        for path in conversations + events where random.chance(faults.removals) {
            log("by hand removed: \(show(path))")
            tree.root.set(path, nil)
        }
    }
}
