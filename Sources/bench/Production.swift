internal import EventLoop
internal import Kafka

/// Fills a topic with the workload: conversations side by side, one record of each in turn.
enum Production {
    static func run(
        brokers: String, topic: String, records: Int, conversations: Int, partitions: Int
    ) throws {
        let producer = try Producer(
            brokers: brokers.split(separator: ",").map(String.init),
            properties: [
                ("batch.size", "500000"), ("linger.ms", "50"), ("compression.codec", "none"),
                ("queue.buffering.max.messages", "100000"),
            ])
        producer.prepare(topics: [topic])
        let keys = (0..<conversations).map(Workload.key)
        var number = 0
        var failures = 0
        func take() {
            producer.drainDescriptor()
            while let event = producer.nextEvent() {
                guard case .delivered(_, _, let error?) = event else { continue }
                failures += 1
                if failures == 1 { Output.say("bench produce: \(error)", to: 2) }
            }
        }
        while number < records {
            let conversation = number % conversations
            let value = Workload.value(conversation: conversation, index: number / conversations)
            do throws(KafkaError) {
                try producer.produce(
                    topic: topic, partition: Int32(conversation % partitions),
                    key: keys[conversation], value: value)
                number += 1
            } catch {
                guard error.code == "_QUEUE_FULL" else { throw error }
                _ = Poll.wait(for: [producer.descriptor], timeout: .milliseconds(100))
                take()
            }
        }
        let isFlushed = producer.flush(within: .seconds(120))
        take()
        guard isFlushed, failures == 0 else {
            Options.fail("\(failures) of \(records) records were refused, flushed: \(isFlushed)")
        }
        Output.say(
            #"{"records": \#(records), "bytes": \#(Workload.valueBytes), "cpu_s": \#(Output.cpuSeconds)}"#
        )
    }
}
