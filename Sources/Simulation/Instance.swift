internal import BridgeCore
internal import Oracle

/// One process: the real core, and around it what the shell does.
final class Instance {
    let name: String
    let group: Group
    let slot: Int
    private unowned let world: World
    private var bridge: Bridge
    private(set) var isDead = false
    /// Its partitions were given away, and it has not heard of it.
    var isZombie = false
    /// How many assignments it has had.
    private(set) var assignments = 0
    /// From an assignment to its release or loss.
    private(set) var holdsPartitions = false
    /// The next record of each partition that is read, as an index into its log.
    private var positions: [TopicPartition: Int] = [:]
    private var onRelease: (() -> Void)?
    private var releaseDue: Int64?
    private var isFetching = false
    private var counts: [String: Int] = [:]
    private var timer: Int64?
    private let clockError: Int64
    /// Where a replay begins; nil for a bridge.
    private let replayed: [TopicPartition: Int64]?
    private var isEnding = false
    /// How a replay ended: why it would not, or empty. Nil for one that died.
    private(set) var replayEnd: String?
    /// What the database refused to a replay.
    var refused: [TopicPartition: Set<Int64>] { bridge.refused }
    /// The bodies of requests that are not settled: a retry must repeat its own.
    private var bodies: [Int: [UInt8]] = [:]

    /// - Parameter replay: it mirrors these partitions once more, from these offsets.
    init(
        in world: World, group: Group, slot: Int,
        replay: (what: Replay, from: [TopicPartition: Int64])? = nil
    ) {
        self.world = world
        replayed = replay?.from
        self.group = group
        self.slot = slot
        world.instancesStarted += 1
        name = "i\(world.instancesStarted)"
        let skew = world.faults.clockSkew
        clockError = skew > 0 ? Int64(world.random.int(-skew..<skew + 1)) : 0
        var settings = world.shape.settings
        settings.group = group.name
        settings.reject = group.reject
        if let replay { settings = settings.replaying(replay.what) }
        bridge = Bridge(plan: world.shape.plan, settings: settings, owner: name, flaw: world.flaw)
        world.log("\(name) starts in \(group.name)")
        hearCounts()
    }

    /// It mirrors its range, and ends.
    func replay() {
        holdsPartitions = true
        tell { $0.assign(self.replayed!.keys.sorted(), at: $1) }
    }

    /// A replay whose range is read ends.
    private func endIfRead() {
        guard let replayed, !isEnding, positions.count == replayed.count,
            positions.allSatisfy({ $0.value >= world.visibleCount($0.key) })
        else { return }
        isEnding = true
        bridge.stop(at: moment)
    }

    /// It is told how many partitions each topic has.
    func hearCounts() {
        guard !isDead else { return }
        counts = world.countsOfPartitions
        tell { $0.topology(self.counts, at: $1) }
        let says = bridge.report(at: moment).notReady.contains { $0.contains("differ") }
        if says != !unequalTopics.isEmpty {
            world.fail("readiness", "\(name) says \(bridge.report(at: moment).notReady)")
        }
    }

    /// The topics of sets whose topics differ in their number of partitions.
    private var unequalTopics: [String] {
        world.shape.plan.sets.filter { Set($0.topics.map { counts[$0] }).count > 1 }
            .flatMap(\.topics)
    }

    private var moment: Moment {
        Moment(monotonic: world.now, wall: world.wall + clockError)
    }

    // MARK: What happens to it

    func assign(_ numbers: [Int32]) {
        let partitions = world.workload.partitions.filter { numbers.contains($0.partition) }
        world.log("\(name) assigned \(numbers)")
        assignments += 1
        isZombie = false
        onRelease = nil
        positions = [:]
        holdsPartitions = true
        tell { $0.assign(partitions, at: $1) }
        if world.shape.settings.stallAfter > .zero { tellEnds(assignments) }
    }

    /// Says every second where the partitions end, as far as Kafka answers.
    private func tellEnds(_ assignment: Int) {
        guard !isDead, holdsPartitions, assignments == assignment else { return }
        if !world.happens(world.faults.kafkaFailure), world.isBrokerUp {
            let ends = positions.keys.filter(world.hasLeader).map { ($0, world.recordEnd($0)) }
            tell { $0.ends(Dictionary(uniqueKeysWithValues: ends), at: $1) }
        }
        world.after(ms(1_000)) { self.tellEnds(assignment) }
    }

    /// Its partitions are to be released; `then` is called when they are, or when it dies.
    func revoke(then: @escaping () -> Void) {
        world.log("\(name) revoked")
        let isDraining = onRelease != nil
        onRelease = then
        if isDraining { return }
        releaseDue = world.now + world.shape.settings.drain.nanoseconds + ms(1_500)
        tell { $0.revoke(at: $1) }
    }

