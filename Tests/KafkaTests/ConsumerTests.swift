import BridgeCore
import Glibc
import Kafka
import TestSupport
import Testing

@Suite("A consumer", .serialized, .ownThreads)
struct ConsumerTests {
    let zero = TopicPartition("t", 0)
    let one = TopicPartition("t", 1)

    @Test("gives records as they were produced: keys, headers, tombstones, times")
    func fidelity() throws {
        let cluster = try mock("t:1")
        let producer = try Producer(brokers: cluster.bootstrap)
        let headers = [
            Header(name: "a", value: [1, 0, 2]), Header(name: "b", value: nil),
            Header(name: "a", value: []), Header(name: "é", value: [0xFF]),
        ]
        try producer.produce(
            topic: "t", partition: 0, key: [1, 2], value: [3], headers: headers, timestamp: 12_345,
            token: 7)
        try producer.produce(topic: "t", partition: 0, key: nil, value: [], timestamp: 1)
        try producer.produce(topic: "t", partition: 0, key: [], value: nil, timestamp: 2)
        try producer.produce(topic: "t", partition: 0, key: [1, 2], value: [4], timestamp: 3)
        #expect(producer.pending == 4)
        #expect(producer.flush(within: .seconds(10)))
        var reports: [Int] = []
        while let event = producer.nextEvent() {
            guard case .delivered(let token, let offset, let error) = event else { continue }
            #expect(error == nil)
            #expect(offset != nil)
            reports.append(token)
        }
        #expect(reports == [7, 0, 0, 0])
        #expect(producer.pending == 0)

        let pump = Pump(try consumer(cluster), start: 0)
        #expect(pump.run { $0.count == 4 })
        #expect(
            pump.records[zero] == [
                Record(offset: 0, timestamp: 12_345, key: [1, 2], value: [3], headers: headers),
                Record(offset: 1, timestamp: 1, key: nil, value: []),
                Record(offset: 2, timestamp: 2, key: [], value: nil),
                Record(offset: 3, timestamp: 3, key: [1, 2], value: [4]),
            ])
        #expect(pump.run { $0.consumer.progress(of: zero)?.isAtEnd == true })
        #expect(pump.consumer.progress(of: zero)?.lag == 0)
        #expect(pump.consumer.close(within: .seconds(5)))
        #expect(producer.close(within: .seconds(5)))
    }

    @Test("begins where it is told, and takes more partitions without loss or repetition")
    func starts() throws {
        let cluster = try mock("t:2")
        try fill(cluster, 0..<5000)
        let pump = Pump(try consumer(cluster))
        #expect(pump.run { !$0.assignments.isEmpty })
        pump.consumer.read([zero: 100])
        #expect(pump.run { $0.records[zero, default: []].count > 500 })
        pump.recordsMax = 10
        pump.consumer.read([one: 4000])
        #expect(pump.run { $0.offsets(zero).last == 4999 && $0.offsets(one).last == 4999 })
        #expect(pump.offsets(zero) == Array(100..<5000))
        #expect(pump.offsets(one) == Array(4000..<5000))
    }

    @Test("begins anew at another offset while its queue is full")
    func restart() throws {
        let cluster = try mock("t:1")
        try fill(cluster, 0..<5000, partitions: 1)
        let pump = Pump(try consumer(cluster), start: 3000)
        pump.holding = [zero]
        #expect(pump.run { ($0.consumer.progress(of: zero)?.high ?? 0) == 5000 })
        pump.run(0.5)
        pump.holding = []
        for start: Int64 in [0, 4000, 10] {
            pump.records = [:]
            pump.consumer.read([zero: start])
            #expect(pump.run { $0.offsets(zero).last == 4999 })
            #expect(pump.offsets(zero) == Array(start..<5000))
        }
    }

    @Test("commits with metadata, which positions show; foreign partitions it refuses to commit")
    func commits() throws {
        let cluster = try mock("t:2")
        try fill(cluster, 0..<10)
        let pump = Pump(try consumer(cluster))
        #expect(pump.run { !$0.assignments.isEmpty })
        // Nothing is being read yet, and the group already takes commits.
        pump.consumer.commit([zero: 4], metadata: "mark é", serial: 7)
        #expect(pump.run { $0.commits.count == 1 })
        #expect(pump.commits.first?.error == nil)
        #expect(pump.commits.first?.offsets == [zero: 4])
        #expect(pump.commits.first?.serial == 7)
        pump.consumer.askPositions([zero, one])
        #expect(pump.run { $0.positions != nil })
        let found = try #require(pump.positions)
        #expect(found[zero]?.committed == 4)
        #expect(found[zero]?.metadata == "mark é")
        #expect(found[zero]?.low == 0)
        #expect(found[zero]?.high == 10)
        #expect(found[zero]?.clusterID != nil)
        #expect(found[one]?.committed == nil)
        #expect(found[one]?.metadata == "")
        pump.consumer.commit([TopicPartition("t", 7): 4, zero: 5], metadata: "", serial: 8)
        #expect(pump.run { $0.commits.count == 3 })
        #expect(pump.commits[1].error?.code == "_ASSIGNMENT_LOST")
        #expect(pump.commits[2].offsets == [zero: 5])
        #expect(pump.commits.map(\.serial) == [7, 8, 8])
    }

    @Test("asks about partitions one by one: other questions and signs of life come in between")
    func questionsInTurn() throws {
        let cluster = try mock("t:8")
        let pump = Pump(try consumer(cluster))
        #expect(pump.run { !$0.assignments.isEmpty && $0.consumer.openQuestions == 0 })
        let answered = pump.consumer.answeredQuestions
        let partitions = (0..<8).map { TopicPartition("t", Int32($0)) }
        pump.consumer.askPositions(partitions)
        pump.consumer.askTopics(["t"])
        #expect(pump.run { $0.topics != nil })
        #expect(pump.topics == ["t": 8])
        #expect(pump.positions == nil)
        #expect(pump.run { $0.positions != nil })
        #expect(pump.positions.map { $0.keys.sorted() } == partitions)
        #expect(pump.consumer.openQuestions == 0)
        // The leaders, each end, the commits, the cluster's id; and the topic.
        #expect(pump.consumer.answeredQuestions - answered == 1 + 8 + 2 + 1)
    }

    @Test("lets a partition that is not read wait, bounded, while others go on")
    func backPressure() throws {
        let cluster = try mock("t:2")
        try fill(cluster, 0..<4000, size: 1000)
        let pump = Pump(
            try consumer(
                cluster,
                [
                    ("queued.min.messages", "100"), ("max.partition.fetch.bytes", "10000"),
                    ("fetch.max.bytes", "1000000"),
                ]), start: 0)
        pump.holding = [zero]
        #expect(pump.run { $0.offsets(one).last == 3999 })
        pump.holding = []
        let early = pump.consumer.records(of: zero, max: 100_000, bytesMax: 1 << 30).count
        #expect((1..<2000).contains(early), "\(early) of 4000 records were fetched unread")
        #expect(pump.run { $0.offsets(zero).last == 3999 })
        #expect(pump.offsets(zero) == Array(Int64(early)..<4000))
    }

    @Test("stops a batch at its limits")
    func limits() throws {
        let cluster = try mock("t:1")
        try fill(cluster, 0..<2000, partitions: 1, size: 400)
        let pump = Pump(try consumer(cluster), start: 0)
        pump.holding = [zero]
        #expect(pump.run { $0.consumer.progress(of: zero)?.high == 2000 })
        #expect(pump.run(5) { $0.consumer.records(of: zero, max: 1, bytesMax: 1).count == 1 })
        #expect(
            pump.consumer.records(of: zero, max: 7, bytesMax: 1 << 20).map(\.offset) == Array(1..<8)
        )
        var sizes: [Int] = []
        #expect(
            pump.run {
                let batch = $0.consumer.records(of: zero, max: 1000, bytesMax: 50_000)
                sizes.append(batch.reduce(0) { $0 + $1.size })
                return batch.last?.offset == 1999
            })
        #expect((50_000..<60_000).contains(sizes.max()!), "\(sizes) bytes")
    }

    @Test("halts a partition at an offset that is not there, and goes on where it is told")
    func gap() throws {
        let cluster = try mock("t:2")
        try fill(cluster, 0..<10)
        let pump = Pump(try consumer(cluster))
        #expect(pump.run { !$0.assignments.isEmpty })
        pump.consumer.read([zero: 1000, one: 0])
        #expect(pump.run { !$0.errors.isEmpty && $0.offsets(one).count == 10 })
        let error = try #require(pump.errors.first)
        #expect(error.code == "_AUTO_OFFSET_RESET")
        #expect(error.action == .haltPartition)
        #expect(error.partition == zero)
        #expect(pump.consumer.progress(of: zero)?.halted == error)
        // It stands still, and what is appended meanwhile counts all the same.
        pump.consumer.read([:])
        for (first, end) in [(10, 1010), (1010, 1030)] {
            try fill(cluster, first..<end, partitions: 1)
            #expect(
                pump.run {
                    $0.consumer.renewEnds(at: Moment(monotonic: 0, wall: 0))
                    return $0.consumer.progress(of: zero)?.lag == Int64(end - 1000)
                })
        }
        pump.consumer.read([zero: 3])
        #expect(pump.run { $0.offsets(zero) == Array(3..<1030) })
        #expect(pump.offsets(one) == Array(0..<10))
        #expect(pump.consumer.progress(of: zero)?.halted == nil)
    }

    @Test("asks where a partition ends of which no fetch has told anything")
    func unfetched() throws {
        // Nobody listens there: a fetch that has told something cannot come before.
        let consumer = try Consumer(
            brokers: ["127.0.0.1:1"], group: "g", topics: [], properties: quick)
        consumer.take([zero])
        consumer.read([zero: 4])
        #expect(consumer.progress(of: zero)?.lag == nil)
        consumer.renewEnds(at: Moment(monotonic: 0, wall: 0))
        #expect(consumer.openQuestions == 1)
        #expect(consumer.close(within: .seconds(10)))
    }

    @Test("goes on when a partition's leader moves")
    func leader() throws {
        let cluster = try mock(brokers: 3, "t:2")
        try fill(cluster, 0..<10)
        let pump = Pump(try consumer(cluster), start: 0)
        #expect(pump.run { $0.count == 20 })
        try cluster.send("leader t 0 2")
        try cluster.send("leader t 1 3")
        try fill(cluster, 10..<20)
        #expect(pump.run { $0.count == 40 })
        #expect(pump.offsets(zero) == Array(0..<20))
    }

    @Test("tells at once of partitions whose leaders are there, where one has none")
    func leaderless() throws {
        let cluster = try mock(brokers: 3, "t:2")
        try fill(cluster, 0..<10)
        try cluster.send("leader t 1 -1")
        let pump = Pump(try consumer(cluster))
        /// Asks until so many partitions are told of: metadata is a little behind.
        func isTold(of count: Int) -> Bool {
            let deadline = now() + 20
            while now() < deadline {
                let answers = pump.count(of: "positions")
                pump.consumer.askPositions([zero, one], inPart: true)
                #expect(pump.run { $0.count(of: "positions") > answers })
                if pump.positions?.count == count { return true }
            }
            return false
        }
        let began = now()
        #expect(isTold(of: 1))
        #expect(now() - began < 9, "it does not wait for a leader to appear")
        #expect(pump.positions?[zero]?.high == 10)
        #expect(pump.errors.contains { $0.partition == one }, "\(pump.errors)")
        // Who wants all of them is told that there is no answer.
        let answers = pump.count(of: "positions")
        let failures = pump.count(of: "positionsFailed")
        pump.consumer.askPositions([zero, one])
        #expect(pump.run { $0.count(of: "positionsFailed") == failures + 1 })
        #expect(pump.count(of: "positions") == answers)
        try cluster.send("leader t 1 1")
        #expect(isTold(of: 2))
    }

    func consumer(
        _ cluster: MockClusterProcess, _ more: [(name: String, value: String)] = []
    ) throws -> Consumer {
        try Consumer(
            brokers: cluster.bootstrap, group: "g", topics: ["t"], properties: quick + more)
    }

    func fill(
        _ cluster: MockClusterProcess, _ range: Range<Int>, partitions: Int32 = 2, size: Int = 0
    ) throws {
        let producer = try Producer(
            brokers: cluster.bootstrap, properties: [("batch.size", "20000")])
        for partition in 0..<partitions {
            try producer.fill(TopicPartition("t", partition), range, size: size)
        }
    }
}
