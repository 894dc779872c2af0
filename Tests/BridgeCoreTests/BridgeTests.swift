import BridgeCore
import Testing

@Suite struct BridgeTests {
    func chunk(_ index: Int, _ content: String = "x", run: String = "r", more: String = "")
        -> String
    {
        """
        {"conversation_id":"c","message_sequence":8,"run_id":"\(run)","chunk_index":\(index),\
        "content":"\(content)","timestamp":"2026-04-23T22:43:44.70\(index % 10)Z"\(more)}
        """
    }

    @Test func theFenceIsRaisedAloneBeforeAnythingIsRead() {
        let world = Harness()
        world.assign([chunks, runs])
        #expect(world.patches.count == 2)
        #expect(world.patches[0].contains(#""epoch":1"#))
        #expect(!world.patches[0].contains("watermarks"))
        #expect(world.patches[1].contains(#""next":0"#))
        #expect(world.commits == [[TopicPartition(chunks, 0): 0, TopicPartition(runs, 0): 0]])
        #expect(world.starts == [TopicPartition(chunks, 0): 0, TopicPartition(runs, 0): 0])
    }

    @Test func theFirstChunkOfARunWritesChunksAsAWholeAndLaterOnesAsLeaves() {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, chunk(0, "Hello"))
        #expect(
            world.lastData == [
                "streaming/c/8/chunks":
                    #"{"0":{"content":"Hello","type":"STREAM_CHUNK_TYPE_TEXT","timestamp":"2026-04-23T22:43:44.700Z","is_final":false}}"#,
                "streaming/c/8/meta":
                    #"{"run_id":"r","status":"streaming","started_at":"2026-04-23T22:43:44.700Z"}"#,
            ])
        world.consume(chunks, chunk(1))
        #expect(Array(world.lastData.keys) == ["streaming/c/8/chunks/1"])
    }

    @Test func whileTheWireIsBusyChunksGatherIntoOneBatch() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0))
        let before = world.patches.count
        for index in 1..<6 { world.consume(chunks, chunk(index)) }
        #expect(world.patches.count == before)
        world.answerHeld()
        #expect(world.patches.count == before + 1)
        #expect(world.lastData.count == 5)
    }

    @Test func twoEventsOfOneNodeNeverShareABatch() {
        let message =
            #"{"conversation_id":"c","message":{"n":1},"event_context":{"event_name":"A.B"}}"#
        let world = Harness()
        world.assign([messages])
        world.holdsPatches = true
        let before = world.patches.count
        world.consume(messages, message, message, message)
        for sent in 1...3 {
            #expect(world.patches.count == before + sent)
            #expect(Array(world.lastData.keys) == ["events/a_b/c/messages"])
            world.answerHeld()
        }
    }

    @Test func aRejectedRecordGoesToTheDeadLettersAndHoldsTheCommitUntilAcknowledged() {
        let world = Harness()
        world.assign([chunks])
        world.acknowledgesDeadLetters = false
        world.consume(chunks, chunk(0), "nonsense", chunk(1))
        world.wait(milliseconds: 1000)
        #expect(world.deadLetters.map(\.rejection.reason) == [.malformedJSON])
        #expect(world.commits.last == [TopicPartition(chunks, 0): 1])
        world.bridge.deadLettered(world.deadLetters[0].id, failed: nil, at: world.now)
        world.wait(milliseconds: 1000)
        world.wait(milliseconds: 1000)
        #expect(world.commits.last == [TopicPartition(chunks, 0): 3])
    }

    @Test func aStatusOlderThanTheNodeIsDropped() {
        func status(_ seq: Int, _ state: String) -> String {
            """
            {"conversation_id":"c","state":"CONVERSATION_ACTIVITY_STATE_\(state)","seq":\(seq),\
            "since":"2026-04-23T22:43:44Z"}
            """
        }
        let world = Harness()
        world.answers["conversations/c/status"] =
            #"{"state":"CONVERSATION_ACTIVITY_STATE_IDLE","seq":"5","since":"2026-04-23T22:43:44Z"}"#
        world.assign([runs])
        world.consume(runs, status(4, "QUEUED"), status(5, "QUEUED"))
        world.wait(milliseconds: 1000)
        #expect(world.lastData.isEmpty)
        #expect(world.bridge.counters.staleStatuses == 2)
        world.consume(runs, status(6, "QUEUED"))
        #expect(world.lastData.keys.contains("conversations/c/status"))
    }

    @Test func aRefusedRecordIsFoundByHalvingAndRejectedAlone() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0))
        world.consume(chunks, chunk(1), chunk(2, "poison"), chunk(3))
        world.holdsPatches = false
        var rounds = 0
        // The database refuses whatever holds the poison.
        while world.deadLetters.isEmpty, rounds < 40 {
            rounds += 1
            let refuses = world.patches.last!.contains("poison")
            for id in world.heldPatches {
                let outcome: Outcome =
                    refuses ? .refused(status: 400, "no") : .done(body: [], date: nil)
                world.heldPatches = []
                world.holdsPatches = true
                world.bridge.settle(id, outcome, at: world.now, jitter: 0)
            }
            world.run()
        }
        #expect(world.deadLetters.map(\.record.offset) == [2])
        #expect(world.deadLetters.first?.rejection.reason == .refused)
    }

    @Test func aStopDeliversWhatWasReadThenFinishes() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0), chunk(1))
        world.bridge.stop(at: world.now)
        world.run()
        #expect(world.finished == nil)
        world.holdsPatches = false
        world.answerHeld()
        #expect(world.finished == 0)
        #expect(world.commits.last == [TopicPartition(chunks, 0): 2])
        #expect(world.patches.last?.contains(".sv") == false)
    }
}
