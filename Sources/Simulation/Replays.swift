internal import BridgeCore
internal import Oracle

// A range is mirrored once more after a finished run: nothing may change.
extension World {
    /// Replays ranges of some topics, each until it has gone through.
    func playReplays(after group: Group) {
        // What was passed over would come after all.
        guard failures.isEmpty, group.passed.isEmpty, !hasSkipped, !wasSetBack else { return }
        var random = SplitMix64(seed: seed ^ 0x5EED)
        guard random.chance(0.6) else { return }
        for topic in random.shuffled(shape.plan.topics.sorted()).prefix(2) {
            var from: [TopicPartition: Int64] = [:]
            for partition in workload.partitions where partition.topic == topic {
                from[partition] = Int64(random.int(0..<Int(visibleEnd(partition)) + 1))
            }
            // Without its event node, a marker whose event was refused is not refused any more.
            let writesEvents = faults.poisonRecord > 0 || random.chance(0.5)
            replay(Replay(writesEvents: writesEvents), from: from, under: group)
            guard failures.isEmpty else { return }
            check(group)
        }
    }

    /// As the command does: once more, where the database has refused a value for which another was
    /// left out.
    private func replay(
        _ replay: Replay, from starts: [TopicPartition: Int64], under group: Group
    ) {
        let marks = tree.root.at(["_firebridge", "watermarks"].map(escaped))
        var refused: [TopicPartition: Set<Int64>] = [:]
        while failures.isEmpty {
            var survey = ReplaySurvey(of: replay, plan: shape.plan, refused: refused)
            for (partition, start) in starts.sorted(by: { $0.key < $1.key }) {
                let records = workload.logs[partition]!.map(\.record)
                survey.read(records.filter { $0.offset >= start }, from: partition)
            }
            let known = refused
            let found = play(replay.knowing(survey), from: starts, under: group)
            refused.merge(found) { $0.union($1) }
            if refused == known { break }
        }
        if marks != tree.root.at(["_firebridge", "watermarks"].map(escaped)) {
            fail("replay", "watermarks have moved")
        }
    }

    /// Replays until it has gone through; what the database refused then.
    private func play(
        _ replay: Replay, from starts: [TopicPartition: Int64], under group: Group
    ) -> [TopicPartition: Set<Int64>] {
        for attempt in 0..<5 {
            // Faults hold for the first attempts; a fence counts for a minute.
            isCalm = attempt > 2
            let instance = Instance(in: self, group: group, slot: 0, replay: (replay, starts))
            log("\(instance.name) replays \(starts.sorted { $0.key < $1.key })")
            count("replays")
            instance.replay()
            if !run(until: { instance.isDead }, within: ms(3_600_000)), failures.isEmpty {
                fail("stuck", "the replay \(instance.name) does not end")
            }
            guard failures.isEmpty else { break }
            isCalm = true
            run(for: ms(8_000))
            if instance.replayEnd == "" { return instance.refused }
            count("replays that ended early")
            if attempt == 4 {
                fail("replay", instance.replayEnd ?? "\(instance.name) died in a calm world")
            }
            run(for: ms(61_000))
        }
        return [:]
    }
}
