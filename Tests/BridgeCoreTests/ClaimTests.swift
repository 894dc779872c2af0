import BridgeCore
import Testing

/// Contract section 7: how partitions are claimed, and what one of them does not keep the others
/// from.
@Suite("A claim") struct ClaimTests {
    private let own = TopicPartition(chunks, 0)
    private let other = TopicPartition(messages, 0)
    private let fences = "_firebridge/fences"

    private func chunk(_ index: Int) -> String { chunkValue(#""chunk_index":\#(index)"#) }

    private func positions(committed: Int64?) -> PartitionPositions {
        PartitionPositions(low: 0, high: 9, committed: committed, metadata: Bridge.commitMark)
    }

    // MARK: Partitions that Kafka tells nothing of

    @Test("Partitions do not wait for one without a leader, which is read once it has one")
    func leaderless() {
        let world = Harness()
        world.leaderless = [other]
        world.answers["_firebridge/watermarks/firebridge"] =
            #"{"llm%2Efinalized-messages":[{"next":4}]}"#
        world.positions[other] = positions(committed: 4)
        world.assign([chunks, messages])
        world.consume(chunks, chunk(0))
        #expect(world.written["streaming/c/8/meta"] != nil)
        #expect(world.starts[other] == nil)
        let reasons = world.bridge.report(at: world.now).notReady
        #expect(reasons == ["\(other) is not read: Kafka does not tell where it stands"])
        for _ in 0..<20 { world.wait(milliseconds: 1000) }
        #expect(world.starts[other] == nil)
        world.leaderless = []
        for _ in 0..<6 { world.wait(milliseconds: 1000) }
        #expect(world.starts[other] == 4)
        #expect(world.bridge.report(at: world.now).notReady == [])
        #expect(!world.patches.contains { $0.contains(#""epoch":2"#) }, "nothing is claimed anew")
        world.starts[own] = 1
        world.consume(chunks, chunk(1))
        #expect(world.written["streaming/c/8/chunks/1"] != nil)
    }

    @Test("One that needs a watermark before it is read is claimed anew, with all the others")
    func leaderlessAndNew() {
        let world = Harness()
        world.leaderless = [other]
        world.assign([chunks, messages])
        world.consume(chunks, chunk(0))
        world.positions[own] = positions(committed: 1)
        world.leaderless = []
        for _ in 0..<7 { world.wait(milliseconds: 1000) }
        #expect(world.starts[other] == 0)
        let watermark = "_firebridge/watermarks/firebridge/llm%2Efinalized-messages/0"
        #expect(world.written[watermark] != nil)
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test("What a claim that was refused had decided is decided anew")
    func refusedClaim() {
        let world = Harness()
        var refuses = true
        world.verdict = { body in
            guard refuses, body.contains("_firebridge/watermarks") else { return nil }
            refuses = false
            world.leaderless = [other]
            return .refused(status: 403, "no")
        }
        world.assign([chunks, messages])
        for _ in 0..<3 { world.wait(milliseconds: 1000) }
        #expect(world.starts == [own: 0])
        #expect(!world.commits.contains { $0[other] != nil })
    }

    @Test("Without any answer the claim waits")
    func silentKafka() {
        let world = Harness()
        world.leaderless = [own, other]
        world.assign([chunks, messages])
        for _ in 0..<10 { world.wait(milliseconds: 1000) }
        #expect(world.starts.isEmpty)
        #expect(world.bridge.report(at: world.now).notReady == ["claiming partitions: asking"])
        world.leaderless = []
        world.wait(milliseconds: 1000)
        #expect(world.starts.count == 2)
    }

    // MARK: Commits of the claim

    @Test("A partition whose place cannot be committed is not read, and keeps no other from it")
    func commitDenied() {
        let world = Harness()
        world.commitsDenied = [other]
        world.assign([chunks, messages])
        #expect(world.starts == [own: 0])
        for index in 0..<5 {
            world.consume(chunks, chunk(index))
            world.wait(milliseconds: 1000)
        }
        #expect(world.starts == [own: 5])
        let reasons = world.bridge.report(at: world.now).notReady
        #expect(reasons == ["\(other) is not read: its place in the log is not committed yet"])
        #expect(!world.patches.contains { $0.contains(#""epoch":2"#) }, "nothing is claimed anew")
        world.commitsDenied = []
        world.wait(milliseconds: 1000)
        #expect(world.starts[other] == 0)
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test("A stop waits for no commit that is denied")
    func stopWhileDenied() {
        let world = Harness()
        world.commitsDenied = [other]
        world.assign([chunks, messages])
        world.consume(chunks, chunk(0))
        world.bridge.stop(at: world.now)
        world.run()
        for _ in 0..<4 { world.wait(milliseconds: 500) }
        #expect(world.finished == 0)
    }

    // MARK: Stops

    @Test("A stop while Kafka is asked clears the fences that were raised")
    func stopWhileAsking() {
        let world = Harness()
        world.leaderless = [own]
        world.assign([chunks])
        #expect(world.written["\(fences)/firebridge/\(ChoreTests.set)/0"]?.contains("at") == true)
        world.bridge.stop(at: world.now)
        world.run()
        #expect(world.written["\(fences)/firebridge/\(ChoreTests.set)/0"]?.contains("at") == false)
        #expect(world.finished == 0)
    }

    @Test("A stop while another group is live has nothing to clear")
    func stopWhileOccupied() {
        let world = Harness()
        world.answers[fences] = rival(at: world.now.wall)
        world.assign([chunks])
        world.bridge.stop(at: world.now)
        world.run()
        #expect(world.patches.isEmpty)
        #expect(world.finished == 0)
    }

    // MARK: Another group

    private func rival(at time: Int64) -> String {
        #"{"other":{"s":[{"epoch":1,"owner":"o","serial":1,"at":\#(time)}]}}"#
    }

    /// A record, and ninety seconds without a database.
    private func afterAnOutage() -> Harness {
        let world = Harness()
        world.assign([chunks])
        world.verdict = { _ in .unavailable("HTTP 503", retryAfter: nil) }
        world.consume(chunks, chunk(0))
        for _ in 0..<90 { world.wait(milliseconds: 1000) }
        return world
    }

    @Test("Who could not renew its fences for a minute looks whether another group has begun")
    func rivalAfterAnOutage() {
        let world = afterAnOutage()
        world.answers[fences] = rival(at: world.now.wall)
        world.verdict = { _ in nil }
        for _ in 0..<40 { world.wait(milliseconds: 1000) }
        #expect(world.alarms.contains("another_group_is_live"))
        let reasons = world.bridge.report(at: world.now).notReady
        #expect(reasons == ["group 'other' mirrors into this tree: one at a time"])
        // It goes on when that one has ended.
        world.answers[fences] = rival(at: world.now.wall - 61_000)
        for _ in 0..<10 { world.wait(milliseconds: 1000) }
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test("After an outage without another group it goes on where it was")
    func noRival() {
        let world = afterAnOutage()
        let reads = world.reads.filter { $0 == fences }.count
        world.verdict = { _ in nil }
        for _ in 0..<40 { world.wait(milliseconds: 1000) }
        #expect(world.reads.filter { $0 == fences }.count == reads + 1)
        #expect(world.written["streaming/c/8/meta"] != nil)
        #expect(world.bridge.report(at: world.now).notReady == [])
        for _ in 0..<300 { world.wait(milliseconds: 1000) }
        #expect(world.reads.filter { $0 == fences }.count == reads + 1)
    }

    @Test("A claim that waits for Kafka for a minute looks again too")
    func rivalDuringTheClaim() {
        let world = Harness()
        world.leaderless = [own]
        world.assign([chunks])
        for _ in 0..<70 { world.wait(milliseconds: 1000) }
        world.answers[fences] = rival(at: world.now.wall)
        world.leaderless = []
        for _ in 0..<5 { world.wait(milliseconds: 1000) }
        #expect(world.alarms.contains("another_group_is_live"))
        #expect(world.bridge.report(at: world.now).notReady.count == 1)
    }
}
