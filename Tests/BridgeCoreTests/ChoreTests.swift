import BridgeCore
import Testing

/// Contract section 3, `streams`, and what section 7 says of the agenda.
@Suite struct ChoreTests {
    static let set = "streaming%2F{conversation_id}%2F{message_sequence}"
    static let entryPath = "_firebridge/streams/\(set)/c/8"
    private let chunkSource = TopicPartition(chunks, 0)
    private let runSource = TopicPartition(runs, 0)

    private func world(_ change: (inout Settings) -> Void) -> Harness {
        var settings = Settings()
        settings.stallAfter = .zero
        settings.keep = .zero
        change(&settings)
        let world = Harness(settings: settings)
        world.agenda["o"] = #"{"o0123456789abcdef":"c/8"}"#
        return world
    }

    private func stalling(_ change: (inout Settings) -> Void = { _ in }) -> Harness {
        world {
            $0.stallAfter = .seconds(10)
            change(&$0)
        }
    }

    /// Seconds go by; Kafka says where the topics end.
    private func pass(_ world: Harness, seconds: Int, ends: [TopicPartition: Int64]? = nil) {
        for _ in 0..<seconds {
            let known = ends ?? world.starts
            world.bridge.ends(known, at: world.now)
            world.wait(milliseconds: 1000)
        }
    }

    private func isStalled(_ world: Harness) -> Bool {
        world.written["streaming/c/8/meta"]?.contains(#""error_message":"stalled""#) == true
    }

    @Test func aSilentStreamEndsAsStalledAtTheTimeOfTheJudgement() {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 9)
        #expect(!isStalled(world))
        pass(world, seconds: 6)
        #expect(isStalled(world))
        #expect(world.written["streaming/c/8/meta"]?.contains(#""status":"error""#) == true)
        #expect(world.written[Self.entryPath]?.contains(#""end":"s""#) == true)
        #expect(world.bridge.counters.stalled == 1)
        #expect(world.written["conversations/c/status"] == nil)
    }

