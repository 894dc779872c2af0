internal import BridgeCore
internal import Oracle

// What operators do with a group: some of it while the group is down, some of it because a
// partition stands still.
extension World {
    var isBrokerUp: Bool { now >= brokerDownUntil }

    /// Does the deeds of the circumstances, one after the other.
    func keepUp(_ group: Group) {
        group.upkeepLeft += circumstances.upkeep.count
        for (index, deed) in circumstances.upkeep.enumerated() {
            after(milliseconds(300, 4_000) + ms(20_000 * index)) {
                self.keepUp(group, deed, tries: 5)
            }
        }
    }

    /// The group is stopped, what was under way arrives, then the deed is done.
    private func keepUp(_ group: Group, _ deed: Circumstances.Upkeep, tries: Int) {
        guard !group.isFrozen, isInStep(group) else {
            if tries == 0 { return group.upkeepLeft -= 1 }
            after(ms(1_500)) { self.keepUp(group, deed, tries: tries - 1) }
            return
        }
        killAll(group)
        after(requestTimeout + ms(7_000)) { [self] in
            if isInStep(group) { perform(deed, on: group) }
            group.upkeepLeft -= 1
            startAll(group)
        }
    }

    private func perform(_ deed: Circumstances.Upkeep, on group: Group) {
        switch deed {
        case .skip: skip(in: group)
        case .retention: removeByRetention(under: group)
        case .anotherCluster: moveToAnotherCluster(group)
        case .strayWatermark: strayWatermark(of: group)
        case .erasure: eraseConversation(of: group)
        }
    }

    // MARK: Offsets

    /// Where a partition is resumed, if nothing beyond has taken effect.
    private func certainPosition(of partition: TopicPartition, in group: Group) -> Int64? {
        if let commit = group.commits[partition], !commit.isMarked { return nil }
        let mark = watcher.watermark(group.name, partition, in: tree.root) ?? 0
        guard watcher.trusts(group.name, partition, of: cluster, in: tree.root) else { return nil }
        guard !wasSetBack, group.halts[partition] == nil, mark <= visibleEnd(partition),
            mark >= watcher.greatestWatermark(group.name, partition)
        else { return nil }
        // A dead letter that was awaited held the watermark while records beyond took effect.
        let reached = group.reached[partition] ?? 0
        let isPlain = workload.logs[partition]!.allSatisfy {
            $0.record.offset >= reached || $0.fate == .effect
        }
        return mark >= reached || isPlain ? mark : nil
    }

    /// Some records that can be passed over, with the tree still being certain.
    private func passable(in group: Group) -> (partition: TopicPartition, offsets: Range<Int64>)? {
        let topics: Set<String> = [LogRecord.chunks, LogRecord.runs, LogRecord.messages]
        for partition in random.shuffled(workload.partitions)
        where topics.contains(partition.topic)
            && !(circumstances.byArrival && partition.topic == LogRecord.chunks)
        {
            guard let from = certainPosition(of: partition, in: group),
                from >= logStarts[partition] ?? 0, from < recordEnd(partition)
            else { continue }
            let offsets = from..<Int64(random.int(Int(from) + 1..<Int(recordEnd(partition)) + 1))
            let isPossible = canPass(
                { place, _ in place.partition == partition && offsets.contains(place.offset) },
                in: group)
            if isPossible { return (partition, offsets) }
        }
        return nil
    }

    private func skip(in group: Group) {
        guard let (partition, offsets) = passable(in: group) else { return }
        log("the operator sets \(partition) forward, over \(offsets)")
        count("skips")
        hasSkipped = true
        group.passed[partition, default: []].append(offsets)
        group.commits[partition] = Group.Commit(offset: offsets.upperBound, metadata: "")
        group.anew[partition] = nil
    }

    private func removeByRetention(under group: Group) {
        guard let (partition, offsets) = passable(in: group) else { return }
        let isKnown =
            group.commits[partition] != nil
            || watcher.watermark(group.name, partition, in: tree.root) != nil
        var passed = offsets
        if isKnown, circumstances.onGap == .latest {
            guard visibleCount(partition) == workload.logs[partition]!.count else { return }
            passed = offsets.lowerBound..<visibleEnd(partition)
            let isPossible = canPass(
                { place, _ in place.partition == partition && passed.contains(place.offset) },
                in: group)
            guard isPossible else { return }
        }
        log("retention: \(partition) begins at \(offsets.upperBound)")
        count("retention gaps")
        logStarts[partition] = offsets.upperBound
        group.anew[partition] = nil
        group.passed[partition, default: []].append(passed)
        if isKnown, circumstances.onGap == .halt {
            group.halts[partition] = .gap(resume: offsets.upperBound)
        }
    }

    private func moveToAnotherCluster(_ group: Group) {
        guard group.passed.isEmpty, group.halts.isEmpty else { return }
        cluster += "'"
        log("another cluster: \(cluster)")
        count("other clusters")
        group.commits = [:]
        for partition in workload.partitions { group.anew[partition] = logStarts[partition] ?? 0 }
    }

    private func strayWatermark(of group: Group) {
        let partition = random.pick(workload.partitions)
        guard group.passed[partition] == nil, group.halts[partition] == nil else { return }
        let path = ["_firebridge", "watermarks", group.name, partition.topic].map(escaped)
        let next = Node.integer(Int(workload.ends[partition]!) + random.int(1..<5))
        log("the watermark of \(partition) is beyond the end")
        count("stray watermarks")
        tree.root.set(
            path + [Array(String(partition.partition).utf8)],
            .object(of: [("next", next), ("cluster", .text(cluster))]))
    }

    // MARK: Erasure

