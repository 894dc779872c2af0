// What a conversation can meet. Each scenario keeps the promise of contract section 2: in a topic
// a run's first record lies, by its own time, before the births of the runs after it.
extension HardConversation {
    /// Plays one scenario.
    mutating func play() {
        switch random.int(0..<17) {
        case 0: plain()
        case 1, 2: regenerated()
        case 3: bornAtTheSameInstant()
        case 4: failed()
        case 5: endedByChunkOnly()
        case 6: markerBeatsChunk()
        case 7: markersOnly()
        case 8: endBeforeBirth()
        case 9: withoutTimes()
        case 10: disorder()
        case 11: begunAgain()
        case 12, 13: shuffledStatuses()
        case 14: tiedStatuses()
        case 15: bothInOneRecord()
        default: severalStreams()
        }
    }

    private mutating func plain() {
        let run = newRun()
        let count = Int64(random.int(2..<20))
        activity("QUEUED")
        activity("GENERATING", run)
        marker(run, "started")
        for index in 0..<count { chunk(run, index, final: index == count - 1) }
        marker(run, "completed")
        message()
        activity("IDLE")
    }

    private mutating func regenerated() {
        let (old, new) = (newRun(), newRun())
        let count = Int64(random.int(4..<20))
        if random.chance(0.7) { marker(old, "started") }
        for index in 0..<count { chunk(old, index) }
        let late = tick()
        if random.chance(0.7) { marker(new, "started") }
        for index in 0..<Int64(random.int(1..<4)) { chunk(new, index) }
        chunk(old, count, at: random.chance(0.5) ? late : nil)  // the old worker had not heard yet
        if random.chance(0.5) {
            marker(
                old, "cancelled",
                random.chance(0.5) ? [] : [("error_message", .text("regenerated"))])
        }
        for index in 4..<Int64(random.int(5..<13)) { chunk(new, index) }
        chunk(new, 15, final: true)
        if random.chance(0.5) { marker(new, "completed") }
        if random.chance(0.3) { chunk(old, count + 1, final: true) }
    }

    /// The greater id is the newer run.
    private mutating func bornAtTheSameInstant() {
        let at = tick()
        let runs = random.shuffled([newRun(), newRun()])
        for run in runs { chunk(run, 0, at: at) }
        for index: Int64 in 1..<4 {
            for run in runs { chunk(run, index, final: index == 3) }
        }
    }

    private mutating func failed() {
        let run = newRun()
        marker(run, "started")
        for index in 0..<Int64(random.int(0..<6)) { chunk(run, index) }
        let error = Draft.object([
            ("code", .text("rate_limited")), ("message", .text("slow down")),
        ])
        marker(
            run, random.pick(["failed", "cancelled"]),
            random.pick([
                [], [("error", error)], [("error_message", .text("gone"))],
                [("error", .null), ("error_message", .text("gone"))],
            ]))
        if random.chance(0.5) { marker(run, "completed") }  // the first terminal marker counts
        let broken = Draft.object([("code", .text("E1")), ("message", .text("it broke"))])
        activity("ERROR", run, [("error", broken)])
    }

    private mutating func endedByChunkOnly() {
        let run = newRun()
        let count = Int64(random.int(1..<8))
        for index in 0..<count { chunk(run, index) }
        chunk(
            run, count, final: true,
            random.pick([
                [("finish_reason", .text("error")), ("error_message", .text("model gone"))],
                [("finish_reason", .text("error"))], [("finish_reason", .text("length"))],
                [("finish_reason", .text("tool_calls")), ("content", .null)],
                [("content", .text(""))],
            ]))
    }

    private mutating func markerBeatsChunk() {
        let run = newRun()
        marker(run, "started")
        chunk(run, 0)
        chunk(run, 1, final: true)
        let error = Draft.object([("code", .text("moderated")), ("message", .text("withdrawn"))])
        marker(run, "failed", [("error", error)])
    }