    @Test func aStreamThatIsHeardDoesNotStall() {
        let world = stalling()
        world.assign([chunks, runs])
        for index in 0..<5 {
            world.consume(chunks, chunkValue(#""chunk_index":\#(index)"#))
            pass(world, seconds: 8)
        }
        #expect(!isStalled(world))
    }

    @Test("What still comes of an older run keeps no silent stream alive")
    func lateIsNotHeard() {
        let world = stalling()
        world.assign([chunks, runs])
        func chunk(_ run: String, _ time: String) -> String {
            chunkValue(#""timestamp":"2026-01-0\#(time)T00:00:00Z","chunk_index":0"#)
                .replacing(#""r""#, with: #""\#(run)""#)
        }
        world.consume(chunks, chunk("old", "1"))
        world.consume(chunks, chunk("new", "2"))
        for _ in 0..<5 {
            world.consume(chunks, chunk("old", "1"))
            world.consume(
                runs, markerValue("started").replacing(#""r""#, with: #""old""#))
            pass(world, seconds: 3)
        }
        #expect(isStalled(world))
    }

    /// A stream that a former owner has left open.
    private func leaveOpenStream(to world: Harness) {
        world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"8":true}"#
        world.answers[Self.entryPath] = #"{"run":"r","birth":"2026-01-01T00:00:00Z"}"#
        world.answers["streaming/c/8/meta"] =
            #"{"run_id":"r","status":"streaming","started_at":"2026-01-01T00:00:00Z"}"#
    }

    @Test(arguments: [3_600_000, -3_600_000])
    func aClockThatIsSetStallsNoStreamAndSparesNone(by milliseconds: Int64) {
        for isInMemory in [true, false] {
            let world = stalling()
            if !isInMemory { leaveOpenStream(to: world) }
            world.assign([chunks, runs])
            if isInMemory { world.consume(chunks, chunkValue()) }
            pass(world, seconds: 6)
            world.now.wall += milliseconds
            pass(world, seconds: 3)
            #expect(!isStalled(world))
            pass(world, seconds: 10)
            #expect(isStalled(world))
        }
    }

    @Test func nothingStallsWhileTheBridgeIsNotAtTheEndOfTheTopic() {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 30, ends: [chunkSource: 2, runSource: 0])
        #expect(!isStalled(world))
        for _ in 0..<30 { world.wait(milliseconds: 1000) }
        #expect(!isStalled(world), "nobody has told where the topics end")
        pass(world, seconds: 3)
        #expect(isStalled(world))
    }

    @Test func theEndsOfTopicsAreWantedWhileAStreamIsSilentForTooLong() {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        for _ in 0..<9 {
            world.wait(milliseconds: 1000)
            #expect(world.bridge.endsWanted(at: world.now).isEmpty)
        }
        for _ in 0..<6 { world.wait(milliseconds: 1000) }
        #expect(Set(world.bridge.endsWanted(at: world.now)) == [chunkSource, runSource])
        // One whose leader does not answer is enough to keep it open.
        for _ in 0..<20 {
            world.bridge.ends([chunkSource: 1], at: world.now)
            #expect(world.bridge.endsWanted(at: world.now) == [runSource])
            world.wait(milliseconds: 1000)
        }
        // What was asked long ago says nothing of today.
        let old = Moment(monotonic: world.now.monotonic - 6_000_000_000, wall: world.now.wall)
        world.bridge.ends([runSource: 0], at: old)
        world.wait(milliseconds: 1000)
        #expect(!isStalled(world))
        pass(world, seconds: 3)
        #expect(isStalled(world))
        world.agenda["o"] = nil
        for _ in 0..<10 { world.wait(milliseconds: 1000) }
        #expect(world.bridge.endsWanted(at: world.now).isEmpty)
    }

    @Test(arguments: ["QUEUED", "EXECUTING_TOOLS", "COMPACTING"])
    func nothingStallsWhileTheConversationWaitsForSomethingElse(_ state: String) {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        world.consume(runs, activityValue(state))
        pass(world, seconds: 40)
        #expect(!isStalled(world))
        world.consume(runs, activityValue("GENERATING", #""seq":2"#))
        pass(world, seconds: 14)
        #expect(isStalled(world))
    }

    @Test func theTimeInWhichAConversationExecutedToolsIsNoSilence() {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        world.consume(runs, activityValue("EXECUTING_TOOLS"))
        pass(world, seconds: 40)
        world.consume(runs, activityValue("GENERATING", #""seq":2"#))
        pass(world, seconds: 8)
        #expect(!isStalled(world))
    }

    @Test func aStateInTheTreeThatExpectsNoChunksCountsToo() {
        let world = stalling()
        world.answers["conversations/c/status"] =
            #"{"state":"CONVERSATION_ACTIVITY_STATE_EXECUTING_TOOLS","seq":"1"}"#
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 40)
        #expect(!isStalled(world))
    }

    /// A world whose one stream has stalled.
    private func stalled() -> Harness {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 20)
        #expect(isStalled(world))
        world.agenda = [:]
        return world
    }

    @Test func aStalledStreamRevives() {
        let world = stalled()
        world.consume(chunks, chunkValue(#""chunk_index":1"#))
        #expect(!isStalled(world))
        #expect(world.written["streaming/c/8/meta"]?.contains(#""status":"streaming""#) == true)
        #expect(world.written[Self.entryPath]?.contains(#""end""#) == false)
    }

    @Test func aStallSaysSoInTheStatusNodeWhereThatIsWanted() {
        let world = stalling { $0.stallStatus = true }
        world.answers["conversations/c/status"] =
            #"{"state":"CONVERSATION_ACTIVITY_STATE_GENERATING","seq":"7","since":"2026-01-01T00:00:00Z"}"#
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 20)
        #expect(
            world.written["conversations/c/status"]
                == #"{"state":"CONVERSATION_ACTIVITY_STATE_ERROR","run_id":"r","seq":"7","since":"2026-01-01T00:00:00Z","error":{"code":"stalled","message":"stalled"}}"#
        )
        world.consume(
            runs,
            activityValue("GENERATING", #""seq":7,"since":"2026-01-01T00:00:00Z""#))
        #expect(world.bridge.counters.staleStatuses == 1)
    }

    @Test func aStallSaysNothingOverTheStatusOfAnotherRun() {
        let world = stalling { $0.stallStatus = true }
        world.answers["conversations/c/status"] =
            #"{"state":"CONVERSATION_ACTIVITY_STATE_GENERATING","run_id":"other","seq":"7"}"#
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 20)
        #expect(isStalled(world))
        #expect(world.written["conversations/c/status"] == nil)
    }

    @Test func theTimeToKeepCountsFromTheEndThatReplacesAStall() {
        let world = stalled()
        pass(world, seconds: 100)
        world.consume(runs, markerValue("completed"))
        #expect(world.written[Self.entryPath]?.contains(#""at":\#(world.now.wall)"#) == true)
    }

    private func meetOtherConversations(_ world: Harness) {
        for key in ["d", "e", "f"] {
            world.consume(chunks, chunkValue().replacing(#""c""#, with: "\"\(key)\""))
        }
    }

    private func openOtherStreams(_ world: Harness) {
        for sequence in 100..<103 {
            world.consume(chunks, chunkValue().replacing(#":8"#, with: #":\#(sequence)"#))
        }
    }

    @Test func whatWasHeardIsNotSilentWhenItIsForgottenForWantOfRoom() {
        let world = stalling { $0.conversationsMax = 1 }
        leaveOpenStream(to: world)
        world.assign([chunks, runs])
        pass(world, seconds: 8)
        world.consume(chunks, chunkValue())
        meetOtherConversations(world)
        let reads = world.reads.count
        pass(world, seconds: 8)
        #expect(!isStalled(world))
        pass(world, seconds: 6)
        #expect(isStalled(world))
        let again = world.reads[reads...].contains { $0 == Self.entryPath }
        #expect(again, "it was forgotten")
    }

    @Test("A conversation that leaves the memory has been silent since it was heard")
    func forgottenForNewerConversations() {
        let world = stalling { $0.conversationsMax = 1 }
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        leaveOpenStream(to: world)
        pass(world, seconds: 8)
        meetOtherConversations(world)
        let reads = world.reads.count
        pass(world, seconds: 5)
        #expect(isStalled(world))
        let again = world.reads[reads...].contains { $0 == Self.entryPath }
        #expect(again, "it was forgotten")
    }

    @Test("A stall that did not land is written again without another time of silence")
    func stallAgain() {
        let world = stalling()
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        leaveOpenStream(to: world)
        pass(world, seconds: 9)
        var refusals = 0
        world.verdict = { body in
            guard refusals == 0, body.contains("stalled") else { return nil }
            refusals += 1
            return .refused(status: 400, "no")
        }
        pass(world, seconds: 8)
        #expect(refusals == 1)
        #expect(isStalled(world))
    }

    @Test("A stream that is forgotten without having been heard stays as silent as it was")
    func forgottenUnheard() {
        let world = stalling { $0.streamsMax = 2 }
        leaveOpenStream(to: world)
        world.assign([chunks, runs])
        pass(world, seconds: 8)
        let reads = world.reads.count
        // A chunk of an older run, which is no sign of life, brings the stream into the memory.
        let late = chunkValue(#""timestamp":"2025-12-31T00:00:00Z","chunk_index":0"#)
        world.consume(chunks, late.replacing(#""r""#, with: #""older""#))
        openOtherStreams(world)
        #expect(world.reads[reads...].contains(Self.entryPath), "it was in memory")
        let readsAgain = world.reads.count
        pass(world, seconds: 5)
        #expect(isStalled(world))
        #expect(world.reads[readsAgain...].contains(Self.entryPath), "it was forgotten")
    }

    @Test("A stream that is forgotten for newer ones has been silent since it was heard")
    func forgottenForNewerOnes() {
        let world = stalling { $0.streamsMax = 2 }
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        leaveOpenStream(to: world)
        pass(world, seconds: 8)
        openOtherStreams(world)
        pass(world, seconds: 5)
        #expect(isStalled(world))
    }

    @Test func howeverMuchThereIsToRemoveSilentStreamsAreLookedFor() {
        let world = stalling { $0.keep = .seconds(60) }
        let ended = world.now.wall - 100_000
        // Always a whole page more.
        world.agenda["f"] =
            "{" + (10..<60).map { #""f\#(ended)\#($0)":"x/\#($0)""# }.joined(separator: ",") + "}"
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 16)
        #expect(isStalled(world))
    }

    @Test func afterARestartAStreamIsSilentSinceThisOwnerBeganToWatch() {
        let world = stalling()
        leaveOpenStream(to: world)
        world.assign([chunks, runs])
        pass(world, seconds: 9)
        #expect(!isStalled(world))
        pass(world, seconds: 6)
        #expect(isStalled(world))
    }

    @Test func zeroTurnsTheCheckOff() {
        let world = world { _ in }
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        pass(world, seconds: 100)
        #expect(!isStalled(world))
        #expect(!world.reads.contains { $0.contains("agenda") })
    }

    // MARK: Removal

    private func keeping() -> Harness {
        let world = world { $0.keep = .seconds(60) }
        world.agenda = [:]
        return world
    }

    private func finishAndWait(_ world: Harness) {
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue(#""is_final":true"#))
        let item = world.written.keys.first {
            $0.contains("/agenda/") && $0.split(separator: "/").last?.first == "f"
        }
        world.agenda["f"] = item.map { #"{"\#($0.split(separator: "/").last!)":"c/8"}"# }
        pass(world, seconds: 50)
        #expect(world.written["streaming/c/8"] == nil)
        pass(world, seconds: 20)
        world.agenda = [:]
    }

    @Test func aFinishedStreamsNodeIsRemovedAndItsRunRemembered() {
        let world = keeping()
        finishAndWait(world)
        #expect(world.written["streaming/c/8"] == "null")
        #expect(world.written[Self.entryPath]?.contains(#""removed":"#) == true)
        #expect(
            world.written.contains {
                $0.key.contains("/agenda/") && $0.key.split(separator: "/").last?.first == "r"
                    && $0.value == #""c/8""#
            })
        let before = world.patches.count
        world.consume(chunks, chunkValue(#""chunk_index":0"#))
        #expect(
            world.allData.count == world.patches[..<before].map(Harness.data).count { !$0.isEmpty })
        #expect(world.bridge.counters.lateChunks == 1)
    }

    @Test(arguments: ["f", "o"]) func whatSomeoneElseHasRemovedIsForgotten(_ kind: String) {
        let world = world {
            $0.keep = .seconds(60)
            $0.stallAfter = .seconds(10)
        }
        let ended = world.now.wall - 100_000
        let item = kind == "f" ? "f\(ended)0123456789abcdef" : "o0123456789abcdef"
        world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"8":true}"#
        world.answers[Self.entryPath] =
            #"{"run":"r","birth":"2026-01-01T00:00:00Z""#
            + (kind == "f" ? #","end":"c","last":0,"at":\#(ended)}"# : "}")
        world.agenda = [kind: #"{"\#(item)":"c/8"}"#]
        world.assign([chunks, runs])
        pass(world, seconds: 20)
        #expect(world.written[Self.entryPath] == "null")
        #expect(world.written.contains { $0.key.hasSuffix("/" + item) && $0.value == "null" })
    }

    @Test(arguments: [true, false])
    func aRemovalThatTheDatabaseWillNotHaveKeepsNoOtherFromIt(_ isTooBig: Bool) {
        let world = keeping()
        let ended = world.now.wall - 100_000
        world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"7":true,"8":true,"9":true}"#
        var items: [String] = []
        for sequence in 7...9 {
            world.answers["_firebridge/streams/\(Self.set)/c/\(sequence)"] =
                #"{"run":"r","birth":"2026-01-01T00:00:00Z","end":"c","last":0,"at":\#(ended)}"#
            world.answers["streaming/c/\(sequence)/meta"] =
                #"{"run_id":"r","status":"completed","started_at":"2026-01-01T00:00:00Z"}"#
            items.append(#""f\#(ended)\#(sequence)123456789abcdef":"c/\#(sequence)""#)
        }
        world.agenda["f"] = "{" + items.joined(separator: ",") + "}"
        world.verdict = { body in
            guard body.contains(#""streaming/c/8":null"#) else { return nil }
            return isTooBig ? .tooBig("no") : .refused(status: 400, "no")
        }
        world.assign([chunks, runs])
        pass(world, seconds: 20)
        #expect(world.written["streaming/c/7"] == "null")
        #expect(world.written["streaming/c/8"] == nil)
        #expect(world.written["streaming/c/9"] == "null")
        #expect(world.notices.contains("chore_failed"))
    }

    @Test func aRemovalThatTheDatabaseWillNotHaveKeepsNoFenceFromBeingRenewedAndNoOneNotReady() {
        let world = keeping()
        let ended = world.now.wall - 100_000
        world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"8":true}"#
        world.answers[Self.entryPath] =
            #"{"run":"r","birth":"2026-01-01T00:00:00Z","end":"c","last":0,"at":\#(ended)}"#
        world.answers["streaming/c/8/meta"] =
            #"{"run_id":"r","status":"completed","started_at":"2026-01-01T00:00:00Z"}"#
        world.agenda["f"] = #"{"f\#(ended)8":"c/8"}"#
        let fence = "_firebridge/fences/firebridge/\(Self.set)/0"
        var renewals: [Int64] = []
        world.verdict = { body in
            if body.contains(#""streaming/c/8":null"#) { return .tooBig("no") }
            if body.contains(fence) { renewals.append(world.now.monotonic) }
            return nil
        }
        world.assign([chunks, runs])
        renewals = []
        pass(world, seconds: 180)
        let waits = zip(renewals, renewals.dropFirst()).map { ($1 - $0) / 1_000_000_000 }
        #expect(renewals.count > 5 && waits.allSatisfy { $0 <= 30 }, "\(waits)")
        #expect(world.notices.contains("chore_failed"))
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func whileTheStatusOfAnotherSetSaysThatToolsRunNothingStalls() throws {
        var mappings = MirrorPlan.standard.mappings
        let index = try #require(mappings.firstIndex { $0.topic == runs })
        guard case .run(let status, let marker, _, let event) = mappings[index].form else {
            Issue.record("no run mapping")
            return
        }
        mappings[index].form = .run(status: status, marker: marker, stream: nil, eventName: event)
        var settings = Settings()
        settings.stallAfter = .seconds(10)
        settings.stallStatus = true
        let world = Harness(plan: try MirrorPlan(mappings: mappings), settings: settings)
        world.agenda["o"] = #"{"o0123456789abcdef":"c/8"}"#
        world.assign([chunks, runs])
        world.consume(chunks, chunkValue())
        let path = "conversations/c/status"
        world.answers[path] = #"{"state":"CONVERSATION_ACTIVITY_STATE_EXECUTING_TOOLS","seq":"1"}"#
        pass(world, seconds: 40)
        #expect(!isStalled(world))
        world.answers[path] = #"{"state":"CONVERSATION_ACTIVITY_STATE_GENERATING","seq":"2"}"#
        pass(world, seconds: 14)
        #expect(isStalled(world))
        #expect(world.written[path] == nil, "another set guards it")
    }

    @Test func whatGoesByItselfGoesBetweenRecordsThatComeWithoutEnd() {
        let world = keeping()
        let ended = world.now.wall - 100_000
        world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"7":true,"9":true}"#
        for sequence in [7, 9] {
            world.answers["_firebridge/streams/\(Self.set)/c/\(sequence)"] =
                #"{"run":"r","birth":"2026-01-01T00:00:00Z","end":"c","last":0,"at":\#(ended)}"#
            world.answers["streaming/c/\(sequence)/meta"] =
                #"{"run_id":"r","status":"completed","started_at":"2026-01-01T00:00:00Z"}"#
        }
        world.agenda["f"] = #"{"f\#(ended)7":"c/7"}"#
        world.verdict = { $0.contains(#""streaming/c/7":null"#) ? .tooBig("no") : nil }
        world.assign([chunks, runs])
        pass(world, seconds: 3)
        #expect(world.notices.contains("chore_failed"))
        world.agenda["f"] = #"{"f\#(ended)9":"c/9"}"#
        world.holdsPatches = true
        for index in 0..<20 {
            world.consume(chunks, chunkValue(#""chunk_index":\#(index)"#))
            pass(world, seconds: 1)
            world.answerHeld()
        }
        #expect(world.patches.contains { $0.contains(#""streaming/c/9":null"#) })
    }

    @Test func whatWasRemovedStaysRemovedWhenTheLogIsReadAgain() throws {
        let first = keeping()
        finishAndWait(first)
        let again = keeping()
        again.answers["_firebridge/streams/\(Self.set)/c"] = #"{"8":true}"#
        again.answers[Self.entryPath] = try first.left(at: Self.entryPath)
        again.assign([chunks, runs])
        again.consume(chunks, chunkValue(#""is_final":true"#))
        #expect(again.allData.isEmpty)
        #expect(again.bridge.counters.lateChunks == 1)
        again.consume(
            chunks,
            #"{"conversation_id":"c","message_sequence":8,"run_id":"z","timestamp":"2027-01-01T00:00:00Z"}"#
        )
        #expect(again.written["streaming/c/8/meta"]?.contains(#""run_id":"z""#) == true)
    }

    @Test func aRemovedStreamIsForgottenAfterSevenDaysAndNotBefore() {
        let day: Int64 = 86_400_000
        for (age, isForgotten) in [(7 * day - 100_000, false), (7 * day + 1, true)] {
            let world = keeping()
            let removed = world.now.wall - age
            let item = "r\(removed)0123456789abcdef"
            world.answers["_firebridge/streams/\(Self.set)/c"] = #"{"8":true}"#
            world.answers[Self.entryPath] =
                #"{"run":"r","birth":"2026-01-01T00:00:00Z","end":"c","last":0,"at":\#(removed),"removed":\#(removed)}"#
            world.agenda["r"] = #"{"\#(item)":"c/8"}"#
            world.assign([chunks, runs])
            pass(world, seconds: 10)
            #expect((world.written[Self.entryPath] == "null") == isForgotten)
        }
    }
}
