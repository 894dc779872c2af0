internal import BridgeCore
internal import JSON

/// The records that throughput is measured with: chunks of 235 bytes, conversations side by side.
enum Workload {
    static let valueBytes = 235

    /// The value of one chunk, its content filled up to the size.
    static func value(conversation: Int, index: Int) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(valueBytes)
        value.append(contentsOf: #"{"conversation_id":""#.utf8)
        appendKey(conversation, to: &value)
        value.append(
            contentsOf: #"","message_sequence":8,"run_id":"f3252492-792a-45d2-"#.utf8)
        appendPadded(conversation % 10_000, 4, to: &value)
        value.append(
            contentsOf: #"","chunk_index":"#
                .utf8)
        value.appendDecimal(index)
        value.append(contentsOf: #","content":" word"#.utf8)
        value.append(
            contentsOf: repeatElement(
                UInt8(ascii: "a") + UInt8(index % 26), count: filling(value.count)))
        value.append(
            contentsOf: #"","type":"STREAM_CHUNK_TYPE_TEXT","timestamp":"2026-04-23T22:"#.utf8)
        appendPadded(index / 60_000 % 60, 2, to: &value)
        value.append(UInt8(ascii: ":"))
        appendPadded(index / 1000 % 60, 2, to: &value)
        value.append(UInt8(ascii: "."))
        appendPadded(index % 1000, 3, to: &value)
        value.append(contentsOf: #"Z","is_final":false}"#.utf8)
        precondition(value.count == valueBytes)
        return value
    }

    static func key(conversation: Int) -> [UInt8] {
        var key: [UInt8] = []
        appendKey(conversation, to: &key)
        return key
    }

    /// Records as the core takes them, a thousand at a time, partitions in turn.
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
        for start in stride(from: 0, to: records / partitions + 1, by: 1000) {
            for (partition, log) in logs.enumerated() where start < log.count {
                batches.append((partition, Array(log[start..<min(start + 1000, log.count)])))
            }
        }
        return batches
    }

    /// How many letters the content still needs, after so many bytes.
    private static func filling(_ count: Int) -> Int { valueBytes - count - 90 }

    private static func appendKey(_ conversation: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "thread_".utf8)
        appendPadded(conversation, 12, to: &bytes)
    }

    private static func appendPadded(_ number: Int, _ width: Int, to bytes: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
