internal import BridgeCore
internal import EventLoop

/// The core's memory while conversations come without end, each of them short: what a soak of hours
/// meets in minutes. Everything is answered at once, so no backlog hides what is kept.
enum Churn {
    /// So many conversations go on at the same time, in steps that alternate.
    private static let active = 40
    private static let chunks = 10

    static func run(conversations count: Int) {
        let bridge = Bridge(plan: .standard, settings: Settings(), owner: "bench")
        var shell = InstantShell(bridge: bridge)
        let topics = ["llm.token-chunks", "llm.run-lifecycle", "llm.finalized-messages"]
        let sources = topics.map { topic in (0..<4).map { TopicPartition(topic, Int32($0)) } }
        bridge.assign(sources.flatMap { $0 }, at: shell.now)
        shell.obey()
        var offsets = sources.map { $0.map { _ in Int64(0) } }
        func consume(_ topic: Int, _ conversation: Int, _ value: String) {
            let number = conversation % 4
            let record = Record(
                offset: offsets[topic][number], timestamp: 1_777_000_000_000,
                key: Array("c\(conversation)".utf8), value: Array(value.utf8))
            offsets[topic][number] += 1
            shell.bridge.consume([record], from: sources[topic][number], at: shell.now)
        }
        let steps = chunks + 3
        for first in stride(from: 0, to: count, by: active) {
            for step in 0..<steps {
                for conversation in first..<first + active {
                    let (topic, value) = record(conversation, step)
                    consume(topic, conversation, value)
                }
                shell.obey()
            }
            if (first / active) % (max(count / 20, active) / active) == 0 { tell(first) }
        }
        tell(count)
    }

    private static func record(_ conversation: Int, _ step: Int) -> (topic: Int, value: String) {
        let head =
            #"{"conversation_id":"c\#(conversation)","message_sequence":1,"run_id":"run-\#(conversation)""#
        let time = "2026-11-01T00:00:00.000Z"
        switch step {
        case 0:
            return (
                1,
                head
                    + #","state":"CONVERSATION_ACTIVITY_STATE_GENERATING","seq":1,"since":"\#(time)","status":"started","event_context":{"event_name":"llm.v1.Run","emitted_at":"\#(time)"}}"#
            )
        case chunks + 1:
            return (
                1,
                head
                    + #","state":"CONVERSATION_ACTIVITY_STATE_IDLE","seq":2,"since":"\#(time)","status":"completed","event_context":{"event_name":"llm.v1.Run","emitted_at":"\#(time)"}}"#
            )
        case chunks + 2:
            return (
                2,
                #"{"conversation_id":"c\#(conversation)","message":{"role":1},"event_context":{"event_name":"llm.v1.Message"}}"#
            )
        default:
            let isFinal = step == chunks ? #","is_final":true"# : ""
            return (
                0,
                head
                    + #","chunk_index":\#(step - 1),"content":"some words ","timestamp":"\#(time)"\#(isFinal)}"#
            )
        }
    }

    private static func tell(_ conversations: Int) {
        let pages = (try? File.read("/proc/self/statm", bytesMax: 4096)).map {
            String(decoding: $0, as: UTF8.self).split(separator: " ")
        }
        let resident = pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0
        Output.say(
            #"{"conversations": \#(conversations), "resident_mb": \#(resident * 4096 / 1_048_576)}"#
        )
    }
}
