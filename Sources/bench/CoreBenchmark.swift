internal import BridgeCore
internal import Glibc

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
        let start = clock()
        for (partition, records) in batches {
            bridge.consume(records, from: sources[partition], at: shell.now)
            shell.obey()
        }
        let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
        let nanoseconds = Int(seconds * 1e9) / max(count, 1)
        print(
            "core: \(count) records, \(nanoseconds) ns a record, \(Int(Double(count) / seconds)) a second,"
                + " \(shell.patches) PATCHes, \(shell.bytes / max(count, 1)) bytes a record")
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
            case .askPositions(let sources):
                let known = PartitionPositions(low: 0, high: 1 << 40, committed: nil)
                bridge.positions(
                    Dictionary(uniqueKeysWithValues: sources.map { ($0, known) }), at: now)
            case .commit(let offsets): bridge.committed(offsets, failed: nil, at: now)
            default: continue
            }
        }
    }
}
