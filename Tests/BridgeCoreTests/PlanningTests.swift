import BridgeCore
import JSON
import Testing

/// What one PATCH carries.
@Suite struct PlanningTests {
    private func chunk(_ index: Int, run: String = "r", second: Int = 1, _ more: String = "")
        -> String
    {
        #"{"conversation_id":"c","message_sequence":8,"run_id":"\#(run)","chunk_index":\#(index),"content":"x","timestamp":"2026-01-01T00:00:0\#(second)Z"\#(more)}"#
    }

    /// A world whose wire is busy: what is consumed next gathers.
    private func busy(_ settings: Settings = Settings(), _ topics: [String] = [chunks]) -> Harness {
        let world = Harness(settings: settings)
        world.assign(topics)
        world.consume(chunks, #"{"conversation_id":"other","message_sequence":1,"run_id":"x"}"#)
        world.holdsPatches = true
        world.consume(chunks, #"{"conversation_id":"other","message_sequence":1,"run_id":"x"}"#)
        return world
    }

    /// Lets the held PATCHes land, one after the other, and gives the data of each.
    private func land(_ world: Harness) -> [[String: String]] {
        let before = world.patches.count
        for _ in 0..<100 where !world.heldPatches.isEmpty { world.answerHeld() }
        return world.patches[before...].map(Harness.data).filter { !$0.isEmpty }
    }

    @Test func aBatchHasNoMoreWritesThanItsLimit() {
        var settings = Settings()
        settings.batchWritesMax = 4
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        world.holdsPatches = true
        for index in 1..<20 { world.consume(chunks, chunk(index)) }
        let batches = land(world)
        #expect(batches.map(\.count) == [4, 4, 4, 4, 2])
    }

    @Test func aBatchHasNoMoreBytesThanItsLimitButARecordThatIsBiggerGoesAlone() {
        var settings = Settings()
        settings.batchBytesMax = 2000
        let world = busy(settings)
        let big = String(repeating: "y", count: 5000)
        world.consume(chunks, chunk(0), chunk(1), chunk(2))
        world.consume(chunks, chunk(3, ",\"finish_reason\":\"\(big)\""))
        world.consume(chunks, chunk(4))
        let batches = land(world)
        let withBig = batches.filter { $0.values.contains { $0.contains(big) } }
        #expect(withBig.map(\.count) == [1])
        for batch in batches where batch != withBig.first {
            #expect(batch.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= 2000)
        }
    }

    @Test func theChunksOfANewRunFoldIntoOneValue() {
        let world = busy()
        for index in [0, 2, 1] { world.consume(chunks, chunk(index)) }
        let batch = land(world).first ?? [:]
        #expect(Set(batch.keys) == ["streaming/c/8/chunks", "streaming/c/8/meta"])
        #expect(batch["streaming/c/8/chunks"]?.hasPrefix(#"{"0":{"#) == true)
        #expect(batch["streaming/c/8/chunks"]?.contains(#","2":{"#) == true)
    }

    @Test func aRegenerationInOneBatchLeavesNothingOfTheOldRun() {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        world.holdsPatches = true
        world.consume(chunks, chunk(1))
        world.consume(chunks, chunk(2), chunk(3), chunk(0, run: "s", second: 5))
        let batch = land(world).last ?? [:]
        #expect(Set(batch.keys) == ["streaming/c/8/chunks", "streaming/c/8/meta"])
        #expect(batch["streaming/c/8/meta"]?.contains(#""run_id":"s""#) == true)
        #expect(batch["streaming/c/8/chunks"]?.contains(#""1":"#) == false)
    }

    @Test func chunksBeyondTheEndGoInTheSameWrite() {
        let world = Harness()
        world.assign([chunks])
        for index in 0..<5 { world.consume(chunks, chunk(index)) }
        world.consume(chunks, chunk(1, #","is_final":true"#))
        #expect(
            world.lastData.filter { $0.value == "null" }.keys.sorted() == [
                "streaming/c/8/chunks/2", "streaming/c/8/chunks/3", "streaming/c/8/chunks/4",
            ])
        #expect(world.lastData["streaming/c/8/chunks/1"]?.contains(#""is_final":true"#) == true)
        #expect(world.lastData["streaming/c/8/meta"]?.contains(#""status":"complete""#) == true)
    }

    @Test func ofMergedStatusesTheLastWins() {
        let world = busy(Settings(), [chunks, runs])
        world.consume(
            runs, activityValue("QUEUED", #""seq":1"#), activityValue("GENERATING", #""seq":2"#))
        let batches = land(world)
        #expect(batches.count == 1)
        #expect(batches.first?["conversations/c/status"]?.contains("GENERATING") == true)
    }

    @Test func twoMarkersOfOneConversationReachTheDatabaseOneAfterTheOther() {
        let world = busy(Settings(), [chunks, runs])
        world.consume(runs, markerValue("started"), markerValue("completed"))
        let batches = land(world).filter { $0["events/e/c/runs"] != nil }
        #expect(
            batches.map { $0["events/e/c/runs"] } == [
                #"{"runId":"r","status":"started"}"#, #"{"runId":"r","status":"completed"}"#,
            ])
    }

    @Test func watermarkFenceAndLedgerGoInTheSamePatchAsTheData() throws {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        let tape = try JSONParser().parse(Array(try #require(world.patches.last).utf8))
        let paths = tape.members(of: 0).map { String(decoding: tape.text($0.name), as: UTF8.self) }
        #expect(paths.contains { $0.hasPrefix("streaming/c/8/") })
        for kind in ["watermarks", "fences", "streams", "agenda"] {
            #expect(paths.contains { $0.hasPrefix("_firebridge/\(kind)/") }, "\(kind)")
        }
        let mark = world.written["_firebridge/watermarks/firebridge/llm%2Etoken-chunks/0"]
        #expect(mark == #"{"next":1}"#)
    }

    @Test func theWatermarkCountsOnlyWhatThePatchSettles() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0))
        world.consume(chunks, chunk(1), chunk(2))
        #expect(world.patches.last?.contains(#""next":1"#) == true)
        world.answerHeld()
        #expect(world.patches.last?.contains(#""next":3"#) == true)
    }

    @Test func everyPatchUnderAFenceRaisesItsSerialAndARetryKeepsItsOwn() {
        let world = Harness()
        world.assign([chunks])
        world.patchOutcomes = [.unavailable("away", retryAfter: nil)]
        world.consume(chunks, chunk(0))
        let first = world.patches.last
        world.wait(milliseconds: 1000)
        #expect(world.patches.last == first)
        let serials = world.patches.compactMap { patch in
            patch.split(separator: #""serial":"#).dropFirst().first.flatMap {
                Int($0.prefix { $0.isNumber })
            }
        }
        #expect(serials.dropLast() == ArraySlice(serials.dropLast().sorted()))
    }

    @Test func lanesDoNotWaitForOneAnother() {
        let world = Harness()
        world.bridge.assign([TopicPartition(chunks, 0), TopicPartition(chunks, 1)], at: world.now)
        world.run()
        world.holdsPatches = true
        world.consume(chunks, partition: 0, chunk(0))
        let before = world.patches.count
        world.consume(chunks, partition: 1, chunk(0).replacing(#""c""#, with: #""d""#))
        #expect(world.patches.count == before + 1)
        #expect(world.lastData.keys.contains("streaming/d/8/meta"))
    }

    @Test func anIdleLaneWhoseWatermarkIsBehindWritesItAlone() {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, "nonsense")
        world.wait(milliseconds: 1000)
        #expect(world.patches.last?.contains(#""next":1"#) == true)
        #expect(world.lastData.isEmpty)
    }
}