    /// It hears that its partitions are gone.
    func lose() {
        guard !isDead else { return }
        world.log("\(name) lost its partitions")
        letGo()
        tell { $0.lose(at: $1) }
    }

    func stop() {
        world.log("\(name) is stopped")
        tell { $0.stop(at: $1) }
    }

    func die() {
        isDead = true
        letGo()
    }

    func settle(_ request: Request, _ outcome: Outcome) {
        guard !isDead else { return }
        world.log("\(name) request \(request.id) answered: \(outcome.word)")
        switch outcome {
        case .unavailable, .unanswered: break
        default: bodies[request.id] = nil
        }
        let jitter = world.random.fraction()
        tell { $0.settle(request.id, outcome, at: $1, jitter: jitter) }
    }

    /// Looks whether there is something to read.
    func wake() {
        guard !isDead, !isFetching, positions.contains(where: { isReadable($0.key) }) else {
            return
        }
        isFetching = true
        world.after(world.milliseconds(0, 5)) { self.fetch() }
    }

    func hasBegun(_ partition: TopicPartition) -> Bool { positions[partition] != nil }

    // MARK: The loop

    /// Tells the core, does what it wants, and sleeps until its deadline.
    private func tell(_ event: (inout Bridge, Moment) -> Void) {
        guard !isDead else { return }
        event(&bridge, moment)
        endIfRead()
        var effects = 0
        while !isDead, let effect = bridge.nextEffect(at: moment) {
            perform(effect)
            endIfRead()
            effects += 1
            if effects > 10_000 { return world.fail("spins", "\(name): effects without end") }
        }
        guard !isDead else { return }
        sleep()
        wake()
    }

    private func sleep() {
        guard let deadline = bridge.nextDeadline else { return }
        if deadline <= world.now {
            world.fail("spins", "\(name): a deadline \(world.now - deadline) ns ago and no effect")
        }
        if let timer, timer > world.now, timer <= deadline { return }
        timer = deadline
        world.at(deadline) {
            guard self.timer == deadline else { return }
            self.timer = nil
            self.tell { _, _ in }
        }
    }

    private func isReadable(_ partition: TopicPartition) -> Bool {
        guard let position = positions[partition] else { return false }
        return position < world.visibleCount(partition) && world.hasLeader(partition)
            && bridge.room(for: partition) > 0
    }

    /// Reads some records of each partition, as long as there is room.
    private func fetch() {
        isFetching = false
        let partitions = world.random.shuffled(positions.keys.sorted())
        for partition in partitions {
            guard !isDead, isReadable(partition), let position = positions[partition] else {
                continue
            }
            let log = world.workload.logs[partition]!
            var room = bridge.room(for: partition)
            var end = position
            let most = position + world.random.pick([1, 1, 3, 20, 100])
            while end < min(most, world.visibleCount(partition)), room > 0 {
                room -= log[end].record.size
                end += 1
            }
            positions[partition] = end
            group.reached[partition] = max(
                group.reached[partition] ?? 0, log[end - 1].record.offset + 1)
            let records = log[position..<end].map(\.record)
            world.count("records read", records.count)
            world.log("\(name) reads \(partition) \(records[0].offset)+\(records.count)")
            tell { $0.consume(records, from: partition, at: $1) }
        }
        wake()
    }

    // MARK: What the core wants

    private func perform(_ effect: Effect) {
        switch effect {
        case .request(let request): perform(request)
        case .askPositions(let partitions, let serial):
            answerPositions(of: partitions, serial)
        case .read(let offsets): read(offsets)
        case .commit(let offsets, let serial): commit(offsets, serial)
        case .deadLetter(let letter): append(letter)
        case .release: release()
        case .finished(let undelivered): finish(undelivered)
        case .notice(let notice):
            world.count("notice \(notice.event)")
            let fields = notice.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
            world.log("\(name) \(notice.level.rawValue) \(notice.event) \(fields)")
            if notice.event == "partition_stopped" { noteStop(notice) }
        }
    }

    private func noteStop(_ notice: Notice) {
        func field(_ name: String) -> String? {
            notice.fields.first { $0.name == name }?.value
        }
        guard let offset = field("offset").flatMap({ Int64($0) }),
            let partition = world.workload.partitions.first(where: {
                $0.description == field("partition")
            })
        else { return world.fail("unknown partition stopped", name) }
        if !isZombie { group.halts[partition] = .record(offset) }
        if bridge.report(at: moment).notReady.isEmpty { world.fail("readiness", "\(name) stands") }
    }

