internal import BridgeCore

/// The records that throughput is measured with: chunks of 235 bytes, conversations side by side.
enum Workload {
    /// The value of one chunk.
    static func value(conversation: Int, index: Int) -> [UInt8] {
        let id = "thread_" + padded(conversation, 12)
        let second = padded(index / 1000 % 60, 2)
        let millisecond = padded(index % 1000, 3)
        let text = """
            {"conversation_id":"\(id)","message_sequence":8,"run_id":"f3252492-792a-45d2-81c9",\
            "chunk_index":\(index),"content":" word\(index % 97)","type":"STREAM_CHUNK_TYPE_TEXT",\
            "timestamp":"2026-04-23T22:43:\(second).\(millisecond)Z","is_final":false}
            """
        return Array(text.utf8)
    }

    static func key(conversation: Int) -> [UInt8] {
        Array(("thread_" + padded(conversation, 12)).utf8)
    }

    /// Records as the core takes them, a thousand at a time.
    static func batches(
        records: Int, conversations: Int, partitions: Int
    ) -> [(partition: Int, records: [Record])] {
        var logs = [[Record]](repeating: [], count: partitions)
        for number in 0..<records {
            let conversation = number % conversations
            let partition = conversation % partitions
            logs[partition].append(
                Record(
                    offset: Int64(logs[partition].count), timestamp: 1_777_000_000_000,
                    key: key(conversation: conversation),
                    value: value(conversation: conversation, index: number / conversations)))
        }
        var batches: [(partition: Int, records: [Record])] = []
        for (partition, log) in logs.enumerated() {
            for start in stride(from: 0, to: log.count, by: 1000) {
                batches.append((partition, Array(log[start..<min(start + 1000, log.count)])))
            }
        }
        return batches
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
