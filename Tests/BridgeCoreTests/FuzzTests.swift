import Fuzzing
import Testing

/// A short run of `swift run -c release fuzz`, and what it found before.
@Suite struct FuzzTests {
    @Test func oddRecordsAreWrittenRejectedOrPassedOverAndNothingElse() {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2)
        var seed: UInt64 = 1
        while clock.now < end || seed < 20 {
            let world = FuzzWorld(seed: seed)
            #expect(world.breaches == [], "seed \(seed)")
            seed += 1
        }
    }

    /// Seeds of worlds that were wrong once.
    @Test(arguments: [67, 111, 207]) func whatWasFoundStaysRepaired(_ seed: UInt64) {
        #expect(FuzzWorld(seed: seed).breaches == [])
    }
}
