import Testing

@testable import BridgeCore

/// Contract section 6.
@Suite struct RefusalTests {
    private func chunk(_ index: Int, _ content: String = "x") -> String {
        chunkValue(
            #""chunk_index":\#(index),"content":"\#(content)","timestamp":"2026-01-01T00:00:00Z""#)
    }

    /// Lets time pass until the condition holds; whether it came to hold.
    private func pass(_ world: Harness, seconds: Int = 300, until isReached: () -> Bool) -> Bool {
        for _ in 0..<seconds * 2 where !isReached() { world.wait(milliseconds: 500) }
        return isReached()
    }

    @Test(arguments: [0, 3, 7]) func theRefusedRecordIsFoundAndTheOthersAreWrittenInOrder(
        _ bad: Int
    ) {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(99))
        for index in 0..<8 { world.consume(chunks, chunk(index, index == bad ? "poison" : "x")) }
        world.verdict = { $0.contains("poison") ? .refused(status: 400, "no") : nil }
        world.holdsPatches = false
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        #expect(world.deadLetters.map(\.record.offset) == [Int64(bad + 1)])
        #expect(world.deadLetters.first?.rejection.reason == .refused)
        #expect(acceptedChunks(world) == [99] + (0..<8).filter { $0 != bad })
    }

    @Test("What is planned again after a refusal is counted once")
    func countedOnce() {
        let world = Harness()
        world.assign([chunks, runs])
        func activity(_ seq: Int) -> String { runValue(#""state":"S","seq":\#(seq)"#) }
        world.consume(runs, activity(9))
        world.holdsPatches = true
        world.consume(runs, activity(9))
        world.consume(runs, activity(1))
        world.consume(chunks, chunk(0))
        world.consume(chunks, chunk(3).dropLast() + #","is_final":true}"#)
        world.consume(chunks, chunk(7))
        for index in 0..<8 {
            let value = chunk(index, index == 3 ? "poison" : "x")
            world.consume(chunks, value.replacing(#""r""#, with: #""s""#))
        }
        world.verdict = { $0.contains("poison") ? .refused(status: 400, "no") : nil }
        world.holdsPatches = false
        world.answerHeld()
        #expect(pass(world) { world.commits.last?[TopicPartition(chunks, 0)] == 11 })
        #expect(world.deadLetters.count == 1)
        #expect(world.bridge.counters.staleStatuses == 1)
        #expect(world.bridge.counters.runsWithGaps == 1)
        #expect(world.bridge.counters.lateChunks == 1)
    }

    /// The indices of the chunks that the database took, in its order.
    private func acceptedChunks(_ world: Harness) -> [Int] {
        world.acceptedData.flatMap { data -> [Int] in
            data.flatMap { path, value -> [Int] in
                guard let place = path.firstRange(of: "/chunks") else { return [] }
                let name = path[place.upperBound...].dropFirst()
                // A run begins with all of its node.
                let names =
                    name.isEmpty ? Array(Harness.data(of: value).keys) : [String(name)]
                return names.compactMap { Int($0) }
            }.sorted()
        }
    }

    @Test func aRecordIsRejectedOnlyWhenItIsRefusedThreeTimesAndAProbeIsAcceptedEachTime() {
        let world = Harness()
        world.assign([chunks])
        var seen: [String] = []
        world.verdict = { body in
            let isProbe = !body.contains("streaming/c")
            seen.append(isProbe ? "probe" : "data")
            return isProbe ? nil : .refused(status: 403, "no")
        }
        world.consume(chunks, chunk(0))
        #expect(seen.prefix(6) == ["data", "probe", "data", "probe", "data", "probe"])
        #expect(world.deadLetters.count == 1)
    }

    @Test(arguments: [1, 2]) func aRecordThatIsAcceptedAtALaterTryIsNotRejected(_ times: Int) {
        let world = Harness()
        world.assign([chunks])
        var refusals = times
        world.verdict = { body in
            guard body.contains("streaming/c"), refusals > 0 else { return nil }
            refusals -= 1
            return .refused(status: 403, "no")
        }
        world.consume(chunks, chunk(0))
        #expect(world.deadLetters.isEmpty)
        #expect(world.written["streaming/c/8/meta"] != nil)
    }

    @Test func whereTheProbeIsRefusedTooTheDatabaseIsWrongAndTheBatchGoesAgainWhole() {
        let world = Harness()
        world.assign([chunks])
        world.verdict = { _ in .refused(status: 401, "Permission denied") }
        world.holdsPatches = true
        world.consume(chunks, chunk(0))
        world.consume(chunks, chunk(1), chunk(2))
        world.holdsPatches = false
        let id = world.heldPatches.removeFirst()
        world.bridge.settle(id, .refused(status: 403, "no"), at: world.now, jitter: 0)
        world.run()
        for _ in 0..<20 { world.wait(milliseconds: 1000) }
        #expect(world.deadLetters.isEmpty)
        #expect(world.notices.contains("database_refuses_everything"))
        #expect(world.bridge.report(at: world.now).notReady.isEmpty == false)
        world.verdict = { _ in nil }
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 3] })
        #expect(world.deadLetters.isEmpty)
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func aDatabaseThatShowsNotEvenTheFencesIsWrongAndIsSaidToBeAtOnce() {
        let world = Harness()
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        world.readVerdict = .refused(status: 403, "HTTP 403: no")
        world.verdict = { _ in .refused(status: 403, "HTTP 403: no") }
        world.consume(chunks, chunk(1))
        #expect(world.alarms == ["database_refuses_everything"])
        #expect(
            world.bridge.report(at: world.now).notReady.contains(
                "lane 0: database_refuses_everything: HTTP 403: no"))
        for _ in 0..<20 { world.wait(milliseconds: 1000) }
        #expect(world.alarms == ["database_refuses_everything"])
        world.readVerdict = nil
        world.verdict = { _ in nil }
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 2] })
        #expect(world.deadLetters.isEmpty)
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func aRefusedReadIsAnAlarmAtOnce() {
        let world = Harness()
        world.readVerdict = .refused(status: 403, "HTTP 403: no")
        world.assign([chunks])
        #expect(world.alarms == ["read_refused"])
        #expect(
            world.bridge.report(at: world.now).notReady.contains(
                "reading the tree fails: HTTP 403: no"))
        world.readVerdict = nil
        #expect(pass(world) { world.bridge.report(at: world.now).notReady == [] })
    }

    @Test(arguments: ["", "OK", "{\"1\":"])
    func aReadThatBringsNoJSONIsAskedAgainAndNotTakenForAnEmptyNode(body: String) {
        let world = Harness()
        world.assign([chunks])
        world.readVerdict = .done(body: Array(body.utf8), date: nil)
        let count = world.patches.count
        world.consume(chunks, chunk(0))
        for _ in 0..<5 { world.wait(milliseconds: 1000) }
        #expect(world.patches.count == count)
        world.readVerdict = nil
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 1] })
    }

    @Test func aClaimThatTheDatabaseRefusesAgainIsAnAlarmWithItsReason() {
        let world = Harness()
        world.verdict = { _ in .refused(status: 403, "HTTP 403: no") }
        world.assign([chunks])
        // Another owner may have claimed at the same time.
        #expect(world.notices == ["claim_refused"])
        #expect(world.alarms == [])
        world.wait(milliseconds: 1000)
        #expect(world.alarms == ["claim_refused"])
        #expect(
            world.bridge.report(at: world.now).notReady.contains {
                $0.hasSuffix("which the database refuses: HTTP 403: no")
            })
        world.verdict = { _ in nil }
        #expect(pass(world) { world.bridge.report(at: world.now).notReady == [] })
    }

    @Test func whereAnotherOwnerHoldsTheFenceEverythingIsForgottenAndClaimedAnew() {
        let world = Harness()
        world.assign([chunks])
        var isTaken = true
        world.verdict = { body in
            guard isTaken else { return nil }
            return body.contains(#""epoch":8"#) ? nil : .refused(status: 401, "Permission denied")
        }
        world.answers["_firebridge/fences"] =
            #"{"firebridge":{"streaming%2F{conversation_id}%2F{message_sequence}":[{"epoch":7,"owner":"you","serial":3}]}}"#
        world.consume(chunks, chunk(0))
        isTaken = false
        #expect(world.notices.contains("fence_lost"))
        #expect(pass(world) { world.patches.contains { $0.contains(#""epoch":8"#) } })
        #expect(world.deadLetters.isEmpty)
        #expect(world.bridge.counters.fenced == 1)
    }

    /// With time between them the bridge writes what is its own, and that is accepted.
    @Test(arguments: [0, 3]) func afterAHundredInARowNoMoreAreRejected(seconds: Int) {
        let world = Harness()
        world.assign([messages])
        world.verdict = { $0.contains("events/") ? .refused(status: 400, "no") : nil }
        for _ in 0..<110 {
            world.consume(messages, messageValue("{}"))
            _ = pass(world, seconds: seconds) { false }
        }
        _ = pass(world, seconds: 60) { false }
        #expect(world.deadLetters.count == 100)
        #expect(world.notices.contains("everything_refused"))
        #expect(world.bridge.report(at: world.now).notReady.isEmpty == false)
        world.verdict = { _ in nil }
        #expect(pass(world) { world.commits.last == [TopicPartition(messages, 0): 110] })
        #expect(world.deadLetters.count == 100)
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func aBatchThatIsTooBigIsSplitAndARecordThatIsTooBigAloneIsRejected() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(99))
        let long = String(repeating: "y", count: 3000)
        for index in 0..<8 { world.consume(chunks, chunk(index, index == 5 ? long : "x")) }
        world.verdict = { $0.utf8.count > 1500 ? .tooBig("exceeds") : nil }
        world.holdsPatches = false
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        #expect(world.deadLetters.map(\.record.offset) == [6])
        #expect(world.deadLetters.first?.rejection.reason == .tooLarge)
    }

    @Test func withRejectStopThePartitionStandsStillAndTheOthersGoOn() {
        var settings = Settings()
        settings.reject = .stop
        let world = Harness(settings: settings)
        world.assign([chunks, runs])
        world.consume(chunks, "nonsense", chunk(0))
        world.consume(runs, activityValue("IDLE"))
        world.wait(milliseconds: 1000)
        world.wait(milliseconds: 1000)
        #expect(world.commits.last?[TopicPartition(runs, 0)] == 1)
        #expect(world.commits.allSatisfy { ($0[TopicPartition(chunks, 0)] ?? 0) == 0 })
        #expect(world.bridge.room(for: TopicPartition(chunks, 0)) == 0)
        #expect(world.alarms == ["partition_stopped"])
        #expect(world.bridge.report(at: world.now).notReady.count == 1)
        #expect(world.deadLetters.isEmpty)
    }

    @Test func aPartitionThatStandsStillBehindSkippedOffsetsKeepsNoRevokeWaiting() {
        var settings = Settings()
        settings.reject = .stop
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.consume(chunks, chunk(0))
        world.starts[TopicPartition(chunks, 0)] = 5
        world.consume(chunks, "nonsense")
        world.wait(milliseconds: 1000)
        #expect(world.alarms == ["partition_stopped"])
        world.bridge.revoke(at: world.now)
        world.run()
        #expect(world.released == 1)
        #expect(world.commits.last == [TopicPartition(chunks, 0): 1])
    }

    @Test func aDeadLetterThatKafkaDoesNotTakeIsAnAlarmEachTimeAndHoldsTheCommit() throws {
        let world = Harness()
        world.acknowledgesDeadLetters = false
        world.assign([chunks])
        world.consume(chunks, chunk(0), "nonsense", chunk(1, "behind"))
        for attempt in 1...3 {
            #expect(pass(world) { world.deadLetters.count == attempt })
            let letter = try #require(world.deadLetters.last)
            world.bridge.deadLettered(letter.id, failed: "not authorized", at: world.now)
            world.run()
            #expect(world.alarms == Array(repeating: "dead_letter_failed", count: attempt))
            #expect(
                world.bridge.report(at: world.now).notReady
                    == ["dead letters cannot be appended: not authorized"])
        }
        // Everything behind it is written, and nothing behind it committed.
        #expect(world.patches.contains { $0.contains("behind") })
        #expect(!pass(world, seconds: 20) { (world.commits.last?.values.max() ?? 0) > 1 })
        world.bridge.deadLettered(world.deadLetters[0].id, failed: nil, at: world.now)
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 3] })
        #expect(Set(world.deadLetters.map(\.record.offset)) == [1])
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func besideTheStateOfANewerVersionABridgeDoesNotStartUntilItIsGone() {
        let world = Harness()
        world.answers["_firebridge/version"] = "\(StateLayout.version + 1)"
        world.assign([chunks])
        #expect(!pass(world, seconds: 100) { !world.starts.isEmpty || !world.patches.isEmpty })
        #expect(Set(world.reads) == ["_firebridge/version"])
        #expect(world.alarms.count > 1 && Set(world.alarms) == ["state_too_new"])
        #expect(world.bridge.report(at: world.now).notReady.count == 1)
        world.answers["_firebridge/version"] = "\(StateLayout.version)"
        #expect(pass(world) { !world.starts.isEmpty })
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func withRejectSkipARecordIsPassedOverWithoutADeadLetter() {
        var settings = Settings()
        settings.reject = .skip
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.consume(chunks, "nonsense", chunk(0))
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 2] })
        #expect(world.deadLetters.isEmpty && world.notices.contains("record_skipped"))
    }
}

