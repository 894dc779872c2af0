import BridgeCore
import Testing

@testable import Simulation

@Suite("Simulated worlds")
struct WorldTests {
    @Test(
        "In a world of any seed the bridge keeps the contract",
        arguments: 1...150 as ClosedRange<UInt64>)
    func holds(_ seed: UInt64) {
        let world = World(seed: seed)
        world.run()
        #expect(world.failures == [], "swift run sim --seed \(seed)")
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

    @Test("A core with a rule broken is caught", arguments: Flaw.allCases)
    func catches(_ flaw: Flaw) {
        let caught = (1...500 as ClosedRange<UInt64>).contains { seed in
            let world = World(seed: seed, flaw: flaw)
            world.run()
            return !world.failures.isEmpty
        }
        #expect(caught)
    }
}
