import Testing

@testable import Simulation

/// A world that once failed, and why.
struct Regression: CustomTestStringConvertible, Sendable {
    var seed: UInt64
    var fault: String
    var testDescription: String { "seed \(seed): \(fault)" }

    static let all = [
        Regression(
            seed: 2,
            fault:
                "a fence is due for renewal while its lane is busy: a deadline that nothing meets"),
        Regression(
            seed: 295, fault: "the breaker's probe is under way: a deadline that nothing meets"),
        Regression(
            seed: 67,
            fault: "a halved group that has nothing to write settles, and the next is not planned"),
        Regression(
            seed: 215, fault: "the second group stands still after a group without writes"),
        Regression(
            seed: 35, fault: "two groups claim at once, and the one that was first waits for ever"),
        Regression(
            seed: 1049, fault: "a process that lost its fence claims anew and reads again"),
        Regression(
            seed: 31, fault: "a partition that stands still keeps the room of the others"),
        Regression(
            seed: 106, fault: "what a refusal put back before a halt is never planned again"),
        Regression(
            seed: 45, fault: "a conversation evicted by its own arrival is read for ever"),
        Regression(
            seed: 24753,
            fault: "a replay leaves out a value before one that the database refuses"),
        Regression(
            seed: 57594,
            fault: "a database that refuses everything now and then has a record rejected"),
    ]
}

@Suite("Worlds that once failed")
struct RegressionTests {
    @Test("What was put right stays right", arguments: Regression.all)
    func holds(_ regression: Regression) {
        let world = World(seed: regression.seed)
        world.run()
        #expect(world.failures == [])
    }

    @Test(
        "The order in which a set or a dictionary gives its members decides nothing",
        arguments: [10, 16, 20, 23, 26] as [UInt64])
    func deterministic(_ seed: UInt64) {
        let fingerprints = (0..<4).map { _ in
            let world = World(seed: seed)
            world.run()
            return world.fingerprint
        }
        #expect(Set(fingerprints).count == 1)
    }
}
