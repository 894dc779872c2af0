import BridgeCore
import Testing

/// Contract section 6: what is committed, and how a stop or a revoke ends.
@Suite struct CommitTests {
    private let source = TopicPartition(chunks, 0)
    private func chunk(_ index: Int) -> String { chunkValue(#""chunk_index":\#(index)"#) }

    /// A chunk of another stream of the conversation.
    private func chunk(_ index: Int, of sequence: Int) -> String {
        chunk(index).replacing(
            #""message_sequence":8"#, with: #""message_sequence":\#(sequence)"#)
    }

    @Test("A late answer to a commit of an earlier claim is not taken for a later one's")
    func lateAnswer() throws {
        let world = Harness()
        let source = TopicPartition(runs, 0)
        // An operator's commit is committed again under the bridge's mark before anything is read.
        world.positions[source] = PartitionPositions(
            low: 0, high: 9, committed: 4, metadata: "operator")
        world.holdsCommits = true
        world.assign([runs])
        let old = try #require(world.heldCommits.last)
        world.assign([runs])
        let new = try #require(world.heldCommits.last)
        #expect(new.serial != old.serial)
        world.bridge.committed(old.offsets, serial: old.serial, failed: nil, at: world.now)
        world.run()
        #expect(world.starts.isEmpty, "the new claim's own commit is still under way")
        world.bridge.committed(new.offsets, serial: new.serial, failed: nil, at: world.now)
        world.run()
        #expect(world.starts == [source: 4])
    }

    @Test func commitsNeverGoBackNorBeyondTheAcknowledgedWatermark() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        for index in 0..<5 {
            world.consume(chunks, chunk(index))
            world.wait(milliseconds: 700)
        }
        #expect(world.commits.last == [source: 0])
        world.answerHeld()
        world.wait(milliseconds: 700)
        #expect(world.commits.last == [source: 1])
        world.holdsPatches = false
        world.answerHeld()
        world.wait(milliseconds: 700)
        #expect(world.commits.last == [source: 5])
        let offsets = world.commits.compactMap { $0[source] }
        #expect(offsets == offsets.sorted())
    }

    @Test func recordsThatFollowOneAnotherQuicklyAreCommittedTogether() {
        let world = Harness()
        world.assign([chunks])
        let before = world.commits.count
        for index in 0..<100 {
            world.consume(chunks, chunk(index))
            world.wait(milliseconds: 5)
        }
        #expect(world.acceptedData.count == 100)
        #expect(world.commits.count - before <= 2, "\(world.commits.dropFirst(before))")
        world.wait(milliseconds: 500)
        #expect(world.commits.last == [source: 100])
        #expect(world.commits.count - before <= 3)
    }

    @Test func aCommitThatFailsIsTriedAgainAndNotAtOnce() {
        let world = Harness()
        world.assign([chunks])
        world.commitFailure = "coordinator not available"
        world.consume(chunks, chunk(0))
        world.wait(milliseconds: 600)
        let tried = world.commits.count
        world.run()
        #expect(world.commits.count == tried)
        for _ in 0..<10 { world.wait(milliseconds: 600) }
        #expect(world.commits.count <= tried + 12 && world.commits.count > tried)
        world.commitFailure = nil
        world.wait(milliseconds: 600)
        #expect(world.commits.last == [source: 1])
    }

    @Test(
        "Overtaken by retention while it runs, a partition settles what it has read, then goes on",
        arguments: [GapPolicy.earliest, .latest, .halt])
    func overtaken(_ policy: GapPolicy) {
        var settings = Settings()
        settings.onGap = policy
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.holdsPatches = true
        for index in 0..<3 { world.consume(chunks, chunk(index)) }
        world.positions[source] = PartitionPositions(
            low: 10, high: 20, committed: 0, metadata: "firebridge/1")
        world.bridge.logMoved(of: source)
        world.run()
        // What was read is nowhere else any more: it is written first.
        #expect(!world.notices.contains { $0.contains("log_gap") })
        world.holdsPatches = false
        world.answerHeld()
        world.run()
        world.wait(milliseconds: 700)
        #expect(
            world.written.keys.contains { $0.hasSuffix("/chunks/2") } || world.allData.count > 1)
        #expect(world.notices.contains { $0.contains("log_gap") })
        switch policy {
        case .earliest: #expect(world.starts == [source: 10])
        case .latest: #expect(world.starts == [source: 20])
        case .halt: #expect(world.bridge.report(at: world.now).notReady.count == 1)
        }
        // A log that moves again at once is looked at again, but not at once.
        guard policy != .halt else { return }
        world.positions[source] = PartitionPositions(
            low: 30, high: 40, committed: 3, metadata: "firebridge/1")
        world.bridge.logMoved(of: source)
        world.wait(milliseconds: 1000)
        #expect(world.starts[source] != 30 && world.starts[source] != 40)
        world.wait(milliseconds: 5000)
        #expect(world.starts == [source: policy == .earliest ? 30 : 40])
    }

    @Test func aRevokeIsReleasedThoughCommitsFail() {
        let world = Harness()
        world.assign([chunks])
        world.commitFailure = "rebalance in progress"
        world.consume(chunks, chunk(0))
        world.bridge.revoke(at: world.now)
        world.run()
        for _ in 0..<20 where world.released == 0 { world.wait(milliseconds: 1000) }
        #expect(world.released == 1)
        #expect(world.commits.count < 100)
        #expect(world.bridge.nextEffect(at: world.now) == nil)
    }

    @Test func aStopEndsThoughCommitsFail() {
        let world = Harness()
        world.assign([chunks])
        world.commitFailure = "no broker"
        world.consume(chunks, chunk(0))
        world.bridge.stop(at: world.now)
        world.run()
        for _ in 0..<25 where world.finished == nil { world.wait(milliseconds: 1000) }
        #expect(world.finished == 0)
    }

    @Test func aStopWaitsForNoCommitAfterOneThatFailed() {
        let world = Harness()
        world.assign([chunks])
        world.commitFailure = "coordinator not available"
        world.consume(chunks, chunk(0))
        world.wait(milliseconds: 600)
        // The next one gets no answer.
        world.holdsCommits = true
        world.wait(milliseconds: 600)
        #expect(world.heldCommits.count == 1)
        world.bridge.stop(at: world.now)
        world.run()
        #expect(world.finished == 0)
    }

    @Test func aRevokeWaitsForTheWritesButNoLongerThanTheDrainLimit() {
        for lands in [true, false] {
            let world = Harness()
            world.assign([chunks])
            world.holdsPatches = true
            world.consume(chunks, chunk(0))
            world.bridge.revoke(at: world.now)
            world.run()
            #expect(world.bridge.room(for: source) == 0)
            world.wait(milliseconds: 19_000)
            #expect(world.released == 0)
            if lands { world.answerHeld() } else { world.wait(milliseconds: 1_100) }
            #expect(world.released == 1)
            #expect(world.commits.contains([source: 1]) == lands)
        }
    }

    @Test func aStopWhileNothingIsDeliveredTellsHowManyRecordsAreNot() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0), chunk(1), chunk(2))
        world.bridge.stop(at: world.now)
        world.run()
        world.wait(milliseconds: 20_100)
        #expect(world.finished == 3)
    }

    @Test func aStopThatLosesItsPartitionsTellsWhatWasNotDeliveredToo() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0), chunk(1))
        world.bridge.stop(at: world.now)
        world.run()
        world.bridge.lose(at: world.now)
        world.run()
        #expect(world.finished == 2)
    }

    @Test func anAnswerThatComesAfterTheAssignmentWasLostChangesNothing() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0))
        let commits = world.commits.count
        world.bridge.lose(at: world.now)
        world.answerHeld()
        world.wait(milliseconds: 5000)
        #expect(world.commits.count == commits)
        #expect(world.bridge.nextEffect(at: world.now) == nil)
    }

    @Test func whatTheBridgeHoldsIsBoundedByBytesAndGivesRoomAgain() {
        var settings = Settings()
        settings.inFlightBytesMax = 1000
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.holdsPatches = true
        for index in 0..<6 { world.consume(chunks, chunk(index)) }
        #expect(world.bridge.room(for: source) <= 0)
        world.holdsPatches = false
        world.answerHeld()
        #expect(world.bridge.room(for: source) == 1000)
    }

    @Test func lettersThatKafkaHasNotTakenAreHeldWithinTheSameBytesAndGiveRoomAgain() {
        var settings = Settings()
        settings.inFlightBytesMax = 1000
        let world = Harness(settings: settings)
        world.acknowledgesDeadLetters = false
        world.assign([chunks, runs])
        let bad = String(repeating: "x", count: 300)
        for _ in 0..<4 { world.consume(chunks, bad) }
        world.wait(milliseconds: 1000)
        #expect(world.deadLetters.count == 4)
        // The other partition, which has rejected nothing, is not read either.
        #expect(world.bridge.room(for: source) <= 0)
        #expect(world.bridge.room(for: TopicPartition(runs, 0)) <= 0)
        for letter in world.deadLetters {
            world.bridge.deadLettered(letter.id, failed: nil, at: world.now)
        }
        world.wait(milliseconds: 1000)
        #expect(world.bridge.room(for: source) == 1000)
        #expect(world.bridge.room(for: TopicPartition(runs, 0)) == 1000)
    }

    @Test func conversationsInMemoryStayAsFewAsTheyMayBeHoweverOftenTheyAreMet() {
        var settings = Settings()
        settings.conversationsMax = 100
        let world = Harness(settings: settings)
        world.assign([chunks])
        var most = 0
        for number in 0..<600 {
            for conversation in [number, number - 40, number - 90] where conversation >= 0 {
                world.consume(
                    chunks, chunk(number).replacing(#""c""#, with: "\"c\(conversation)\""))
            }
            most = max(most, world.bridge.report(at: world.now).streamsOpen)
        }
        #expect(most < 120)
        #expect(world.bridge.report(at: world.now).streamsOpen <= 101)
    }

    @Test("One conversation without end fills no memory, and what was forgotten is read again")
    func streamsAreBounded() {
        let world = Harness()
        world.assign([chunks])
        var most = 0
        for sequence in 0..<600 {
            world.consume(chunks, chunk(0, of: sequence))
            most = max(most, world.bridge.report(at: world.now).streamsOpen)
        }
        #expect(most <= Settings().streamsMax)
        func reads(of sequence: Int) -> Int { world.reads.count { $0.hasSuffix("/c/\(sequence)") } }
        #expect(reads(of: 0) == 0)
        for sequence in [0, 599] { world.consume(chunks, chunk(0, of: sequence)) }
        #expect(reads(of: 0) == 1 && reads(of: 599) == 0)
    }

    @Test("What has not landed is not forgotten, however much there is of it")
    func unsettledStreamsStay() {
        var settings = Settings()
        settings.streamsMax = 16
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        world.holdsPatches = true
        for sequence in 100..<140 { world.consume(chunks, chunk(0, of: sequence)) }
        #expect(world.bridge.report(at: world.now).streamsOpen == 40)
        world.consume(chunks, chunk(1, of: 100))
        #expect(!world.reads.contains { $0.hasSuffix("/c/100") })
    }

    @Test func anErasedConversationsRecordsAreDroppedAndCounted() {
        let world = Harness()
        world.answers["_firebridge/streams/\(ChoreTests.set)/c"] =
            #"{"erased":\#(world.now.wall)}"#
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        #expect(world.allData.isEmpty && world.bridge.counters.erased == 1)
        world.wait(milliseconds: 1)
        world.consume(chunks, chunk(1))
        #expect(world.written["streaming/c/8/meta"] != nil)
    }

    @Test func whatKafkaSaidToAnEarlierClaimIsNotTakenForThisOnes() {
        let world = Harness()
        let source = TopicPartition(chunks, 0)
        world.positions[source] = PartitionPositions(low: 0, high: 5, committed: nil)
        world.holdsQuestions = true
        world.assign([chunks])
        let old = world.heldQuestions[0]
        world.bridge.lose(at: world.now)
        world.run()
        // Another member has gone on meanwhile.
        world.positions[source] = PartitionPositions(
            low: 0, high: 90, committed: 80, metadata: Bridge.commitMark)
        world.answers["_firebridge/watermarks/firebridge"] =
            #"{"llm%2Etoken-chunks":{"0":{"next":80}}}"#
        world.assign([chunks])
        world.bridge.positions(old.known, serial: old.serial, at: world.now)
        world.run()
        #expect(world.starts == [:])
        #expect(world.notices.filter { $0 == "watermark_beyond_end" } == [])
        let new = world.heldQuestions[1]
        world.bridge.positions(new.known, serial: new.serial, at: world.now)
        world.run()
        #expect(world.starts == [source: 80])
    }
}
