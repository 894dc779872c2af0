internal import BridgeCore

/// The core alone: chunk records in, PATCH bodies out, everything answered at once. Run it under
/// callgrind for instructions a record, which no noise touches.
enum CoreBenchmark {
    static func run(records count: Int, conversations: Int) {
        let bridge = Bridge(plan: .standard, settings: Settings(), owner: "bench")
        let sources = (0..<4).map { TopicPartition("llm.token-chunks", Int32($0)) }
        var shell = InstantShell(bridge: bridge)
        bridge.assign(sources, at: shell.now)
        shell.obey()
        let batches = Workload.batches(records: count, conversations: conversations, partitions: 4)
        let before = Output.cpuSeconds
        feed(batches, to: &shell, from: sources)
        let seconds = Output.cpuSeconds - before
        Output.say(
            """
            {"records": \(count), "ns_per_record": \(seconds * 1e9 / Double(max(count, 1))), \
            "patches": \(shell.patches), "bytes": \(shell.bytes)}
            """)
    }

    /// A function of its own, so that callgrind can be told to count nothing else.
    @inline(never)
    static func feed(
        _ batches: [(partition: Int, records: [Record])], to shell: inout InstantShell,
        from sources: [TopicPartition]
    ) {
        for (partition, records) in batches {
            shell.bridge.consume(records, from: sources[partition], at: shell.now)
            shell.obey()
        }
    }
}

/// Answers everything that a core wants at once.
struct InstantShell {
    let bridge: Bridge
    let now = Moment(monotonic: 1, wall: 1_777_000_000_000)
    var patches = 0
    var bytes = 0

    init(bridge: Bridge) { self.bridge = bridge }

    mutating func obey() {
        while let effect = bridge.nextEffect(at: now) {
            switch effect {
            case .request(let request):
                if case .patch(let body) = request.method {
                    patches += 1
                    bytes += body.count
                }
                bridge.settle(
                    request.id, .done(body: Array("null".utf8), date: nil), at: now, jitter: 0)
            case .askPositions(let sources, let serial):
                let known = PartitionPositions(low: 0, high: 1 << 40, committed: nil)
                bridge.positions(
                    Dictionary(uniqueKeysWithValues: sources.map { ($0, known) }),
                    serial: serial, at: now)
            case .commit(let offsets, let serial):
                bridge.committed(offsets, serial: serial, failed: nil, at: now)
            default: continue
            }
        }
    }
}
