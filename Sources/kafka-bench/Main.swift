import BridgeCore
import Glibc
import Kafka

/// What the Kafka shell alone can do, to be set beside a bare consumer in C.
///
///     kafka-bench BROKER fill TOPIC COUNT [SIZE]
///     kafka-bench BROKER read TOPICS COUNT [WORK_NS [NAME=VALUE]...]
///     kafka-bench BROKER hold TOPICS COUNT       reads nothing for 8 s: what waits in memory
@main
struct Main {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 4, let count = Int(words[3]) else {
            say("usage: kafka-bench BROKER fill|read|hold TOPICS COUNT ...")
            exit(64)
        }
        if words[1] == "fill" {
            let size = words.count > 4 ? Int(words[4]) ?? 235 : 235
            try fill(words[0], words[2], count, size: size)
        } else {
            try read(words, count, holds: words[1] == "hold")
        }
    }

    /// Produces to four partitions, fifty records of a conversation at a time.
    static func fill(_ broker: String, _ topic: String, _ count: Int, size: Int) throws {
        let producer = try Producer(
            brokers: [broker],
            properties: [
                ("batch.size", "200000"), ("linger.ms", "50"), ("compression.codec", "none"),
                ("queue.buffering.max.messages", "500000"),
            ])
        let value = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        var number = 0
        while number < count {
            do throws(KafkaError) {
                try producer.produce(
                    topic: topic, partition: Int32(number / 50 % 4),
                    key: Array("conversation-\(number / 50 % 1000)".utf8), value: value)
                number += 1
            } catch {
                guard error.code == "_QUEUE_FULL" else { throw error }
                wait(producer.descriptor)
                producer.drainDescriptor()
                while producer.nextEvent() != nil {}
            }
        }
        say(producer.flush(within: .seconds(60)) ? "filled" : "not filled")
    }

    /// Reads from the beginning under a fresh group, with so much work for each record.
    static func read(_ words: [String], _ wanted: Int, holds: Bool) throws {
        let work = words.count > 4 ? (Double(words[4]) ?? 0) / 1e9 : 0
        let properties = words.dropFirst(5).map { word in
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            return (name: parts[0], value: parts.last!)
        }
        let consumer = try Consumer(
            brokers: [words[0]], group: "bench-\(now())",
            topics: words[2].split(separator: ",").map(String.init), properties: properties)
        var (began, last, stalled, got) = (0.0, 0.0, 0.0, 0)
        while got < wanted {
            wait(consumer.descriptor)
            consumer.drainDescriptor()
            while let event = consumer.nextEvent() {
                guard case .assigned(let partitions) = event else { continue }
                consumer.read(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
            }
            if holds {
                if began == 0 { began = now() }
                if now() - began > 8 { break }
                continue
            }
            while true {
                let before = got
                for partition in consumer.reading {
                    let records = consumer.records(of: partition, max: 1000, bytesMax: 256 << 10)
                    guard !records.isEmpty else { continue }
                    let time = now()
                    if began == 0 {
                        began = time
                    } else if time - last > 0.02 {
                        stalled += time - last
                    }
                    got += records.count
                    while work > 0, now() < time + work * Double(records.count) {}
                    last = now()
                }
                if got == before { break }
            }
            consumer.wakeStalled()
        }
        report(got, seconds: now() - began, stalled: stalled, wakes: consumer.wakes)
        _exit(0)
    }

    static func report(_ got: Int, seconds: Double, stalled: Double, wakes: Int) {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu =
            Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
        say(
            """
            {"records": \(got), "per_second": \(Int(Double(got) / seconds)), "stalled_s": \(stalled), \
            "wakes": \(wakes), "cpu_s": \(cpu), "rss_mb": \(usage.ru_maxrss / 1024)}
            """)
    }

    static func say(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe write(1, bytes, bytes.count)
    }

    static func wait(_ descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&entry, 1, 100)
    }

    static func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