    private func perform(_ request: Request) {
        switch request.method {
        case .get(let path, let shallow):
            world.count("gets")
            world.log(
                "\(name) GET \(request.id).\(request.attempt) \(show([path]))"
                    + (shallow ? " shallow" : ""))
        case .list(let path, let from, let through, let limit):
            world.count("lists")
            world.log(
                "\(name) LIST \(request.id).\(request.attempt) \(show([path])) "
                    + "\(show([from ?? []]))…\(show([through ?? []])), \(limit)")
        case .patch(let body):
            world.mix(body)
            world.log(
                "\(name) PATCH \(request.id).\(request.attempt) "
                    + String(decoding: body, as: UTF8.self))
            if !holdsPartitions { world.fail("writes without partitions", name) }
            if request.attempt > 1, let old = bodies[request.id], old != body {
                world.fail("a retry differs", "\(name) PATCH \(request.id)")
            }
            bodies[request.id] = body
            world.step(self, "request sent")
            if isDead { return }
        }
        world.send(request, from: self)
    }

    private func answerPositions(of partitions: [TopicPartition], _ serial: Int) {
        world.after(world.milliseconds(1, 60)) { [self] in
            var known: [TopicPartition: PartitionPositions] = [:]
            for partition in partitions where world.isBrokerUp && world.hasLeader(partition) {
                known[partition] = world.positions(of: partition, in: group)
                known[partition]?.atStartTime = replayed?[partition]
            }
            tell { $0.positions(known, serial: serial, at: $1) }
        }
    }

    private func read(_ offsets: [TopicPartition: Int64]) {
        for (partition, offset) in offsets.sorted(by: { $0.key < $1.key }) {
            world.log("\(name) begins \(partition) at \(offset)")
            if unequalTopics.contains(partition.topic) {
                world.fail("consumes unequal topics", "\(name) \(partition)")
            }
            if case .gap? = group.halts[partition] {
                world.fail("reads over a gap", "\(name) \(partition)")
            }
            group.halts[partition] = nil
            if let start = group.anew.removeValue(forKey: partition), start != offset {
                world.fail("trusts another cluster", "\(name) \(partition)")
            }
            positions[partition] = world.workload.logs[partition]!.firstIndex(notBefore: offset)
        }
    }

    private func commit(_ offsets: [TopicPartition: Int64], _ serial: Int) {
        if replayed != nil { world.fail("a replay commits", name) }
        world.step(self, "commit sent")
        if isDead { return }
        let assignment = assignments
        let most = world.circumstances.slowAnswers ? 15 : 150
        let (there, back) = (world.milliseconds(1, most), world.milliseconds(1, most))
        let isLost = world.happens(world.faults.kafkaFailure) || !world.isBrokerUp
        world.after(there) { [self] in
            var failure: String?
            let (offsets, refused) = (
                offsets.filter { world.hasLeader($0.key) },
                offsets.filter { !world.hasLeader($0.key) }
            )
            if isLost, world.random.chance(0.5) {
                failure = "the request timed out"
            } else {
                for (partition, offset) in offsets.sorted(by: { $0.key < $1.key }) {
                    failure =
                        world.commit(offset, of: partition, by: self, assignment: assignment)
                        ?? failure
                }
                if isLost { failure = "the answer is lost" }
            }
            world.step(self, "commit arrived")
            let ways = [(offsets, failure), (refused, "no leader")].filter { !$0.0.isEmpty }
            world.after(back) {
                // In either order.
                for (offsets, failure) in serial % 2 == 0 ? ways : ways.reversed() {
                    self.tell { $0.committed(offsets, serial: serial, failed: failure, at: $1) }
                }
            }
        }
    }

    private func append(_ letter: DeadLetter) {
        if replayed != nil { world.fail("a replay writes dead letters", name) }
        world.step(self, "dead letter sent")
        if isDead { return }
        let isLost = world.happens(world.faults.kafkaFailure) || !world.isBrokerUp
        world.after(ms(world.random.pick([20, 200, 3_000]))) { [self] in
            if !isLost || world.random.chance(0.5) { world.deadLetter(letter, by: self) }
            world.step(self, "dead letter arrived")
            let failure = isLost ? "the broker did not answer" : nil
            tell { $0.deadLettered(letter.id, failed: failure, at: $1) }
        }
    }

    private func release() {
        world.log("\(name) releases")
        if onRelease == nil { world.fail("releases unasked", name) }
        if let releaseDue, world.now > releaseDue {
            world.fail("drains too long", "\(name): released \(world.now - releaseDue) ns late")
        }
        letGo()
    }

    private func finish(_ undelivered: Int) {
        world.log("\(name) finished, \(undelivered) undelivered")
        world.count("finished")
        replayEnd = bridge.refusal ?? ""
        isDead = true
        letGo()
        if replayed == nil { world.replace(self) }
    }

    /// It holds nothing any more, whatever the reason.
    private func letGo() {
        holdsPartitions = false
        positions = [:]
        bodies = [:]
        releaseDue = nil
        let then = onRelease
        onRelease = nil
        then?()
    }
}
