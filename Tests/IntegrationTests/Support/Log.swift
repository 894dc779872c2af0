import BridgeCore
import EventLoop
import Kafka
import Oracle
import TestSupport

/// A broker: a real Apache Kafka where there is one, else librdkafka's mock cluster.
enum Broker {
    case real(RealKafka)
    case mock(MockClusterProcess)

    /// One for all tests of this process.
    nonisolated(unsafe) static let shared: Broker? = {
        if let kafka = RealKafka.shared {
            print("IntegrationTests: with a real Apache Kafka at \(kafka.bootstrap)")
            return .real(kafka)
        }
        guard let cluster = try? TestSupport.mock() else { return nil }
        print("IntegrationTests: with the mock broker: no kafka/cluster beside the repository")
        return .mock(cluster)
    }()

    var bootstrap: [String] {
        switch self {
        case .real(let kafka): kafka.bootstrap
        case .mock(let cluster): cluster.bootstrap
        }
    }

    var isReal: Bool {
        if case .real = self { true } else { false }
    }

    /// Creates a topic. Both kinds give one that is written to without this four partitions.
    func createTopic(_ name: String, partitions: Int, config: String? = nil) throws {
        switch self {
        case .real(let kafka):
            try kafka.createTopic(
                name, partitions: partitions, config.map { "--config \($0)" } ?? "")
        case .mock(let cluster): try cluster.send("create \(name) \(partitions)")
        }
    }
}

/// A test's own topics, and where they end.
final class Log {
    let broker: Broker
    /// What the names of the topics begin with.
    let prefix: String
    private let producer: Producer

    init(_ broker: Broker, prefix: String) throws {
        self.broker = broker
        self.prefix = prefix
        producer = try Producer(
            brokers: broker.bootstrap, properties: [("allow.auto.create.topics", "true")])
    }

    /// The name of one of the test's topics: `llm.token-chunks` is `PREFIX.llm.token-chunks`.
    func topic(_ name: String) -> String { "\(prefix).\(name)" }

    /// Asks for topics as a producer does, so that the broker creates them.
    func touch(_ names: [String]) { producer.prepare(topics: names) }

    /// Produces a record; `flush` waits for it.
    func append(
        _ topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?,
        headers: [Header] = [], timestamp: Int64? = nil
    ) throws {
        while true {
            do throws(KafkaError) {
                try producer.produce(
                    topic: self.topic(topic), partition: partition, key: key, value: value,
                    headers: headers, timestamp: timestamp)
                return
            } catch {
                guard error.code == "_QUEUE_FULL" else { throw error }
                pause(.milliseconds(5))
                try settle()
            }
        }
    }

    func append(_ records: some Sequence<LogRecord>, partition: Int32? = nil) throws {
        for record in records {
            try append(
                record.topic, partition: partition, key: record.key, value: record.value,
                timestamp: record.timestamp)
        }
    }

    /// Waits until the broker has everything.
    func flush() throws {
        guard producer.flush(within: .seconds(60)) else {
            throw TimedOut(description: "the broker does not take the records")
        }
        try settle()
    }

    private func settle() throws {
        producer.drainDescriptor()
        while let event = producer.nextEvent() {
            if case .delivered(_, _, let error?) = event { throw error }
        }
    }
}

/// What Kafka says of a group, asked from outside of it.
final class GroupOffsets {
    private let consumer: Consumer
    private let topics: [String]

    init(_ broker: Broker, group: String, topics: [String]) throws {
        // Without a subscription it never joins.
        consumer = try Consumer(brokers: broker.bootstrap, group: group, topics: [])
        self.topics = topics
    }

    /// How many partitions the topics have.
    func counts() throws -> [String: Int] {
        consumer.askTopics(topics)
        return try consumer.answer(within: .seconds(30)) { event -> [String: Int]? in
            if case .topics(let counts) = event { counts } else { nil }
        }
    }

    /// Whether every record of the topics is committed.
    func isDrained() throws -> Bool {
        try positions().allSatisfy { ($0.value.committed ?? 0) >= $0.value.high }
    }

    /// Commits and ends of all partitions.
    func positions() throws -> [TopicPartition: PartitionPositions] {
        let partitions = try counts().flatMap { topic, count in
            (0..<count).map { TopicPartition(topic, Int32($0)) }
        }
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do throws(KafkaError) {
                return try ask(partitions)
            } catch {
                // The first group of all has the broker create the topic that keeps offsets.
                guard ContinuousClock.now < deadline else { throw error }
                pause(.milliseconds(200))
            }
        }
    }

    private func ask(
        _ partitions: [TopicPartition]
    ) throws(KafkaError) -> [TopicPartition: PartitionPositions] {
        consumer.askPositions(partitions)
        return try consumer.answer(within: .seconds(30)) {
            event -> [TopicPartition: PartitionPositions]? in
            if case .positions(let known, _) = event { known } else { nil }
        }
    }
}

/// Reads the dead letters, or any topic, from its beginning.
final class TopicReader {
    private(set) var records: [(partition: Int32, record: Record)] = []
    private let consumer: Consumer

    init(_ broker: Broker, topic: String) throws {
        consumer = try Consumer(
            brokers: broker.bootstrap, group: uniqueName("reader"), topics: [topic],
            properties: [
                ("session.timeout.ms", "6000"), ("fetch.wait.max.ms", "10"),
                ("topic.metadata.refresh.interval.ms", "500"),
            ])
    }

    /// Takes in what has come.
    func step() throws {
        consumer.drainDescriptor()
        while let event = consumer.nextEvent() {
            switch event {
            case .assigned(let partitions):
                consumer.read(
                    Dictionary(uniqueKeysWithValues: partitions.map { ($0, Int64(0)) }))
            case .revoked: consumer.release()
            default: continue
            }
        }
        for partition in consumer.reading {
            let found = consumer.records(of: partition, max: 1000, bytesMax: 64 << 20)
            records += found.map { (partition.partition, $0) }
        }
        consumer.wakeStalled()
    }
}
