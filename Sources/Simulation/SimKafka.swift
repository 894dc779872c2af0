internal import BridgeCore
internal import Oracle

/// A consumer group of the simulated Kafka: who owns what, and what is committed.
final class Group {
    struct Commit: Equatable {
        var offset: Int64
        /// Empty where an operator set it.
        var metadata: String

        var isMarked: Bool { metadata == Bridge.commitMark }
    }

    let name: String
    /// The running processes, by the place they are started at.
    var slots: [Instance?]
    var owners: [Int32: Instance] = [:]
    var commits: [TopicPartition: Commit] = [:]
    var deadLetters: Set<Place> = []
    /// While an operator keeps the whole group down.
    var isFrozen = false
    /// Counts rebalances; an old one that goes on late is told by its number.
    var rebalance = 0
    var isRebalancing = false
    /// What becomes of rejected records; an operator may change it.
    var reject: RejectPolicy
    /// Partitions that stand still until an operator does something.
    var halts: [TopicPartition: Halt] = [:]
    /// Records that the group never gets to see, or that an operator let it pass over.
    var passed: [TopicPartition: [Range<Int64>]] = [:]
    /// Where partitions must be resumed, whatever the tree remembers.
    var anew: [TopicPartition: Int64] = [:]
    /// The offset after the last record that was read of each partition.
    var reached: [TopicPartition: Int64] = [:]
    /// How many deeds of its operators are still to come.
    var upkeepLeft = 0

    /// Why a partition stands still.
    enum Halt: Equatable {
        /// Before a gap, with `on_gap: halt`; the log begins here now.
        case gap(resume: Int64)
        /// At a record that was rejected, with `reject: stop`.
        case record(Int64)
    }

    init(name: String, slots: Int, reject: RejectPolicy) {
        self.name = name
        self.reject = reject
        self.slots = Array(repeating: nil, count: slots)
    }

    var running: [Instance] { slots.compactMap { $0 } }

    func passes(_ place: Place) -> Bool {
        passed[place.partition]?.contains { $0.contains(place.offset) } ?? false
    }
}

/// One record's place.
struct Place: Hashable {
    var partition: TopicPartition
    var offset: Int64
}

extension World {
    /// Starts a process in an empty slot.
    func start(_ group: Group, slot: Int) {
        guard !group.isFrozen, group.slots[slot] == nil else { return }
        group.slots[slot] = Instance(in: self, group: group, slot: slot)
        rebalance(group)
    }

    func startAll(_ group: Group) {
        group.isFrozen = false
        for slot in group.slots.indices { start(group, slot: slot) }
    }

    /// Every process of the group dies at once.
    func killAll(_ group: Group) {
        group.isFrozen = true
        group.isRebalancing = false
        group.rebalance += 1
        for instance in group.running { instance.die() }
        group.slots = group.slots.map { _ in nil }
        group.owners = [:]
        group.halts = group.halts.filter { if case .gap = $0.value { true } else { false } }
    }

    /// A process is gone; it is started again after a while, and the others hear of it sooner.
    func replace(_ instance: Instance) {
        let group = instance.group
        if group.slots[instance.slot] === instance { group.slots[instance.slot] = nil }
        after(milliseconds(150, 3_000)) { self.start(group, slot: instance.slot) }
        after(ms(150)) { if !group.running.isEmpty { self.rebalance(group) } }
    }

    /// Gives the partitions out anew: everything is let go of first (the eager protocol), and every
    /// partition number goes to one instance (the range assignor).
    func rebalance(_ group: Group, lost: Bool = false) {
        guard !group.isFrozen else { return }
        group.rebalance += 1
        group.isRebalancing = true
        let number = group.rebalance
        count("rebalances")
        log("\(group.name) rebalance \(number), \(lost ? "lost" : "drained")")
        if lost {
            if !faults.zombies { for instance in group.running { instance.lose() } }
            after(faults.zombies ? 0 : ms(150)) { self.assign(group, number) }
            return
        }
        var waiting = group.running.filter(\.holdsPartitions)
        if waiting.isEmpty {
            after(faults.zombies ? 0 : ms(150)) { self.assign(group, number) }
            return
        }
        for instance in waiting {
            instance.revoke { [unowned self] in
                waiting.removeAll { $0 === instance }
                if waiting.allSatisfy(\.isDead) { after(ms(1)) { self.assign(group, number) } }
            }
        }
        after(milliseconds(500, 6_000)) { [self] in
            guard group.rebalance == number, group.isRebalancing else { return }
            if faults.zombies { return assign(group, number) }
            for instance in waiting { instance.lose() }
            after(ms(150)) { self.assign(group, number) }
        }
    }

