public import BridgeCore
internal import Oracle

/// One simulated world: two consumer groups of bridges one after the other, the Kafka that they
/// read, the network, and the database that they write, with everything that may go wrong. All that
/// happens follows from the seed.
///
/// The bridges are the real core; only what stands around it is simulated.
public final class World {
    /// The seed.
    public let seed: UInt64
    /// What was found to be wrong; the world ends at the first fault.
    public private(set) var failures: [String] = []
    /// What happened, one line each, where it was asked for.
    public private(set) var trace: [String] = []
    /// How often what happened.
    public private(set) var counts: [String: Int] = [:]
    /// A number that is the same where everything happened in the same way.
    public private(set) var fingerprint: UInt64 = 0xCBF2_9CE4_8422_2325

    let flaw: Flaw?
    let faults: Faults
    let circumstances: Circumstances
    let shape: Shape
    let workload: Workload
    var random: SplitMix64
    /// Chance of the circumstances: what has come to the worlds later leaves the others' alone.
    var others: SplitMix64
    var tree = SimTree()
    var watcher = Watcher()
    var groups: [Group] = []
    var instancesStarted = 0
    /// When nothing goes wrong any more.
    var isCalm = false
    /// Until when the database refuses everything, and until when it does not serve.
    var refusingUntil: Int64 = 0
    var downUntil: Int64 = 0
    /// Counts how often the database was set back.
    var age = 0
    var wasSetBack: Bool { age > 0 }
    var snapshots: [Node] = []
    /// The Kafka cluster's id, and where its logs begin after retention.
    var cluster = "sim"
    var logStarts: [TopicPartition: Int64] = [:]
    /// An operator has let the first group pass over records that the second one will read.
    var hasSkipped = false
    /// Partitions that have no leader for a while: nothing of them can be read, asked or committed.
    let leaderless: [TopicPartition: Range<Int64>]
    /// Until when the broker takes neither commits nor dead letters.
    var brokerDownUntil: Int64 = 0
    /// How many partitions each topic has.
    var countsOfPartitions: [String: Int] = [:]
    /// Records of conversations that were erased after they had been written.
    var erased: Set<Place> = []

    /// Nanoseconds since the world began.
    private(set) var now: Int64 = 0
    private var queue = EventQueue()
    private var visible: [TopicPartition: Int] = [:]
    private let isTracing: Bool
    private var events = 0

    /// Makes the world of a seed.
    ///
    /// - Parameter flaw: a rule that the core breaks on purpose.
    /// - Parameter tracing: whether `trace` is written.
    public init(seed: UInt64, flaw: Flaw? = nil, tracing: Bool = false) {
        self.seed = seed
        self.flaw = flaw
        isTracing = tracing
        random = SplitMix64(seed: seed)
        faults = Faults(random: &random)
        others = SplitMix64(seed: ~seed)
        circumstances = Circumstances(random: &others, faults: faults)
        shape = Shape(random: &random, faults: faults, circumstances: circumstances)
        workload = Workload(seed: seed, shape: shape, faults: faults, random: &random)
        for partition in workload.partitions {
            visible[partition] = faults.feed ? 0 : workload.logs[partition]!.count
        }
        leaderless = Self.leaderless(seed, of: workload.partitions)
        for topic in shape.plan.topics { countsOfPartitions[topic] = Int(shape.partitions) }
        log("\(faults)")
        log("\(circumstances)")
        log(shape.description)
        for (partition, time) in leaderless { log("\(partition) has no leader in \(time)") }
    }

    /// By chances of its own, so that all else in a world stays as it is.
    private static func leaderless(
        _ seed: UInt64, of partitions: [TopicPartition]
    ) -> [TopicPartition: Range<Int64>] {
        var random = SplitMix64(seed: seed ^ 0x1EAD_E2)
        guard random.chance(0.2) else { return [:] }
        let begin = random.pick([0, random.int(0..<30_000)])
        let end = begin + random.int(500..<25_000)
        return [random.pick(partitions): ms(begin)..<ms(end)]
    }

    func hasLeader(_ partition: TopicPartition) -> Bool {
        leaderless[partition].map { !$0.contains(now) } ?? true
    }