    /// Removes everything of a conversation, and leaves the mark that keeps it away.
    private func eraseConversation(of group: Group) {
        guard let id = random.pick(workload.valid).record.key else { return }
        var last: Int64 = 0
        for partition in workload.partitions {
            for logged in workload.logs[partition]!.prefix(visibleCount(partition))
            where logged.record.key == id { last = max(last, logged.record.timestamp ?? 0) }
        }
        let isPossible = canPass(
            { _, record in record.key == id && record.timestamp ?? 0 <= last }, in: group)
        guard last > 0, isPossible else { return }
        log("erased: \(show([id])) through \(last)")
        count("erasures")
        for partition in workload.partitions {
            for logged in workload.logs[partition]!
            where logged.record.key == id && logged.record.timestamp ?? 0 <= last {
                erased.insert(Place(partition: partition, offset: logged.record.offset))
            }
        }
        erase(id, through: last)
    }

    private func erase(_ id: [UInt8], through last: Int64) {
        var erasing = Erasure(
            of: id, plan: shape.plan, settings: shape.settings, owner: "eraser")
        do throws(Erasure.Failure) {
            _ = try erasing.run(wall: wall) { $0.map(answerEraser) }
        } catch {
            return fail("erasure", "\(show([id])): \(error)")
        }
        // As if it had been erased then: what has come since counts as later.
        for set in shape.plan.sets {
            let state = ["_firebridge", "streams"].map(escaped) + [set.key, Key.escape(id)]
            guard tree.root.at(state)?.children.count == 1 else {
                return fail("erasure", "\(show(state)) is not the mark alone")
            }
            tree.root.set(state + [escaped("erased")], .integer(Int(last)))
        }
    }

    /// The database's answer to an operator who has waited for a minute.
    private func answerEraser(_ method: Request.Method) -> Outcome {
        let date = wall + 61_000
        switch method {
        case .get(let path, let shallow):
            return .done(body: tree.get(path, shallow: shallow), date: date)
        case .list: return .refused(status: 400, "an eraser lists nothing")
        case .patch(let body):
            if body.count > shape.patchBytesMax { return .tooBig("HTTP 400: too big") }
            do throws(ProtocolBreach) {
                let writes = try tree.writes(of: body, time: wall)
                guard !tree.isFenced(writes) else {
                    return .refused(status: 401, "Permission denied")
                }
                tree.apply(writes)
                return .done(body: [], date: date)
            } catch {
                fail("protocol breach", "the eraser: \(error.message)")
                return .refused(status: 400, error.message)
            }
        }
    }

    // MARK: Partitions that stand still

    /// Looks now and then whether a partition stands still, and helps once all others are done.
    func attend(_ group: Group) {
        after(ms(2_000)) { [self] in
            attend(group)
            guard !group.halts.isEmpty, !group.isFrozen, group.upkeepLeft == 0, isInStep(group),
                workload.partitions.allSatisfy({
                    group.halts[$0] != nil || isDone($0, in: group)
                }),
                group.halts.allSatisfy({ isTold($0.key, $0.value, in: group) })
            else { return }
            help(group)
        }
    }

    /// The tree's watermark says that everything before the place has been delivered.
    private func isTold(
        _ partition: TopicPartition, _ halt: Group.Halt, in group: Group
    ) -> Bool {
        guard case .record(let offset) = halt else { return true }
        let mark = watcher.watermark(group.name, partition, in: tree.root) ?? 0
        let log = workload.logs[partition]!
        return log.firstIndex(notBefore: mark) == log.firstIndex(notBefore: offset)
    }

    private func help(_ group: Group) {
        let halts = group.halts
        count("halts ended", halts.count)
        killAll(group)
        group.halts = [:]
        let accepts = group.reject == .stop && random.chance(0.3)
        if accepts {
            log("the operator lets \(group.name) reject records")
            group.reject = .deadLetter
        }
        for (partition, halt) in halts.sorted(by: { $0.key < $1.key }) {
            switch halt {
            case .gap(let resume):
                group.commits[partition] = Group.Commit(offset: resume, metadata: "")
            case .record(let offset) where !accepts:
                group.passed[partition, default: []].append(offset..<offset + 1)
                group.commits[partition] = Group.Commit(offset: offset + 1, metadata: "")
            case .record: break
            }
        }
        log("the operator helps \(halts.count) partitions on")
        after(ms(300)) { self.startAll(group) }
    }

    // MARK: Partition counts

    /// Two topics of one set differ for a while, from the start or later.
    func playUnequalCounts(_ group: Group) {
        let topic = random.pick([LogRecord.chunks, LogRecord.runs])
        let from = random.pick([0, milliseconds(100, 3_000)])
        group.upkeepLeft += 1
        change(topic, by: 1, at: now + from, in: group) { [self] in
            let until = now + milliseconds(500, 10_000)
            change(topic, by: -1, at: until, in: group) { group.upkeepLeft -= 1 }
        }
    }

    private func change(
        _ topic: String, by number: Int, at time: Int64, in group: Group,
        then: @escaping () -> Void
    ) {
        func set() {
            log("\(topic) has \(number) partitions more")
            countsOfPartitions[topic]! += number
            then()
        }
        if time == now { return set() }
        at(time) { [self] in
            // Who begins anew at once may meet its own writes: without fences not even that is
            // safe.
            guard !faults.hasFence else {
                set()
                for instance in group.running {
                    after(milliseconds(0, 2_000)) { instance.hearCounts() }
                }
                return
            }
            guard !group.isFrozen else {
                return change(topic, by: number, at: now + ms(500), in: group, then: then)
            }
            killAll(group)
            set()
            after(ms(300)) { self.startAll(group) }
        }
    }
}
