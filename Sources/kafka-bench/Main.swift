import BridgeCore
import Glibc
import Kafka

/// What the consumer alone can do, beside `consume.c`:
/// `kafka-bench BROKER fill TOPIC COUNT [SIZE] [KEYS]` · `kafka-bench BROKER read TOPIC COUNT [WORK_NS] [NAME=VALUE]...`.
@main
struct Main {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        switch words[1] {
        case "fill":
            try fill(
                words[0], words[2], Int(words[3])!, size: words.count > 4 ? Int(words[4])! : 235)
        case "read", "hold": try read(words, holds: words[1] == "hold")
        default: fatalError("no such verb")
        }
    }

    static func fill(_ broker: String, _ topic: String, _ count: Int, size: Int) throws {
        let producer = try Producer(
            brokers: [broker],
            properties: [
                ("batch.size", "200000"), ("linger.ms", "50"), ("compression.codec", "none"),
                ("queue.buffering.max.messages", "500000"),
            ])
        let value = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        for number in 0..<count {
            while true {
                do throws(KafkaError) {
                    try producer.produce(
                        topic: topic, partition: Int32(number / 50 % 4),
                        key: Array("conversation-\(number / 50 % 1000)".utf8), value: value)
                    break
                } catch {
                    guard error.code == "_QUEUE_FULL" else { throw error }
                    wait(producer.descriptor)
                    producer.drainDescriptor()
                    while producer.nextEvent() != nil {}
                }
            }
        }
        print(producer.flush(within: .seconds(60)))
    }

    static func read(_ words: [String], holds: Bool) throws {
        let wanted = Int(words[3])!
        let work = words.count > 4 ? Double(words[4])! / 1e9 : 0
        let properties = words.dropFirst(5).map { word in
            let parts = word.split(separator: "=")
            return (name: String(parts[0]), value: String(parts[1]))
        }
        let consumer = try Consumer(
            brokers: [words[0]], group: "bench-\(now())",
            topics: words[2].split(separator: ",").map(String.init),
            properties: properties.filter { $0.name != "wake" })
        let wakes = !properties.contains { $0.name == "wake" && $0.value == "0" }
        var (began, last, stalled, got, bytes, turns) = (0.0, 0.0, 0.0, 0, 0, 0)
        while got < wanted {
            wait(consumer.descriptor)
            turns += 1
            consumer.drainDescriptor()
            while let event = consumer.nextEvent() {
                if case .assigned(let partitions) = event {
                    consumer.read(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
                }
                say("\(event)")
            }
            if holds {
                if began == 0 { began = now() }
                if now() - began > 8 { break }
                continue
            }
            var isDry = false
            while !isDry {
                isDry = true
                for partition in consumer.reading {
                    let records = consumer.records(of: partition, max: 1000, bytesMax: 256 << 10)
                    guard !records.isEmpty else { continue }
                    isDry = false
                    let time = now()
                    if began == 0 {
                        began = time
                    } else if time - last > 0.02 {
                        stalled += time - last
                    }
                    got += records.count
                    for record in records { bytes += record.value?.count ?? 0 }
                    let until = now() + work * Double(records.count)
                    while work > 0, now() < until {}
                    last = now()
                }
            }
            if wakes { consumer.wakeStalled() }
        }
        let seconds = now() - began
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu =
            Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
        say(
            "records \(got) per_second \(Int(Double(got) / seconds)) stalled \(stalled)"
                + " wakes \(consumer.wakes) turns \(turns) cpu \(cpu) rss_mb \(usage.ru_maxrss / 1024)"
        )
        _exit(0)
    }

    static func say(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe write(2, bytes, bytes.count)
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