    // MARK: Time

    /// The server's clock, in milliseconds since 1970: later than all records.
    var wall: Int64 { HardStreams.end + now / 1_000_000 }

    func at(_ time: Int64, _ action: @escaping () -> Void) {
        queue.add(at: max(time, now), action)
    }

    func after(_ delay: Int64, _ action: @escaping () -> Void) { at(now + delay, action) }

    /// Some time between two numbers of milliseconds.
    func milliseconds(_ least: Int, _ most: Int) -> Int64 {
        Int64(random.int(least * 1_000..<most * 1_000 + 1)) * 1_000
    }

    /// Lets things happen until the condition holds; whether it came to hold in the time given.
    func run(until isReached: () -> Bool, within limit: Int64) -> Bool {
        let end = now + limit
        while failures.isEmpty, !isReached() {
            guard now < end, events < 2_000_000, let (time, action) = queue.next() else {
                return false
            }
            events += 1
            now = time
            action()
        }
        return failures.isEmpty
    }

    func run(for duration: Int64) {
        let end = now + duration
        at(end) {}
        _ = run(until: { self.now >= end }, within: duration + 1)
    }

    // MARK: Chance

    /// Whether a fault happens that is so likely.
    func happens(_ probability: Double) -> Bool { !isCalm && random.chance(probability) }

    /// A step at which a process may die.
    func step(_ instance: Instance, _ name: @autoclosure () -> String) {
        guard !instance.isDead, happens(faults.crash) else { return }
        log("\(instance.name) CRASHES: \(name())")
        count("crashes")
        instance.die()
        replace(instance)
    }

    // MARK: The log as far as it has been written

    func visibleCount(_ partition: TopicPartition) -> Int { visible[partition]! }

    func visibleEnd(_ partition: TopicPartition) -> Int64 {
        let log = workload.logs[partition]!
        let count = visible[partition]!
        return count < log.count
            ? (count == 0 ? 0 : log[count - 1].record.offset + 1) : workload.ends[partition]!
    }

    /// The offset after the last record that is there; the log's end may lie behind it.
    func recordEnd(_ partition: TopicPartition) -> Int64 {
        let count = visible[partition]!
        return count == 0 ? 0 : workload.logs[partition]![count - 1].record.offset + 1
    }

    /// Producers append some records.
    func feed() {
        var isOver = true
        for partition in workload.partitions {
            let count = workload.logs[partition]!.count
            visible[partition] = min(count, visible[partition]! + random.pick([0, 0, 1, 2, 5]))
            if visible[partition]! < count { isOver = false }
        }
        wakeAll()
        if !isOver { after(milliseconds(5, 200), feed) }
    }

    private func wakeAll() {
        for group in groups { for instance in group.running { instance.wake() } }
    }

    // MARK: What is told of it

    func log(_ line: @autoclosure () -> String) {
        mix(UInt64(bitPattern: now))
        guard isTracing else { return }
        let micros = String(now / 1_000 % 1_000_000)
        let padding = String(repeating: "0", count: 6 - micros.count)
        trace.append("\(now / 1_000_000_000).\(padding)\(micros) \(line())")
    }

    func count(_ name: String, _ number: Int = 1) { counts[name, default: 0] += number }

    func fail(_ kind: String, _ what: String) {
        log("FAULT \(kind): \(what)")
        failures.append("\(kind): \(what)")
    }

    func mix(_ bytes: [UInt8]) { for byte in bytes { mix(UInt64(byte)) } }

    private func mix(_ number: UInt64) {
        fingerprint = (fingerprint ^ number) &* 0x100_0000_01B3
    }

    // MARK: The play

    /// Lets everything happen.
    public func run() {
        if faults.feed { feed() }
        for time in leaderless.values { at(time.upperBound, wakeAll) }
        playFirstGroup()
        if failures.isEmpty { playSecondGroup() }
        count("events", events)
        count("seconds", Int(now / 1_000_000_000))
        queue.removeAll()
        // Groups and their processes hold one another.
        for group in groups {
            group.slots = []
            group.owners = [:]
        }
    }

