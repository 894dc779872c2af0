import BridgeCore
import Glibc
import Kafka
import TestSupport
import Testing

@Suite(
    "With a real Kafka", .serialized, .ownThreads,
    .enabled(if: RealKafka.isThere, "skipped: no kafka/cluster beside the repository"))
struct RealKafkaTests {
    let kafka: RealKafka
    let topic = uniqueName("t")
    let group = uniqueName("g")
    var zero: TopicPartition { TopicPartition(topic, 0) }
    var one: TopicPartition { TopicPartition(topic, 1) }

    init() throws { kafka = try #require(RealKafka.shared, "it did not start") }

    @Test("records, commits and positions are as on the mock cluster")
    func basics() throws {
        try kafka.createTopic(topic, partitions: 2)
        let producer = try Producer(brokers: kafka.bootstrap)
        let headers = [Header(name: "a", value: nil), Header(name: "a", value: [0])]
        for time: Int64 in [1000, 2000, 3000] {
            try producer.produce(
                topic: topic, partition: 0, key: [1], value: nil, headers: headers, timestamp: time)
        }
        #expect(producer.flush(within: .seconds(10)))
        let pump = Pump(try consumer())
        #expect(pump.run { $0.assignments.last == [zero, one] })
        pump.consumer.commit([zero: 2], metadata: "mark")
        #expect(pump.run { $0.commits.first.map { $0.error == nil } ?? false })
        pump.consumer.askPositions([zero, one], startTime: 1500)
        #expect(pump.run { $0.positions != nil })
        let positions = try #require(pump.positions)
        let clusterID = positions[zero]?.clusterID
        #expect(clusterID?.isEmpty == false)
        #expect(
            positions == [
                zero: PartitionPositions(
                    low: 0, high: 3, committed: 2, metadata: "mark", atStartTime: 1,
                    clusterID: clusterID),
                one: PartitionPositions(
                    low: 0, high: 0, committed: nil, atStartTime: 0, clusterID: clusterID),
            ])
        pump.consumer.read([zero: 1, one: 0])
        #expect(pump.run { $0.count == 2 })
        #expect(
            pump.records[zero]
                == [2000, 3000].map {
                    Record(
                        offset: $0 / 1000 - 1, timestamp: $0, key: [1], value: nil, headers: headers
                    )
                })
        #expect(pump.consumer.close(within: .seconds(5)))
    }

    @Test("a static member that comes back with other topics is given them, not those that it had")
    func staticMemberWithOtherTopics() throws {
        let others = [topic, uniqueName("static")]
        try kafka.createTopics(others, partitions: 1)
        func member(_ topics: [String]) throws -> Pump {
            let properties = [
                ("group.instance.id", "one"), ("session.timeout.ms", "6000"),
                ("heartbeat.interval.ms", "500"),
            ]
            return Pump(
                try Consumer(
                    brokers: kafka.bootstrap, group: topic, topics: topics, properties: properties))
        }
        let first = try member([others[0]])
        #expect(first.run { $0.assignments.last == [zero] })
        #expect(first.consumer.close(within: .seconds(5)))
        let second = try member(others)
        let wanted = others.map { TopicPartition($0, 0) }.sorted()
        #expect(second.run { $0.assignments.last?.sorted() == wanted })
        #expect(second.consumer.close(within: .seconds(5)))
    }

    @Test("an operator's reset shows as a commit without our metadata")
    func reset() throws {
        try kafka.createTopic(topic, partitions: 1)
        try Producer(brokers: kafka.bootstrap).fill(zero, 0..<10)
        let pump = Pump(try consumer())
        #expect(pump.run { $0.assignments.count == 1 })
        pump.consumer.commit([zero: 9], metadata: "mark")
        #expect(pump.run { $0.commits.first.map { $0.error == nil } ?? false })
        #expect(pump.consumer.close(within: .seconds(5)))
        try kafka.tool(
            "groups --reset-offsets --group \(group) --topic \(topic) --to-offset 4 --execute")
        let next = Pump(try consumer())
        next.consumer.askPositions([zero])
        #expect(next.run { $0.positions != nil })
        #expect(next.positions?[zero]?.committed == 4)
        #expect(next.positions?[zero]?.metadata == "")
    }

    @Test("commits are taken while a revoke waits for its answer")
    func commitWhileRevoking() throws {
        try kafka.createTopic(topic, partitions: 2)
        let first = Pump(try consumer())
        #expect(first.run { $0.assignments.count == 1 })
        first.releases = false
        let second = Pump(try consumer())
        #expect(
            first.run { _ in
                second.step(); return !first.revoked.isEmpty
            })
        first.consumer.commit([zero: 0, one: 0], metadata: "m")
        #expect(first.run { !$0.commits.isEmpty })
        #expect(first.commits.first?.error == nil)
        #expect(first.commits.first?.offsets == [zero: 0, one: 0])
        first.consumer.release()
        #expect(
            first.run { _ in
                second.step()
                return first.assignments.last?.count == 1 && second.assignments.last?.count == 1
            })
        #expect(second.consumer.close(within: .seconds(5)))
        first.releases = true
        #expect(first.run { $0.assignments.last?.count == 2 })
    }

    /// How a member leaves its group.
    enum Leaving: CaseIterable { case closed, closedWhileRevoking, unsubscribed }

    @Test(
        "a member that leaves is not waited for until its session has ended",
        arguments: Leaving.allCases)
    func leaving(_ way: Leaving) throws {
        try kafka.createTopic(topic, partitions: 2)
        let session = [("session.timeout.ms", "30000")]
        let first = Pump(try consumer(session))
        #expect(first.run { $0.assignments.last == [zero, one] })
        first.releases = way != .closedWhileRevoking
        let second = Pump(try consumer(session))
        #expect(
            first.run { _ in
                second.step()
                return first.releases
                    ? first.assignments.last?.count == 1 && second.assignments.last?.count == 1
                    : !first.revoked.isEmpty
            })
        let end = now() + 10
        if way == .unsubscribed {
            try first.consumer.subscribe([])
        } else {
            #expect(first.consumer.close(within: .seconds(5)))
        }
        #expect(
            second.run(end - now()) { _ in
                first.step()
                return second.assignments.last == [zero, one]
            })
    }

    @Test("a producer creates no topic, also where the broker would, unless it is told to")
    func creation() throws {
        func isTaken(_ properties: [(name: String, value: String)]) throws -> Bool {
            let patience = [
                ("topic.metadata.propagation.max.ms", "2000"), ("message.timeout.ms", "5000"),
            ]
            let producer = try Producer(
                brokers: kafka.bootstrap, properties: patience + properties)
            try producer.produce(topic: topic, key: [1], value: [2])
            #expect(producer.flush(within: .seconds(20)))
            while let event = producer.nextEvent() {
                if case .delivered(_, _, let error) = event { return error == nil }
            }
            return false
        }
        let pump = Pump(try consumer())
        #expect(try !isTaken([]))
        pump.consumer.askTopics([topic])
        #expect(pump.run { $0.topics == [topic: 0] })
        #expect(try isTaken([("allow.auto.create.topics", "true")]))
    }

    @Test("a topic that does not exist is said to be missing, and read when it appears and grows")
    func appearing() throws {
        let pump = Pump(try consumer(), start: 0)
        pump.consumer.askTopics([topic])
        #expect(pump.run { $0.topics != nil })
        #expect(pump.topics == [topic: 0])
        try kafka.createTopic(topic, partitions: 1)
        #expect(pump.run { $0.assignments.last == [zero] })
        pump.consumer.askTopics([topic])
        #expect(pump.run { $0.topics == [topic: 1] })
        try kafka.tool("topics --alter --topic \(topic) --partitions 2")
        #expect(pump.run { $0.assignments.last == [zero, one] })
        try Producer(brokers: kafka.bootstrap).fill(one, 0..<3)
        #expect(pump.run { $0.offsets(one) == [0, 1, 2] })
    }

    @Test("records that retention removed halt a partition, and are not behind it any more")
    func retention() throws {
        try kafka.createTopic(topic, partitions: 1)
        try Producer(brokers: kafka.bootstrap).fill(zero, 0..<10)
        let file = "/tmp/\(topic).json"
        #expect(
            shell(
                """
                echo '{"version":1,"partitions":[{"topic":"\(topic)","partition":0,"offset":6}]}' > \(file)
                """) == 0)
        try kafka.tool("records --offset-json-file \(file)")
        _ = unsafe unlink(file)
        let pump = Pump(try consumer(), start: 2)
        #expect(pump.run { !$0.errors.isEmpty })
        #expect(pump.errors.first?.action == .haltPartition)
        #expect(pump.count == 0)
        #expect(
            pump.run {
                $0.consumer.renewEnds(at: Moment(monotonic: 0, wall: 0))
                return $0.consumer.progress(of: zero)?.lag == 4
            })
        #expect(pump.consumer.progress(of: zero)?.position == 2)
        #expect(pump.consumer.progress(of: zero)?.isAtEnd == false)
        pump.consumer.askPositions([zero])
        #expect(pump.run { $0.positions != nil })
        #expect(pump.positions?[zero]?.low == 6)
        pump.consumer.read([zero: 6])
        #expect(pump.run { $0.offsets(zero) == [6, 7, 8, 9] })
    }

    @Test("the end is reached also behind a transaction's marker")
    func marker() throws {
        try kafka.createTopic(topic, partitions: 1)
        try kafka.tool(
            """
            producer-perf --topic \(topic) --num-records 50 --record-size 10 --throughput -1 \
            --producer-props bootstrap.servers=\(kafka.bootstrap[0]) --transactional-id \(topic) \
            --transaction-duration-ms 100
            """)
        let pump = Pump(try consumer(), start: 0)
        #expect(pump.run { $0.count == 50 })
        #expect(pump.run(10) { $0.consumer.progress(of: zero)?.isAtEnd == true })
        let progress = try #require(pump.consumer.progress(of: zero))
        #expect(progress.position > 50)
        #expect(progress.lag == 0)
    }

    @Test("a record that the broker finds too large is said to be, and its company is not")
    func tooLarge() throws {
        try kafka.createTopic(topic, partitions: 1, "--config max.message.bytes=20000")
        let producer = try Producer(brokers: kafka.bootstrap)
        for (token, size) in [(1, 9000), (2, 50_000), (3, 9000), (4, 9000), (5, 3_000_000)] {
            // Random bytes, so that compression does not make it small.
            let value = (0..<size).map { _ in UInt8.random(in: 0...255) }
            try producer.produce(
                topic: topic, partition: 0, key: [1], value: value, token: token)
        }
        #expect(producer.flush(within: .seconds(20)))
        var fared: [Int: Bool] = [:]
        while let event = producer.nextEvent() {
            guard case .delivered(let token, _, let error) = event else { continue }
            fared[token] = error == nil
            if let error { #expect(error.isTooLarge) }
        }
        #expect(fared == [1: true, 2: false, 3: true, 4: true, 5: false])
        // What a refusal leaves behind does not harm the next record.
        try producer.produce(topic: topic, partition: 0, key: [1], value: nil, token: 6)
        #expect(producer.flush(within: .seconds(20)))
        #expect(producer.pending == 1)
        if case .delivered(let token, let offset, let error)? = producer.nextEvent() {
            #expect(token == 6 && offset == 3 && error == nil)
        }
    }

    @Test("a reader that is slower than the fetching is not stalled by librdkafka's prefetch")
    func prefetch() throws {
        try kafka.createTopic(topic, partitions: 4)
        try perform(records: 80_000)
        let share = try stalledShare(records: 80_000)
        #expect(share < 0.4, "stalled for \(share) of the time")
    }

    @Test("what waits behind a reader that does not read is bounded in memory")
    func memory() throws {
        try kafka.createTopic(topic, partitions: 4)
        try perform(records: 600_000)
        let before = residentBytes()
        let pump = Pump(try consumer(), start: 0)
        pump.holding = Set((0..<4).map { TopicPartition(topic, $0) })
        #expect(pump.run { $0.holding.allSatisfy { pump.consumer.progress(of: $0)?.high != nil } })
        // 250 MB wait; librdkafka's own limits would fetch them all.
        #expect(!pump.run(4) { _ in residentBytes() > before + 80 << 20 })
        pump.holding = []
        #expect(pump.run { $0.count == 600_000 })
    }

    /// Lets Kafka's own tool produce records of 235 bytes.
    func perform(records: Int) throws {
        try kafka.tool(
            """
            producer-perf --topic \(topic) --num-records \(records) --record-size 235 \
            --throughput -1 --producer-props bootstrap.servers=\(kafka.bootstrap[0])
            """)
    }

    /// The part of the time in which records were known to be there and none came for 200 ms and
    /// more; asleep, librdkafka takes up to a second.
    func stalledShare(records: Int) throws -> Double {
        let consumer = try consumer([("queued.min.messages", "1000")])
        let pump = Pump(consumer)
        pump.run { !$0.assignments.isEmpty }
        consumer.read(
            Dictionary(uniqueKeysWithValues: (0..<4).map { (TopicPartition(topic, $0), Int64(0)) }))
        var (got, began, last, stalled) = (0, 0.0, 0.0, 0.0)
        let deadline = now() + 60
        while got < records, now() < deadline {
            wait(consumer.descriptor, milliseconds: 20)
            consumer.drainDescriptor()
            while consumer.nextEvent() != nil {}
            for partition in consumer.reading {
                while true {
                    let batch = consumer.records(of: partition, max: 1000, bytesMax: 1 << 20)
                    if batch.isEmpty { break }
                    let time = now()
                    if began == 0 {
                        began = time
                    } else if time - last > 0.2 {
                        stalled += time - last
                    }
                    got += batch.count
                    // Two microseconds a record: slower than the fetching.
                    while now() < time + 2e-6 * Double(batch.count) {}
                    last = now()
                }
            }
            consumer.wakeStalled()
        }
        #expect(got == records)
        return stalled / (now() - began)
    }

    func consumer(_ more: [(name: String, value: String)] = []) throws -> Consumer {
        try Consumer(
            brokers: kafka.bootstrap, group: group, topics: [topic],
            properties: [
                ("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "500"),
                ("topic.metadata.refresh.interval.ms", "500"),
            ] + more)
    }
}