    private func assign(_ group: Group, _ number: Int) {
        guard group.rebalance == number, group.isRebalancing, !group.isFrozen else { return }
        group.isRebalancing = false
        let running = group.running
        guard !running.isEmpty else { return }
        let cut = running.count > 1 ? Int32(random.int(0..<Int(shape.partitions) + 1)) : .max
        for (index, instance) in running.enumerated() {
            let numbers = (0..<shape.partitions).filter { ($0 < cut) == (index == 0) }
            for number in numbers { group.owners[number] = instance }
            guard instance.holdsPartitions else {
                instance.assign(numbers)
                continue
            }
            // It still believes in its old assignment, and hears of the new one later.
            instance.isZombie = true
            after(faults.zombies ? milliseconds(0, 4_000) : 0) {
                guard !instance.isDead, group.rebalance == number else { return }
                instance.lose()
                instance.assign(numbers)
            }
        }
    }

    func owner(_ partition: TopicPartition, in group: Group) -> Instance? {
        group.owners[partition.partition]
    }

    /// What the group is told about a partition.
    func positions(of partition: TopicPartition, in group: Group) -> PartitionPositions {
        let commit = group.commits[partition]
        return PartitionPositions(
            low: logStarts[partition] ?? 0, high: visibleEnd(partition),
            committed: commit?.offset, metadata: commit?.metadata ?? "", clusterID: cluster)
    }

    /// A commit arrives that was sent under one of the instance's assignments. Returns why it is
    /// refused, nil where it holds.
    func commit(
        _ offset: Int64, of partition: TopicPartition, by instance: Instance, assignment: Int
    ) -> String? {
        let group = instance.group
        guard !group.isFrozen, owner(partition, in: group) === instance, !instance.isZombie,
            instance.holdsPartitions || instance.isDead, instance.assignments == assignment
        else {
            count("commits refused")
            return "the group has another owner"
        }
        let old = group.commits[partition]
        if let old, old.isMarked, offset < old.offset, !wasSetBack {
            fail("commit goes back", "\(partition): \(offset) after \(old.offset)")
        }
        let mark = watcher.watermark(group.name, partition, in: tree.root)
        if offset > mark ?? .min {
            fail("commit passes watermark", "\(partition): \(offset), watermark \(mark ?? -1)")
        }
        log("\(instance.name) committed \(partition) \(offset)")
        group.commits[partition] = Group.Commit(offset: offset, metadata: Bridge.commitMark)
        return nil
    }

    /// A rejected record arrives in the dead-letter topic.
    func deadLetter(_ letter: DeadLetter, by instance: Instance) {
        let place = Place(partition: letter.source, offset: letter.record.offset)
        log("\(instance.name) dead letter \(place.partition) \(place.offset) \(letter.rejection)")
        count("dead letters")
        instance.group.deadLetters.insert(place)
        if instance.group.reject != .deadLetter {
            fail("dead letter unasked", "\(place.partition) \(place.offset)")
        }
        switch workload.fate(place.partition, place.offset) {
        case .rejected(let reason) where reason == letter.rejection.reason: break
        case .harmless where letter.rejection.reason == .refused: break
        case let fate:
            fail(
                "wrongly rejected",
                "\(place.partition) \(place.offset): \(letter.rejection), expected "
                    + "\(fate.map { "\($0)" } ?? "no such record")")
        }
    }
}