    private func playFirstGroup() {
        let group = add("g.1", slots: 2)
        if circumstances.unequalCounts { playUnequalCounts(group) }
        startAll(group)
        doMischief(to: group, times: deeds(), withState: true)
        takeSnapshots(of: group)
        keepUp(group)
        after(ms(60_000)) { self.isCalm = true }
        if faults.rival { startRival() }
        settleAndCheck(faults.rival ? winner(of: groups) : group)
    }

    /// How often something is done to a group.
    private func deeds() -> Int { random.int(1..<10) * (writesAreSlow ? 5 : 1) }

    private func add(_ name: String, slots: Int) -> Group {
        let group = Group(name: name, slots: slots, reject: circumstances.reject)
        for (partition, start) in logStarts { group.passed[partition] = [0..<start] }
        groups.append(group)
        attend(group)
        return group
    }

    /// The first group that has delivered everything: of two that claim at once either may win, and
    /// the other one waits.
    private func winner(of groups: [Group]) -> Group {
        _ = run(until: { groups.contains(where: self.isQuiet) }, within: ms(3_600_000))
        return groups.first(where: isQuiet) ?? groups[0]
    }

    /// Another group mirrors the same log into the same tree.
    private func playSecondGroup() {
        isCalm = true
        if faults.rival { return handOver() }
        retire(groups[0])
        run(for: ms(8_000))  // what was late has arrived
        playReplays(after: groups[0])
        removeByHand()
        isCalm = false
        let group = add("g2", slots: 2)
        startAll(group)
        doMischief(to: group, times: deeds(), withState: false)
        after(ms(120_000)) { self.isCalm = true }
        settleAndCheck(group)
    }

    private func startRival() {
        let rival = add("g2", slots: 1)
        let (least, most) = circumstances.rivalIsEarly ? (0, 400) : (2_000, 20_000)
        after(milliseconds(least, most)) { self.startAll(rival) }
    }

    /// The group that mirrors ends, and the one that has waited takes over.
    private func handOver() {
        let first = groups.first(where: isQuiet) ?? groups[0]
        retire(first)
        run(for: ms(8_000))
        for group in groups where group !== first { settleAndCheck(group) }
    }

    /// The group's processes end: at once, or politely.
    private func retire(_ group: Group) {
        if random.chance(0.5) { return killAll(group) }
        let running = group.running
        group.isFrozen = true
        for instance in running { instance.stop() }
        if !run(until: { running.allSatisfy(\.isDead) }, within: ms(20_000)), failures.isEmpty {
            fail("stuck", "\(group.name) does not stop")
        }
        killAll(group)
    }

    private func settleAndCheck(_ group: Group) {
        let hour: Int64 = ms(3_600_000)
        guard run(until: { self.isQuiet(group) }, within: hour) else { return stuck(group) }
        isCalm = true
        run(for: ms(8_000))
        guard run(until: { self.isQuiet(group) && self.isTended }, within: hour) else {
            return stuck(group)
        }
        check(group)
    }

    private func stuck(_ group: Group) {
        guard failures.isEmpty else { return }
        let behind = workload.partitions.filter { !isDone($0, in: group) }
        let text = behind.map { partition in
            let commit = group.commits[partition].map { String($0.offset) } ?? "none"
            return "\(partition): committed \(commit), end \(workload.afterLast(partition))"
        }
        fail("stuck", "\(group.name) \(text.joined(separator: "; "))\(untended ?? "")")
    }

    /// Whether everything that was written is delivered and committed.
    private func isQuiet(_ group: Group) -> Bool {
        guard !group.isFrozen, !group.isRebalancing, group.upkeepLeft == 0 else { return false }
        return workload.partitions.allSatisfy { isDone($0, in: group) }
    }

    func isDone(_ partition: TopicPartition, in group: Group) -> Bool {
        guard visible[partition]! == workload.logs[partition]!.count,
            let instance = owner(partition, in: group), !instance.isDead, !instance.isZombie,
            instance.hasBegun(partition)
        else { return false }
        return group.commits[partition]?.offset ?? 0 >= workload.afterLast(partition)
    }
}

/// Milliseconds as nanoseconds.
func ms(_ milliseconds: Int) -> Int64 { Int64(milliseconds) * 1_000_000 }
