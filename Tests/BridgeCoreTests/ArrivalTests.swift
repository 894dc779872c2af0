import BridgeCore
import Fuzzing
import Testing

/// Contract section 1, chunks without indexes.
@Suite struct ArrivalTests {
    private static let set = ChoreTests.set
    private func text(_ content: String, _ more: String = "") -> String {
        chunkValue(#""content":"\#(content)","timestamp":"2026-01-01T00:00:00Z""# + more)
    }

    /// The chunks by index, as they were written last.
    private func shown(_ world: Harness) -> [Int: String] {
        var out: [Int: String] = [:]
        for data in world.allData {
            if let whole = data["streaming/c/8/chunks"] {
                out = [:]
                for (index, part) in whole.split(separator: #""content":""#).dropFirst()
                    .enumerated()
                {
                    out[index] = String(part.prefix { $0 != "\"" })
                }
            }
            for (path, leaf) in data {
                guard let index = path.split(separator: "chunks/").last.flatMap({ Int($0) }),
                    let part = leaf.split(separator: #""content":""#).dropFirst().first
                else { continue }
                out[index] = String(part.prefix { $0 != "\"" })
            }
        }
        return out
    }

    /// Another process, which finds what the first one left.
    private func restarted(
        _ first: Harness, at offset: Int64, plan: MirrorPlan
    ) throws -> Harness {
        let world = Harness(plan: plan)
        world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"8":true}"#
        world.answers[ChoreTests.entryPath] = try first.left(at: ChoreTests.entryPath)
        world.answers["streaming/c/8/meta"] = try first.left(at: "streaming/c/8/meta")
        let there = shown(first)
        world.answers["streaming/c/8/chunks"] =
            "{" + there.keys.map { "\"\($0)\":true" }.joined(separator: ",") + "}"
        world.positions[TopicPartition(chunks, 0)] = PartitionPositions(
            low: 0, high: 100, committed: offset, metadata: offset > 0 ? Bridge.commitMark : "")
        world.answers["_firebridge/watermarks/firebridge"] =
            #"{"llm%2Etoken-chunks":{"0":{"next":\#(offset)}}}"#
        world.assign([chunks])
        #expect(world.starts == [TopicPartition(chunks, 0): offset])
        return world
    }

    @Test func chunksAreNumberedAsTheyStandInTheTopic() {
        let world = Harness(plan: Plans.byArrival)
        world.assign([chunks])
        world.consume(chunks, text("a"), text("b"), text("b"), text("c", #","chunk_index":0"#))
        #expect(shown(world) == [0: "a", 1: "b", 2: "b", 3: "c"])
    }

    @Test func theNumbersGoOnAfterARestartAtTheWatermark() throws {
        let first = Harness(plan: Plans.byArrival)
        first.assign([chunks])
        first.consume(chunks, text("a"), text("b"))
        let again = try restarted(first, at: 2, plan: Plans.byArrival)
        again.consume(chunks, text("c"), text("d", #","is_final":true"#))
        #expect(shown(again) == [2: "c", 3: "d"])
    }

    @Test func aSecondReadingFromTheStartNumbersAlike() throws {
        let first = Harness(plan: Plans.byArrival)
        first.assign([chunks])
        first.consume(chunks, text("a"), text("b"), text("c"))
        let again = try restarted(first, at: 0, plan: Plans.byArrival)
        again.consume(chunks, text("a"), text("b"), text("c"), text("d"))
        #expect(shown(again) == [0: "a", 1: "b", 2: "c", 3: "d"])
    }

    @Test func aChunkThatIsReadAgainIsNotNumberedTwice() throws {
        let first = Harness(plan: Plans.byArrival)
        first.assign([chunks])
        first.consume(chunks, text("a"), text("b"), text("c"))
        let again = try restarted(first, at: 1, plan: Plans.byArrival)
        again.consume(chunks, text("b"), text("c"), text("d"))
        #expect(shown(again) == [3: "d"])
    }

    @Test("Nothing lands after a rejected chunk before its dead letter is safe")
    func laterChunksWaitForTheDeadLetter() {
        let world = Harness(plan: Plans.byArrival)
        world.assign([chunks])
        world.acknowledgesDeadLetters = false
        world.verdict = { $0.contains("poison") ? .refused(status: 400, "no") : nil }
        world.consume(chunks, text("a"), text("poison"), text("b"))
        for _ in 0..<20 { world.wait(milliseconds: 500) }
        #expect(world.deadLetters.map(\.record.offset) == [1])
        let later = #""content":"b""#
        let sentBefore = world.patches.count
        #expect(!world.written.values.contains { $0.contains(later) })
        world.bridge.deadLettered(world.deadLetters[0].id, failed: nil, at: world.now)
        for _ in 0..<20 { world.wait(milliseconds: 500) }
        #expect(world.patches[sentBefore...].contains { $0.contains(later) })
        #expect(world.commits.last == [TopicPartition(chunks, 0): 3])
    }

    @Test("Who waits for a dead letter holds up no other partition of its lane, nor its fence")
    func othersDoNotWaitForTheDeadLetter() {
        var settings = Settings()
        settings.lanes = 1
        let world = Harness(plan: Plans.byArrival, settings: settings)
        let other = TopicPartition(chunks, 1)
        world.bridge.assign([TopicPartition(chunks, 0), other], at: world.now)
        world.run()
        world.acknowledgesDeadLetters = false
        world.verdict = { $0.contains("poison") ? .refused(status: 400, "no") : nil }
        world.holdsPatches = true
        world.consume(chunks, text("before"))
        world.consume(chunks, text("poison"), text("behind"))
        world.key = Array("d".utf8)
        world.consume(chunks, partition: 1, text("beside"))
        world.holdsPatches = false
        world.answerHeld()
        for _ in 0..<20 { world.wait(milliseconds: 500) }
        #expect(world.deadLetters.map(\.record.offset) == [1])
        #expect(world.written.values.contains { $0.contains("beside") })
        #expect(!world.written.values.contains { $0.contains("behind") })
        let before = world.patches.count
        for _ in 0..<50 { world.wait(milliseconds: 500) }
        #expect(world.patches[before...].contains { $0.contains("_firebridge/fences") })
    }

    @Test func aSecondRecordWithoutIndexIsRejectedUnlessItIsTheSame() {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, text("a"), text("a"), text("b"))
        #expect(world.deadLetters.map(\.record.offset) == [2])
        #expect(world.deadLetters.first?.rejection.reason == .missingField)
        #expect(world.deadLetters.first?.rejection.message.contains("index: arrival") == true)
        #expect(shown(world) == [0: "a"])
    }

    @Test("A record without a time of its own is the same whenever it comes again")
    func sameAtAnotherTime() throws {
        let value = chunkValue(#""content":"a""#)
        let first = Harness()
        first.assign([chunks])
        first.consume(chunks, value)
        first.wait(milliseconds: 5)
        first.consume(chunks, value)
        #expect(first.deadLetters.isEmpty)
        first.consume(chunks, chunkValue(#""content":"b""#))
        #expect(first.deadLetters.count == 1)

        for (content, isRejected) in [("a", false), ("b", true)] {
            let again = try restarted(first, at: 3, plan: .standard)
            again.answers["streaming/c/8/chunks/0"] =
                #"{"content":"a","type":"STREAM_CHUNK_TYPE_TEXT","timestamp":"2026-01-01T00:00:00Z","is_final":false}"#
            again.consume(chunks, chunkValue(#""content":"\#(content)""#))
            #expect(again.deadLetters.isEmpty == !isRejected)
        }
    }

    @Test("A run that ended with its only chunk keeps it from another record without index")
    func afterTheEnd() throws {
        let final = text("a", #","is_final":true"#)
        for (value, isRejected) in [(final, false), (text("b"), true)] {
            let first = Harness()
            first.assign([chunks])
            first.consume(chunks, final)
            let again = try restarted(first, at: 1, plan: .standard)
            again.answers["streaming/c/8/chunks/0"] =
                #"{"content":"a","type":"STREAM_CHUNK_TYPE_TEXT","timestamp":"2026-01-01T00:00:00Z","is_final":true}"#
            for world in [first, again] {
                world.consume(chunks, value)
                #expect(world.deadLetters.isEmpty == !isRejected)
            }
        }
    }

    @Test func anIndexedChunkBetweenThemAllowsIt() {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, text("a"), text("x", #","chunk_index":1"#), text("b"))
        #expect(world.deadLetters.isEmpty)
        #expect(shown(world) == [0: "b", 1: "x"])
    }

    @Test func anotherRunsChunkWithoutIndexIsItsFirst() {
        let world = Harness()
        world.assign([chunks])
        let other =
            #"{"conversation_id":"c","message_sequence":8,"run_id":"s","content":"b","timestamp":"2026-01-02T00:00:00Z"}"#
        world.consume(chunks, text("a"), other)
        #expect(world.deadLetters.isEmpty && shown(world) == [0: "b"])
    }

    @Test func aSecondRecordWithoutIndexIsRejectedAcrossARestartToo() throws {
        for (content, isRejected) in [("a", false), ("b", true)] {
            let first = Harness()
            first.assign([chunks])
            first.consume(chunks, text("a"))
            let again = try restarted(first, at: 1, plan: .standard)
            again.answers["streaming/c/8/chunks/0"] =
                #"{"type":"STREAM_CHUNK_TYPE_TEXT","is_final":false,"timestamp":"2026-01-01T00:00:00Z","content":"a"}"#
            again.consume(chunks, text(content))
            #expect(again.deadLetters.isEmpty == !isRejected)
        }
    }

    @Test func theSameRecordIsTheSameHoweverTheDatabaseEscapesIt() throws {
        let first = Harness()
        first.assign([chunks])
        first.consume(chunks, text(#"caf\u00e9"#))
        let again = try restarted(first, at: 1, plan: .standard)
        again.answers["streaming/c/8/chunks/0"] =
            #"{"content":"café","is_final":false,"timestamp":"2026-01-01T00:00:00Z","type":"STREAM_CHUNK_TYPE_TEXT"}"#
        again.consume(chunks, text(#"caf\u00e9"#))
        #expect(again.deadLetters.isEmpty)
    }
}
