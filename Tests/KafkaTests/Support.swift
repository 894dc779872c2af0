import BridgeCore
import Glibc
import Kafka
import TestSupport
import Testing

/// Everything that a consumer says, collected while it is polled as the daemon polls it.
final class Pump {
    let consumer: Consumer
    var records: [TopicPartition: [Record]] = [:]
    var events: [ConsumerEvent] = []
    var revoked: [(partitions: [TopicPartition], lost: Bool)] = []
    var errors: [KafkaError] = []
    var commits: [(offsets: [TopicPartition: Int64], serial: Int, error: KafkaError?)] = []
    var positions: [TopicPartition: PartitionPositions]?
    var topics: [String: Int]?
    var assignments: [[TopicPartition]] = []
    /// Where to begin as soon as a partition is assigned; nil leaves that to the test.
    var start: Int64?
    /// Partitions whose records are not taken.
    var holding: Set<TopicPartition> = []
    /// Whether a revoke is answered at once.
    var releases = true
    var recordsMax = 1000

    init(_ consumer: Consumer, start: Int64? = nil) {
        self.consumer = consumer
        self.start = start
    }

    /// Polls until the condition holds; false when it does not within so many seconds.
    @discardableResult
    func run(_ seconds: Double = 30, until condition: (Pump) -> Bool = { _ in false }) -> Bool {
        let deadline = now() + seconds
        repeat {
            step()
            if condition(self) { return true }
            wait(consumer.descriptor, milliseconds: 20)
        } while now() < deadline
        return condition(self)
    }

    func step() {
        consumer.drainDescriptor()
        while let event = consumer.nextEvent() { take(event) }
        for partition in consumer.reading where !holding.contains(partition) {
            while true {
                let batch = consumer.records(of: partition, max: recordsMax, bytesMax: 1 << 20)
                if batch.isEmpty { break }
                records[partition, default: []] += batch
            }
        }
        while let event = consumer.nextEvent() { take(event) }
        consumer.wakeStalled()
    }

    private func take(_ event: ConsumerEvent) {
        events.append(event)
        switch event {
        case .assigned(let partitions):
            assignments.append(partitions)
            if let start {
                consumer.read(Dictionary(uniqueKeysWithValues: partitions.map { ($0, start) }))
            }
        case .revoked(let partitions, let lost):
            revoked.append((partitions, lost))
            if releases { consumer.release() }
        case .committed(let offsets, let serial, let error):
            commits.append((offsets, serial, error))
        case .positions(let found, _): positions = found
        case .topics(let found): topics = found
        case .error(let error), .positionsFailed(_, _, let error), .topicsFailed(let error):
            errors.append(error)
        case .log: break
        }
    }

    /// How many events there were of a case.
    func count(of name: String) -> Int {
        events.filter { "\($0)".split(separator: "(").first.map(String.init) == name }.count
    }

    var count: Int { records.values.reduce(0) { $0 + $1.count } }

    func offsets(_ partition: TopicPartition) -> [Int64] {
        records[partition, default: []].map(\.offset)
    }
}

/// Seconds of the monotonic clock.
func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Waits until a descriptor is readable.
func wait(_ descriptor: Int32, milliseconds: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&entry, 1, milliseconds)
}

/// Memory of this process, in bytes.
func residentBytes() -> Int {
    let text = try? readFile("/proc/self/statm")
    return Int(text?.split(separator: " ")[1] ?? "0")! * 4096
}

func readFile(_ path: String) throws -> String {
    guard let file = unsafe fopen(path, "r") else { return "" }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var byte = unsafe fgetc(file)
    while byte >= 0 {
        bytes.append(UInt8(byte))
        byte = unsafe fgetc(file)
    }
    return String(decoding: bytes, as: UTF8.self)
}

extension Producer {
    /// Produces texts to one partition and waits until they are there.
    func fill(_ partition: TopicPartition, _ range: Range<Int>, size: Int = 0) throws {
        let padding = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        for number in range {
            while true {
                do throws(KafkaError) {
                    try produce(
                        topic: partition.topic, partition: partition.partition,
                        key: Array("key \(number % 10)".utf8),
                        value: Array("\(number)".utf8) + padding, token: number)
                    break
                } catch {
                    guard error.code == "_QUEUE_FULL" else { throw error }
                    wait(descriptor, milliseconds: 10)
                    drainDescriptor()
                }
                while nextEvent() != nil {}
            }
        }
        try #require(flush(within: .seconds(60)))
        while let event = nextEvent() {
            if case .delivered(_, _, let error?) = event { throw error }
        }
    }
}

/// Timeouts short enough for a test; the mock cluster wants more than three seconds of session.
let quick: [(name: String, value: String)] = [
    ("session.timeout.ms", "3500"), ("heartbeat.interval.ms", "500"), ("fetch.wait.max.ms", "10"),
    ("topic.metadata.refresh.interval.ms", "500"),
]