@Suite struct RetryTests {
    private let policy = RetryPolicy(initial: .milliseconds(200), max: .seconds(30))

    @Test(arguments: 1...40) func aWaitIsHalfToAllOfTheExponentialOneUpToTheGreatest(
        _ attempt: Int
    ) {
        var whole = Duration.milliseconds(200)
        for _ in 1..<attempt { whole = min(whole * 2, .seconds(30)) }
        #expect(policy.delay(afterAttempt: attempt, jitter: 0) == whole / 2)
        for jitter in [0.25, 0.5, 0.999] {
            let delay = policy.delay(afterAttempt: attempt, jitter: jitter)
            #expect(delay >= whole / 2 && delay <= whole)
        }
    }

    @Test func aServersWishIsHonouredButNeverShortensTheWait() {
        let wish = Duration.seconds(90)
        #expect(policy.delay(afterAttempt: 1, jitter: 0.5, retryAfter: wish) == wish)
        #expect(
            policy.delay(afterAttempt: 20, jitter: 0, retryAfter: .seconds(1)) == .seconds(15))
    }

    @Test func afterThreeFailuresInARowOneRequestProbesAndTheOthersWait() {
        var breaker = Breaker()
        for id in 1...2 { breaker.fail(id, until: 10) }
        #expect(breaker.openUntil == nil && breaker.admits(9, at: 0))
        breaker.fail(3, until: 10)
        #expect(breaker.openUntil == 10 && !breaker.admits(4, at: 9))
        #expect(breaker.admits(4, at: 10) && !breaker.admits(5, at: 10))
        breaker.fail(4, until: 20)
        #expect(!breaker.admits(5, at: 19) && breaker.admits(5, at: 20))
        breaker.succeed()
        #expect(breaker.admits(6, at: 20) && breaker.admits(7, at: 20))
    }

    @Test func aLaneKeepsItsOrderWhileTheDatabaseIsAway() {
        let world = Harness()
        world.assign([messages])
        let outage: [Outcome] = Array(repeating: .unavailable("away", retryAfter: nil), count: 6)
        world.patchOutcomes = outage
        for number in 0..<4 { world.consume(messages, messageValue("{\"n\":\(number)}")) }
        for _ in 0..<200 { world.wait(milliseconds: 500) }
        // What the database took: each once, in their order.
        let taken = world.acceptedData.compactMap { $0["events/a_b/c/messages"] }
        let context = #""eventContext":{"event_name":"A.B"}"#
        #expect(taken == (0..<4).map { #"{"message":{"n":\#($0)},"# + context + "}" })
        // Three attempts until the breaker opens; what fails then is the small write.
        #expect(world.allData.compactMap { $0["events/a_b/c/messages"] }.count == 7)
        #expect(world.commits.last == [TopicPartition(messages, 0): 4])
    }

    /// The database fails at the data of a lane, or at whatever the lane writes.
    @Test(arguments: ["streaming/c/", "%2F{message_sequence}/0\":"])
    func aLaneThatFailsForEverHoldsUpNoOther(_ failing: String) {
        let world = Harness()
        let (stuck, free) = (TopicPartition(chunks, 0), TopicPartition(chunks, 1))
        world.bridge.assign([stuck, free], at: world.now)
        world.run()
        let start = world.now.monotonic
        func seconds() -> Int64 { (world.now.monotonic - start) / 1_000_000_000 }
        world.verdict = { body in
            body.contains(failing) ? .unavailable("HTTP 500", retryAfter: nil) : nil
        }
        for index in 0..<20 {
            let value = chunkValue(#""chunk_index":\#(index)"#)
            world.consume(chunks, partition: 0, value)
            world.consume(chunks, partition: 1, value.replacing(#""c""#, with: #""d""#))
            // The greatest wait between two attempts is 30 s.
            let due = seconds() + 31
            while world.commits.last?[free] != Int64(index + 1), seconds() < due {
                world.wait(milliseconds: 500)
            }
            #expect(world.commits.last?[free] == Int64(index + 1), "\(seconds()) s")
        }
        #expect(world.commits.allSatisfy { ($0[stuck] ?? 0) == 0 })
        #expect(world.deadLetters.isEmpty)
        #expect(!world.accepted.contains { $0.contains("streaming/c/") })
        #expect(
            world.bridge.report(at: world.now).notReady.contains { $0.hasSuffix("HTTP 500") })
        world.verdict = { _ in nil }
        for _ in 0..<100 where world.commits.last?[stuck] != 20 { world.wait(milliseconds: 500) }
        #expect(world.commits.last?[stuck] == 20)
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func retryAfterHoldsTheNextAttempt() {
        let world = Harness()
        world.assign([messages])
        world.patchOutcomes = [.unavailable("busy", retryAfter: .seconds(20))]
        world.consume(messages, messageValue("{}"))
        let before = world.patches.count
        world.wait(milliseconds: 19_000)
        #expect(world.patches.count == before)
        world.wait(milliseconds: 1_500)
        #expect(world.patches.count > before)
    }

    static let answers: [(Int, String, String)] = [
        (200, "", "done"), (204, "", "done"), (401, "", "auth"), (401, "x", "auth"),
        (401, "Permission denied", "refused"), (402, "", "unavailable"), (408, "", "unavailable"),
        (421, "", "unavailable"), (423, "", "unavailable"), (425, "", "unavailable"),
        (429, "", "unavailable"), (500, "", "unavailable"), (503, "", "unavailable"),
        (301, "", "unavailable"), (308, "", "unavailable"), (418, "", "unavailable"),
        (410, "", "unavailable"), (100, "", "unavailable"), (400, "bad", "refused"),
        (403, "", "refused"), (404, "", "refused"), (405, "", "refused"), (409, "", "refused"),
        (411, "", "refused"), (412, "", "refused"), (413, "", "refused"), (414, "", "refused"),
        (415, "", "refused"), (422, "", "refused"),
        (
            400,
            "Data to write exceeds the maximum size that can be modified with a single request.",
            "big"
        ),
    ]

    @Test(arguments: answers) func anAnswerHasItsClass(
        _ status: Int, _ error: String, _ name: String
    ) {
        let body = Array(#"{"error":"\#(error)"}"#.utf8)
        let found =
            switch Outcome.classify(status: status, body: body, now: 0) {
            case .done: "done"
            case .unauthorized: "auth"
            case .unavailable, .unanswered: "unavailable"
            case .tooBig: "big"
            case .refused: "refused"
            }
        #expect(found == name)
    }

    @Test(arguments: [
        ("7", Duration.seconds(7)), ("0", .zero), ("100000", .seconds(86_400)), ("x", nil),
        ("-1", nil), ("Sun, 06 Nov 1994 08:49:40 GMT", .seconds(3)),
        ("Sun, 06 Nov 1994 08:49:30 GMT", .zero), ("", nil),
    ])
    func retryAfterIsSecondsOrADate(_ header: String, _ expected: Duration?) {
        let outcome = Outcome.classify(
            status: 429, body: [], retryAfter: header, date: "Sun, 06 Nov 1994 08:49:37 GMT", now: 0
        )
        guard case .unavailable(_, let wait) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(wait == expected)
    }
}