    private mutating func markersOnly() {
        for run in [newRun(), newRun()] {
            if random.chance(0.5) { marker(run, "started") }
            if random.chance(0.8) {
                marker(run, random.pick(["completed", "failed", "cancelled"]))
            }
        }
    }

    /// Producers without started markers: the newer run's end may be seen before its chunks.
    private mutating func endBeforeBirth() {
        let (old, new) = (newRun(), newRun())
        for index: Int64 in 0..<3 { chunk(old, index) }
        for index: Int64 in 0..<3 { chunk(new, index, final: index == 2) }
        marker(new, random.pick(["completed", "cancelled"]))
    }

    private mutating func withoutTimes() {
        let run = newRun()
        let count = Int64(random.int(2..<8))
        for index in 0..<count { chunk(run, index, final: index == count - 1, timed: false) }
        activity("GENERATING", run, timed: false)
        activity("IDLE", run, timed: false)
    }

    /// Chunks out of order, missing, and delivered twice.
    private mutating func disorder() {
        let run = newRun()
        let count = random.int(6..<24)
        let stride = random.int(3..<7)
        marker(run, "started")
        let first = records.count
        for start in Swift.stride(from: 0, to: count - 1, by: stride) {
            for index in random.shuffled(Array(start..<min(start + stride, count - 1))) {
                guard random.chance(0.9) else { continue }
                chunk(run, Int64(index))
                if random.chance(0.2) { repeatOneRecord(since: first) }
            }
        }
        chunk(run, Int64(count - 1), final: true)
        if random.chance(0.2) { repeatOneRecord(since: first) }
        if random.chance(0.5) { marker(run, "completed") }
    }

    /// The worker died and began its run again under the same id; the second answer is shorter.
    private mutating func begunAgain() {
        let run = newRun()
        let count = Int64(random.int(8..<16))
        for index in 0..<count { chunk(run, index) }
        let shorter = Int64(random.int(2..<Int(count) - 2))
        for index in 0..<shorter { chunk(run, index, final: index == shorter - 1) }
        if random.chance(0.5) { chunk(run, shorter) }
    }

    /// Stale, doubled, equal and shuffled; beyond 2^53; with an order as text that is not that of
    /// the numbers.
    private mutating func shuffledStatuses() {
        let base = random.pick([8, 98, 1 << 53 - 1, 1 << 62] as [Int64])
        let names = ["QUEUED", "GENERATING", "EXECUTING_TOOLS", "COMPACTING", "IDLE", "ERROR"]
        var states: [(name: String, seq: Int64, at: Int64)] = []
        for _ in 0..<random.int(3..<10) {
            states.append((random.pick(names), base + Int64(random.int(0..<4)), tick()))
        }
        if random.chance(0.5), let last = states.last {
            states.append((random.pick(["GENERATING", "IDLE"]), last.seq, last.at))
        }
        let doubled = random.shuffled(states).prefix(random.int(0..<states.count))
        for (name, seq, at) in random.shuffled(states) + doubled {
            let error = Draft.object([("code", .text("E")), ("message", .text("m\(at)"))])
            activity(name, newRun(), seq: seq, at: at, name == "ERROR" ? [("error", error)] : [])
        }
    }

    /// One `(seq, since)`, several states, doubled and in any order: the resting one stays.
    private mutating func tiedStatuses() {
        let at = tick()
        let others = random.shuffled(["QUEUED", "GENERATING", "COMPACTING"]).prefix(2)
        let states = random.shuffled(["GENERATING", random.pick(["IDLE", "ERROR"])] + others)
        for state in states + [states[0]] { activity(state, "r1", at: at) }
    }

    private mutating func bothInOneRecord() {
        let run = newRun()
        start(run)
        chunk(run, 0)
        chunk(run, 1, final: true)
    }

    private mutating func severalStreams() {
        for _ in 0..<3 {
            plain()
            sequence += Int64(random.int(1..<3))
        }
        message()
        let odd = Draft.object([
            ("", .list([.integer(1), .object([("c/d", .null)])])), ("$ref", .text("#/x")),
        ])
        message([("a.b", odd), (".sv", .text("timestamp"))])
    }
}
