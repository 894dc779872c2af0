import Oracle
import Testing

@testable import BridgeCore

@Suite struct IndexRangesTests {
    @Test func rangesHoldWhatASetHolds() {
        var random = SplitMix64(seed: 6)
        for _ in 0..<400 {
            var ranges = IndexRanges()
            var set: Set<Int64> = []
            for _ in 0..<random.int(0..<60) {
                if random.chance(0.1) {
                    let bound = Int64(random.int(0..<50))
                    #expect(Set(ranges.removeAbove(bound)) == set.filter { $0 > bound })
                    set = set.filter { $0 <= bound }
                } else {
                    let index = Int64(random.int(0..<50))
                    ranges.insert(index)
                    set.insert(index)
                }
                let bound = Int64(random.int(0..<60))
                #expect(ranges.gaps(upTo: bound) == Int64((0...bound).count { !set.contains($0) }))
                #expect(ranges.isJustZero == (set == [0]))
            }
        }
    }

    @Test func theGreatestIndexIsAnIndexToo() {
        var ranges = IndexRanges()
        ranges.insert(.max)
        #expect(ranges.gaps(upTo: .max) == .max)
        ranges.insert(.max - 1)
        ranges.insert(5)
        ranges.insert(.max)
        #expect(ranges.gaps(upTo: .max) == .max - 2)
        #expect(ranges.removeAbove(5) == [.max - 1, .max])
        #expect(ranges.gaps(upTo: 5) == 5)
        #expect(IndexRanges().gaps(upTo: .max) == .max)
    }
}

@Suite struct StatusGuardTests {
    private func rank(_ seq: Int64, _ since: Int64?, _ resting: Bool = false) -> StatusRank {
        StatusRank(
            seq: seq, since: since.map { Timestamp(seconds: $0, nanoseconds: 0) },
            isResting: resting)
    }

    @Test func activitiesAreOrderedBySequenceThenTimeThenRest() {
        let rising = [
            rank(.min, 9), rank(1, nil), rank(1, nil, true), rank(1, 5), rank(1, 5, true),
            rank(1, 6), rank(2, nil), rank(.max, 0),
        ]
        for (low, a) in rising.enumerated() {
            for (high, b) in rising.enumerated() { #expect((a < b) == (low < high)) }
        }
    }

    private func activity(
        _ state: String, _ seq: Int64, _ since: Int64?, note: String = ""
    ) -> ActivityFacts {
        let name = Array("CONVERSATION_ACTIVITY_STATE_\(state)".utf8)
        return ActivityFacts(
            path: [], rank: rank(seq, since, StatusRank.isResting(state: name)),
            isWorking: StatusRank.isWorking(state: name), node: Array("\(state)\(seq)\(note)".utf8))
    }

    @Test func anActivityAppliesWhenItIsGreaterAndAtATieTheLaterOneWins() {
        var held = StatusGuard()
        #expect(held.judge(activity("QUEUED", 5, 1)) == .write)
        #expect(held.judge(activity("QUEUED", 5, 1)) == .unchanged)
        #expect(held.judge(activity("IDLE", 4, 9)) == .stale)
        #expect(held.judge(activity("GENERATING", 5, 1)) == .write)
        #expect(held.judge(activity("IDLE", 5, 1)) == .write)
        #expect(held.judge(activity("GENERATING", 5, 1)) == .stale)
        #expect(held.judge(activity("ERROR", 5, 1)) == .write)
        #expect(held.judge(activity("IDLE", 5, 1, note: "again")) == .write)
        #expect(held.judge(activity("GENERATING", 5, nil)) == .stale)
        #expect(held.judge(activity("GENERATING", 5, 2)) == .write)
    }

    @Test func theNodeOfTheTreeIsReadInWhateverOrderItsMembersCome() throws {
        let json = """
            {"error":{"message":"m","code":"c"},"since":"2026-01-01T00:00:00Z","seq":"5",\
            "state":"CONVERSATION_ACTIVITY_STATE_ERROR","run_id":"r"}
            """
        var held = StatusGuard(reading: try JSONParserForTests.parse(json))
        let same = explain(
            runs,
            activityValue(
                "ERROR",
                #""run_id":"r","seq":5,"since":"2026-01-01T00:00:00Z","error":{"code":"c","message":"m"}"#
            ))
        let node = try #require(same.nodes?["conversations/c/status"])
        let rank = StatusRank(
            seq: 5, since: Timestamp(Array("2026-01-01T00:00:00Z".utf8)), isResting: true)
        let facts = ActivityFacts(path: [], rank: rank, isWorking: false, node: Array(node.utf8))
        #expect(held.judge(facts) == .unchanged)
    }

    @Test(arguments: ["null", "7", "[]", #"{"state":"x"}"#, #"{"seq":"x"}"#, #"{"seq":1.5}"#])
    func aNodeThatHoldsNothingToCompareIsOlderThanAnything(_ json: String) throws {
        var held = StatusGuard(reading: try JSONParserForTests.parse(json))
        #expect(held.judge(activity("QUEUED", .min, nil)) == .write)
    }
}
