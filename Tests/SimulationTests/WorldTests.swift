import BridgeCore
import Testing

@testable import Simulation

@Suite("Simulated worlds")
struct WorldTests {
    @Test(
        "In a world of any seed the bridge keeps the contract",
        arguments: 1...60 as ClosedRange<UInt64>)
    func holds(_ seed: UInt64) {
        let world = World(seed: seed)
        world.run()
        #expect(world.failures == [], "swift run sim --seed \(seed)")
    }

    @Test("In some dozens of worlds everything happens that can")
    func everythingHappens() {
        var counts: [String: Int] = [:]
        for seed in 61...150 as ClosedRange<UInt64> {
            let world = World(seed: seed)
            world.run()
            #expect(world.failures == [], "swift run sim --seed \(seed)")
            counts.merge(world.counts, uniquingKeysWith: +)
        }
        let deeds = [
            "crashes", "fenced", "poison refused", "operator's resets", "set-backs", "skips",
            "retention gaps", "other clusters", "stray watermarks", "erasures", "halts ended",
        ]
        let alarms = [
            "another_group_is_live", "log_gap", "watermark_of_another_cluster",
            "watermark_beyond_end", "partition_counts_differ", "record_skipped",
        ]
        for name in deeds + alarms.map({ "notice \($0)" }) {
            #expect(counts[name] ?? 0 > 0, "\(name)")
        }
    }

    @Test("The same seed makes the same world")
    func deterministic() {
        func trace(_ seed: UInt64) -> ([String], UInt64) {
            let world = World(seed: seed, tracing: true)
            world.run()
            return (world.trace, world.fingerprint)
        }
        for seed: UInt64 in 1...5 {
            let (first, second) = (trace(seed), trace(seed))
            #expect(first.1 == second.1)
            let differing = zip(first.0, second.0).first { $0 != $1 }
            #expect(differing == nil && first.0.count == second.0.count)
        }
        #expect(trace(1).1 != trace(2).1)
    }

    /// Where the first two thousand worlds show what few of them do.
    static let seeds: [Flaw: ClosedRange<UInt64>] = [
        .takesLateAnswers: 476...485, .readsWatermarkEarly: 75...84,
    ]

    @Test("A core with a rule broken is caught", arguments: Flaw.allCases)
    func catches(_ flaw: Flaw) {
        let caught = (Self.seeds[flaw] ?? 1...500).contains { seed in
            let world = World(seed: seed, flaw: flaw)
            world.run()
            return !world.failures.isEmpty
        }
        #expect(caught)
    }
}
