import BridgeCore
import Glibc
import Kafka
import TestSupport
import Testing

@Suite("A group", .serialized, .ownThreads)
struct GroupTests {
    let zero = TopicPartition("t", 0)
    let one = TopicPartition("t", 1)

    @Test("hands partitions over when a member joins and when it leaves, and nothing is lost")
    func handover() throws {
        let cluster = try mock("t:2")
        let producer = try Producer(brokers: cluster.bootstrap)
        try producer.fill(zero, 0..<10)
        try producer.fill(one, 0..<10)
        let first = Pump(try member(cluster), start: 0)
        #expect(first.run { $0.count == 20 })
        first.releases = false
        let second = Pump(try member(cluster), start: 5)
        // The revoke waits for its answer.
        #expect(
            first.run { _ in
                second.step(); return !first.revoked.isEmpty
            })
        #expect(first.revoked.first?.lost == false)
        #expect(first.revoked.first?.partitions == [zero, one])
        #expect(
            !first.run(1) { _ in
                second.step(); return !second.assignments.isEmpty
            })
        first.consumer.release()
        first.releases = true
        #expect(
            first.run { _ in
                second.step()
                return first.assignments.last?.count == 1 && second.assignments.last?.count == 1
            })
        let given = first.assignments.last! + second.assignments.last!
        #expect(Set(given) == [zero, one])
        #expect(
            first.run { _ in
                second.step(); return second.count == 5
            })
        // What it no longer has, it does not commit.
        first.consumer.commit([second.assignments.last![0]: 3], metadata: "")
        #expect(first.run { $0.commits.count == 1 })
        #expect(first.commits.first?.error?.code == "_ASSIGNMENT_LOST")
        let leaves = now()
        #expect(second.consumer.close(within: .seconds(5)))
        #expect(first.run(leaves + Self.leavingMax - now()) { $0.assignments.last == both })
    }

    @Test("takes partitions back before any was read, and gives them again")
    func revokeBeforeRead() throws {
        let cluster = try mock("t:2")
        let producer = try Producer(brokers: cluster.bootstrap)
        try producer.fill(zero, 0..<10)
        try producer.fill(one, 0..<10)
        let first = Pump(try member(cluster))
        #expect(first.run { $0.assignments.count == 1 })
        // Longer than a session: that nothing is read yet does not cost the membership.
        #expect(!first.run(4) { !$0.revoked.isEmpty })
        let second = Pump(try member(cluster), start: 0)
        #expect(
            first.run { _ in
                second.step()
                return first.assignments.last?.count == 1 && second.count == 10
            })
        #expect(!first.revoked.isEmpty && first.revoked.allSatisfy { !$0.lost })
        first.consumer.read([first.assignments.last![0]: 0])
        #expect(first.run { $0.count == 10 })
        #expect(Set(first.records.keys).isDisjoint(with: second.records.keys))
    }

    @Test("has lost its partitions when the broker was silent for longer than the session")
    func lost() throws {
        let cluster = try mock("t:2")
        let pump = Pump(try member(cluster), start: 0)
        #expect(pump.run { $0.assignments.count == 1 })
        pump.releases = false
        cluster.freeze()
        #expect(pump.run(10) { !$0.revoked.isEmpty })
        #expect(pump.revoked.first?.lost == true)
        pump.consumer.commit([zero: 1], metadata: "")
        #expect(pump.run(1) { !$0.commits.isEmpty })
        #expect(pump.commits.first?.error?.code == "_ASSIGNMENT_LOST")
        pump.consumer.release()
        cluster.thaw()
        #expect(pump.run(30) { $0.assignments.count == 2 })
        let producer = try Producer(brokers: cluster.bootstrap)
        try producer.fill(zero, 0..<10)
        #expect(pump.run { $0.count == 10 })
    }

    @Test("that forgot this member takes its partitions as lost and gives them again")
    func forgotten() throws {
        let cluster = try mock("t:2")
        let pump = Pump(try member(cluster), start: 0)
        #expect(pump.run { $0.assignments.count == 1 })
        try cluster.send("errors 8 25")  // OffsetCommit: UNKNOWN_MEMBER_ID
        pump.consumer.commit([zero: 0], metadata: "")
        #expect(pump.run { $0.commits.count == 1 && $0.assignments.count == 2 })
        #expect(pump.commits.first?.error?.code == "UNKNOWN_MEMBER_ID")
        #expect(pump.commits.first?.error?.action == .awaitAssignment)
        #expect(pump.revoked.first?.lost == true)
    }

    @Test("that fences this member ends it: fatal, and closed at once")
    func fenced() throws {
        let cluster = try mock("t:2")
        let pump = Pump(try member(cluster), start: 0)
        #expect(pump.run { $0.assignments.count == 1 })
        try cluster.send("errors 8 82")  // OffsetCommit: FENCED_INSTANCE_ID
        pump.consumer.commit([zero: 0], metadata: "")
        #expect(pump.run { $0.errors.contains { $0.action == .fatal } })
        let error = try #require(pump.errors.first { $0.action == .fatal })
        #expect(error.code == "FENCED_INSTANCE_ID")
        let began = now()
        #expect(pump.consumer.close(within: .seconds(5)))
        #expect(now() - began < 3)
    }

    @Test("is left within a bound when the broker is silent", arguments: [false, true])
    func frozenClose(isAsking: Bool) throws {
        let cluster = try mock("t:2")
        let pump = Pump(try member(cluster), start: 0)
        #expect(pump.run { $0.assignments.count == 1 })
        cluster.freeze()
        pump.consumer.commit([zero: 1], metadata: "")
        // A call that hangs in the thread must not hold up the end either.
        if isAsking { pump.consumer.askPositions([zero, one]) }
        let began = now()
        pump.consumer.close(within: .seconds(3))
        #expect(now() - began < 3.5)
    }

    @Test("is left while its revoke has no answer")
    func closeWhileRevoking() throws {
        let cluster = try mock("t:2")
        let first = Pump(try member(cluster), start: 0)
        #expect(first.run { $0.assignments.count == 1 })
        first.releases = false
        let second = Pump(try member(cluster), start: 0)
        #expect(
            first.run { _ in
                second.step(); return !first.revoked.isEmpty
            })
        #expect(first.consumer.close(within: .seconds(5)))
        // No sooner than `leavingMax`: the mock cluster lets a member that leaves wait behind its
        // own joining. `RealKafkaTests.leaving` has the limit.
        #expect(second.run { $0.assignments.last == both })
    }

    @Test("is left by subscribing to nothing and joined anew by subscribing again")
    func resubscribe() throws {
        let cluster = try mock("t:2", "u:1")
        let pump = Pump(try member(cluster), start: 0)
        let other = Pump(try member(cluster), start: 0)
        #expect(
            pump.run { _ in
                other.step()
                return pump.assignments.last?.count == 1 && other.assignments.last?.count == 1
            })
        let revoked = pump.revoked.count
        let leaves = now()
        try pump.consumer.subscribe([])
        #expect(
            pump.run(leaves + Self.leavingMax - now()) { _ in
                other.step()
                return pump.revoked.count > revoked && other.assignments.last == both
            })
        #expect(other.consumer.close(within: .seconds(5)))
        try pump.consumer.subscribe(["u"])
        #expect(pump.run { $0.assignments.last == [TopicPartition("u", 0)] })
        #expect(pump.consumer.topics == ["u"])
    }

    @Test("that refuses access says so and is joined when it no longer does")
    func authorization() throws {
        let cluster = try mock("t:2")
        try cluster.send("errors 11 30 30")  // JoinGroup: GROUP_AUTHORIZATION_FAILED
        let pump = Pump(try member(cluster), start: 0)
        #expect(pump.run { $0.assignments.count == 1 })
        let error = try #require(pump.errors.first { $0.code == "GROUP_AUTHORIZATION_FAILED" })
        #expect(error.action == .alarm)
    }

    @Test("without any broker is waited for, and its consumer says only that it waits")
    func noBroker() throws {
        let pump = Pump(
            try Consumer(
                brokers: ["127.0.0.1:1"], group: "g", topics: ["t"], properties: quick))
        pump.consumer.askTopics(["t"])
        pump.consumer.askPositions([zero])
        #expect(
            pump.run(40) { pump in
                pump.count(of: "topicsFailed") == 1 && pump.count(of: "positionsFailed") == 1
            })
        #expect(pump.errors.allSatisfy { $0.action == .note }, "\(pump.errors)")
        #expect(pump.errors.contains { $0.code == "_ALL_BROKERS_DOWN" })
        let began = now()
        #expect(pump.consumer.close(within: .seconds(5)))
        #expect(now() - began < 5)
    }

    @Test("takes lost partitions from who was not polled for too long, and takes it back")
    func notPolled() throws {
        let cluster = try mock("t:2")
        try Producer(brokers: cluster.bootstrap).fill(zero, 0..<10)
        let pump = Pump(try member(cluster, [("max.poll.interval.ms", "3500")]), start: 0)
        #expect(pump.run { $0.count == 10 })
        // It sends its heartbeats meanwhile: nothing else is wrong with it.
        _ = poll(nil, 0, 5000)
        pump.start = 10
        #expect(pump.run { $0.assignments.count == 2 })
        #expect(pump.revoked.map(\.lost) == [true])
        #expect(pump.revoked.first?.partitions == both)
        #expect(pump.errors.map(\.code) == ["_MAX_POLL_EXCEEDED"])
        #expect(pump.errors.first?.action == .awaitAssignment)
        #expect(pump.assignments.last == both)
        try Producer(brokers: cluster.bootstrap).fill(zero, 10..<20)
        #expect(pump.run { $0.offsets(zero).last == 19 })
        #expect(pump.offsets(zero) == Array(0..<20))
    }

    var both: [TopicPartition] { [zero, one] }

    func member(
        _ cluster: MockClusterProcess, _ more: [(name: String, value: String)] = []
    ) throws -> Consumer {
        try Consumer(
            brokers: cluster.bootstrap, group: "g", topics: ["t"], properties: quick + more)
    }

    /// So many seconds after a member has left the other one has everything. The mock cluster
    /// gives partitions away 2.5 s after it was told, a second less than a session; of one that
    /// tells nothing the session must end first, which takes 3 s more at least.
    static let leavingMax = 5.0
}
