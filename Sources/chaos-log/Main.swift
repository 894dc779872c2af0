import BridgeCore
import EventLoop
import JSON
import Kafka
import Oracle

/// Kafka for programs that speak lines, such as `make chaos`: `chaos-log BROKERS`.
///
/// `{"topic":T,"partition":N,"key":K,"value":V,"timestamp_ms":T,"headers":N}` produces: all but
/// `topic` and `value` may be absent, a `value` that is a text stands for its bytes, anything else
/// for itself, and `headers` is their number. `flush` waits for the broker and answers
/// `{"produced":N}` or `{"error":"…"}`.
/// `positions GROUP TOPIC…` answers `{"TOPIC/N":{"low":…,"high":…,"committed":…},…}`, with -1 for
/// no commit. `judge FILE` compares a tree with what the records demand that were produced so far,
/// taking `x.llm.y` for `llm.y`, and answers `{"differences":["…"]}`, ten at most.
@main
struct Main {
    static func main() throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: chaos-log HOST:PORT,… < lines")
            return
        }
        let brokers = CommandLine.arguments[1].split(separator: ",").map(String.init)
        let log = try ChaosLog(brokers: brokers)
        while let line = readLine() {
            do {
                if line.hasPrefix("{") {
                    try log.produce(line)
                } else if line == "flush" {
                    answer("{\"produced\":\(try log.flush())}")
                } else if line.hasPrefix("judge ") {
                    answer(try log.judge(String(line.dropFirst(6))))
                } else {
                    let words = line.split(separator: " ").map(String.init)
                    guard words.count > 2, words[0] == "positions" else { throw Refused("\(line)") }
                    answer(try log.positions(group: words[1], topics: Array(words[2...])))
                }
            } catch {
                var text: [UInt8] = []
                text.appendJSONString("\(error)")
                answer("{\"error\":\(String(decoding: text, as: UTF8.self))}")
            }
        }
    }

    /// One line, at once.
    private static func answer(_ line: String) {
        try? Descriptor.writeAll(Array("\(line)\n".utf8), to: 1)
    }
}

/// A line that was not understood or not obeyed.
struct Refused: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// One producer, and a consumer without subscription for each group that is asked for.
final class ChaosLog {
    private let brokers: [String]
    private let producer: Producer
    private let parser = JSONParser()
    private var groups: [String: Consumer] = [:]
    private var delivered = 0
    private var failure: KafkaError?
    private var records: [LogRecord] = []

    init(brokers: [String]) throws {
        self.brokers = brokers
        producer = try Producer(
            brokers: brokers,
            properties: [
                ("linger.ms", "2"), ("compression.codec", "none"), ("message.timeout.ms", "300000"),
                // The mock cluster takes a later request where it has just refused an earlier one.
                // The client then counts the earlier one as taken as well: its records were lost.
                ("max.in.flight", "1"),
            ])
    }

    func produce(_ line: String) throws {
        let tape = try parser.parse(Array(line.utf8))
        func member(_ name: String) -> Int? {
            tape.member(Array(name.utf8), of: 0).flatMap { tape.kind($0) == .null ? nil : $0 }
        }
        func bytes(_ value: Int) -> [UInt8] {
            tape.kind(value) == .string ? tape.text(value) : Array(tape.raw(value))
        }
        guard let topic = member("topic") else { throw Refused("a record without topic") }
        let name = String(decoding: tape.text(topic), as: UTF8.self)
        let (key, value) = (member("key").map(bytes), member("value").map(bytes))
        let timestamp = member("timestamp_ms").flatMap(tape.int64)
        let headers = (0..<(member("headers").flatMap(tape.int64) ?? 0)).map {
            Header(name: "header-\($0)", value: Array("\($0)".utf8))
        }
        // A poisoned record is none of the log's, as far as the tree goes.
        if member("poison") == nil, let key, let value {
            records.append(
                LogRecord(topic: plain(name), key: key, value: value, timestamp: timestamp))
        }
        while true {
            do throws(KafkaError) {
                return try producer.produce(
                    topic: name,
                    partition: member("partition").flatMap(tape.int64).map { Int32($0) },
                    key: key, value: value, headers: headers, timestamp: timestamp)
            } catch {
                guard error.code == "_QUEUE_FULL" else { throw error }
                _ = Poll.wait(for: [producer.descriptor], timeout: .milliseconds(50))
                settle()
            }
        }
    }

    /// How many records the broker has taken since the last time.
    func flush() throws -> Int {
        let isDone = producer.flush(within: .seconds(290))
        settle()
        defer { (delivered, failure) = (0, nil) }
        if let failure { throw failure }
        guard isDone else { throw Refused("the broker does not take the records") }
        return delivered
    }

    private func plain(_ topic: String) -> String {
        guard let start = topic.firstRange(of: "llm.") else { return topic }
        return String(topic[start.lowerBound...])
    }

    func judge(_ path: String) throws -> String {
        let tree = try File.read(path, bytesMax: 1 << 30)
        let found = try differences(expected: expectedTree(of: records), found: tree)
        var text: [UInt8] = Array("{\"count\":\(found.count),\"differences\":[".utf8)
        for (index, difference) in found.prefix(10).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.appendJSONString("\(difference)")
        }
        return String(decoding: text, as: UTF8.self) + "]}"
    }

    private func settle() {
        producer.drainDescriptor()
        while let event = producer.nextEvent() {
            guard case .delivered(_, _, let error) = event else { continue }
            if let error { failure = failure ?? error } else { delivered += 1 }
        }
    }

    func positions(group: String, topics: [String]) throws -> String {
        let consumer: Consumer
        if let known = groups[group] {
            consumer = known
        } else {
            // Without a subscription it never joins.
            consumer = try Consumer(brokers: brokers, group: group, topics: [])
            groups[group] = consumer
        }
        consumer.askTopics(topics)
        let counts = try consumer.answer(within: .seconds(15)) { event -> [String: Int]? in
            if case .topics(let counts) = event { counts } else { nil }
        }
        let partitions = counts.flatMap { topic, count in
            (0..<count).map { TopicPartition(topic, Int32($0)) }
        }
        consumer.askPositions(partitions)
        let found = try consumer.answer(within: .seconds(15)) {
            event -> [TopicPartition: PartitionPositions]? in
            if case .positions(let known, _) = event { known } else { nil }
        }
        let members = found.map { partition, known in
            "\"\(partition.topic)/\(partition.partition)\":{\"low\":\(known.low),"
                + "\"high\":\(known.high),\"committed\":\(known.committed ?? -1)}"
        }
        return "{\(members.sorted().joined(separator: ","))}"
    }
}
