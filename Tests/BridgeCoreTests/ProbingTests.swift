import Testing

@testable import BridgeCore

@Suite("A batch without an answer: a probe first, then whole or in halves, or not at all")
struct ProbingTests {
    private func chunk(_ index: Int, _ content: String = "x") -> String {
        chunkValue(
            #""chunk_index":\#(index),"content":"\#(content)","timestamp":"2026-01-01T00:00:00Z""#)
    }

    /// A world with a first chunk written and eight more in one batch that waits for the wire.
    private func worldWithBatch(_ content: String = "x") -> Harness {
        // Without the agenda's reads, which succeed.
        var settings = Settings()
        settings.stallAfter = .zero
        settings.keep = .zero
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.holdsPatches = true
        world.consume(chunks, chunk(0))
        for index in 1...8 { world.consume(chunks, chunk(index, content)) }
        world.holdsPatches = false
        return world
    }

    private func pass(_ world: Harness, seconds: Int = 600, until isReached: () -> Bool) -> Bool {
        for _ in 0..<seconds * 2 where !isReached() { world.wait(milliseconds: 500) }
        return isReached()
    }

    private func serials(_ patches: some Sequence<String>) -> [Int] {
        patches.compactMap { patch in
            patch.split(separator: #""serial":"#).dropFirst().first.flatMap {
                Int($0.prefix { $0.isNumber })
            }
        }
    }

    private func isSmall(_ patch: String) -> Bool { Harness.data(of: patch).isEmpty }

    private let watermark = StateLayout.watermark(
        group: Array("firebridge".utf8), topic: Key.escape(Array(chunks.utf8)), partition: 0)

    private var watermarkPath: String { String(decoding: watermark, as: UTF8.self) }

    @Test(
        "After no answer the fence goes alone, then the watermark is read, then the batch is whole")
    func once() throws {
        let world = worldWithBatch()
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        world.answers[watermarkPath] = #"{"next":9,"cluster":"k"}"#
        world.patchOutcomes = [.unanswered("timeout", retryAfter: nil)]
        world.consume(chunks, chunk(9))
        let unanswered = try #require(world.patches.last)
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 10] })
        let after = world.patches.suffix(3)
        #expect(after.map(isSmall) == [false, true, false])
        #expect(after.first == unanswered)
        #expect(Harness.data(of: unanswered) == Harness.data(of: after.last!))
        // The acknowledged watermark would take back what may have landed.
        #expect(after.dropLast().last?.contains("watermarks") == false)
        #expect(world.reads.last == watermarkPath)
        #expect(!world.notices.contains("batch_split"))
    }

    @Test("A batch that had landed all the same is not sent again")
    func landed() {
        let world = worldWithBatch()
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        world.answers[watermarkPath] = #"{"next":10,"cluster":"k"}"#
        world.patchOutcomes = [.unanswered("timeout", retryAfter: nil)]
        world.consume(chunks, chunk(9))
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 10] })
        #expect(world.patches.suffix(2).map(isSmall) == [false, true])
        world.consume(chunks, chunk(10))
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 11] })
    }

    @Test("One that was refused after an attempt without an answer is looked for, too")
    func refusedInDoubt() {
        let world = worldWithBatch()
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        world.answers[watermarkPath] = #"{"next":10,"cluster":"k"}"#
        world.patchOutcomes = [
            .unavailable("HTTP 502", retryAfter: nil), .refused(status: 400, "no"),
        ]
        world.consume(chunks, chunk(9))
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 10] })
        #expect(world.patches.last?.contains("watermarks") == false)
        #expect(world.deadLetters.isEmpty)
    }

    @Test("Each new one raises the fence's serial, so that what lands late is refused")
    func serialsRise() {
        let world = worldWithBatch()
        world.answerHeld()
        world.patchOutcomes = [
            .unanswered("timeout", retryAfter: nil), .unanswered("timeout", retryAfter: nil),
            .done(body: [], date: nil),
        ]
        world.consume(chunks, chunk(9))
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 10] })
        // The small write, not answered either, is sent again as it was.
        let found = serials(world.patches.suffix(4))
        #expect(found[1] == found[0] + 1 && found[2] == found[1] && found[3] == found[2] + 1)
    }

    @Test("A batch that is never answered while the small write is goes in halves, in order")
    func halves() {
        let world = worldWithBatch(String(repeating: "y", count: 400))
        var sizes: [Int] = []
        world.verdict = { body in
            guard body.utf8.count > 1500 else { return nil }
            sizes.append(body.utf8.count)
            return .unanswered("timeout", retryAfter: nil)
        }
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        #expect(world.notices.contains("batch_split"))
        #expect(world.deadLetters.isEmpty)
        // Twice whole, then each half once.
        #expect(sizes.count >= 3 && sizes[0] == sizes[1] && sizes[2] < sizes[1])
    }

    @Test("A single record without an answer is sent for ever, more and more slowly")
    func alone() {
        let world = Harness()
        world.assign([chunks])
        world.verdict = { body in
            body.contains("streaming/c") ? .unanswered("timeout", retryAfter: nil) : nil
        }
        world.consume(chunks, chunk(0))
        _ = pass(world, seconds: 300) { false }
        let tries = world.allData.count
        #expect(world.deadLetters.isEmpty && (8...40).contains(tries), "\(tries)")
        world.verdict = { _ in nil }
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 1] })
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test("An outage without answers halves nothing: the small write waits it out")
    func outage() {
        let world = worldWithBatch()
        var isAway = true
        world.verdict = { _ in isAway ? .unanswered("timeout", retryAfter: nil) : nil }
        world.answerHeld()
        let before = world.allData.count
        _ = pass(world, seconds: 200) { false }
        #expect(world.allData.count == before, "only small writes go while it is away")
        isAway = false
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        #expect(!world.notices.contains("batch_split"))
        #expect(world.allData.count == before + 1)
        #expect(world.bridge.lanes.allSatisfy { $0.size.limit == Settings().batchBytesMax })
    }

    @Test("What fails while probes pass is tried again more and more slowly")
    func failsBesideProbes() {
        let world = worldWithBatch()
        world.verdict = { body in
            isSmall(body) ? nil : .unavailable("HTTP 503", retryAfter: nil)
        }
        world.answerHeld()
        _ = pass(world, seconds: 300) { false }
        #expect((8...40).contains(world.allData.count), "\(world.allData.count)")
    }

    @Test("A slow link costs a few time-outs, not one for each batch of a backlog")
    func slowLink() {
        var settings = Settings()
        settings.stallAfter = .zero
        settings.keep = .zero
        let world = Harness(settings: settings)
        world.assign([chunks])
        world.holdsPatches = true
        let long = String(repeating: "w", count: 2_000)
        for index in 0..<400 { world.consume(chunks, chunk(index, long)) }
        world.holdsPatches = false
        var timeouts = 0
        world.verdict = { body in
            guard body.utf8.count > 20_000 else { return nil }
            timeouts += 1
            return .unanswered("timeout", retryAfter: nil)
        }
        world.answerHeld()
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 400] })
        #expect(timeouts <= 12, "\(timeouts)")
    }

    @Test("The half-open breaker lets a probe through, not a batch")
    func halfOpen() {
        let world = worldWithBatch()
        var isAway = true
        world.verdict = { _ in isAway ? .unavailable("HTTP 503", retryAfter: nil) : nil }
        world.answerHeld()
        for _ in 0..<10 { world.wait(milliseconds: 500) }
        let start = world.patches.count
        _ = pass(world, seconds: 60) { false }
        #expect(world.patches.count > start)
        #expect(world.patches[start...].allSatisfy(isSmall))
        isAway = false
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
    }

    @Test("A small write that is refused asks whose the fences are")
    func refused() {
        let world = worldWithBatch()
        world.verdict = { body in
            body.contains("streaming/c")
                ? .unanswered("timeout", retryAfter: nil)
                : .refused(status: 401, "Permission denied")
        }
        world.answerHeld()
        #expect(pass(world) { world.notices.contains("database_refuses_everything") })
        world.verdict = { _ in nil }
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 9] })
        #expect(world.deadLetters.isEmpty)
    }

    @Test("A refusal counts nothing where the database was away before the probe was accepted")
    func awayBetween() {
        let world = Harness()
        world.assign([chunks])
        let away: [Outcome] = [
            .refused(status: 403, "no"), .unavailable("HTTP 503", retryAfter: nil),
            .done(body: [], date: nil),
        ]
        world.patchOutcomes = away + away + away
        world.consume(chunks, chunk(0))
        #expect(pass(world) { world.commits.last == [TopicPartition(chunks, 0): 1] })
        #expect(world.deadLetters.isEmpty)
    }

    @Test("A record is rejected with what the database said of it")
    func reason() {
        let world = Harness()
        world.assign([chunks])
        world.verdict = {
            $0.contains("streaming/c") ? .refused(status: 400, "HTTP 400: bad chunk") : nil
        }
        world.consume(chunks, chunk(0))
        #expect(pass(world) { !world.deadLetters.isEmpty })
        #expect(world.deadLetters.map(\.rejection.message) == ["HTTP 400: bad chunk"])
    }
}

@Suite("The size of a lane's batches follows what the path takes")
struct BatchSizeTests {
    @Test("It is halved by a failure, from what was sent, down to 16 KiB")
    func shrinks() {
        var size = BatchSize(most: 1 << 20)
        size.shrink(from: 1 << 20)
        #expect(size.limit == 1 << 19)
        size.shrink(from: 100_000)
        #expect(size.limit == 50_000)
        for _ in 0..<20 { size.shrink(from: 10) }
        #expect(size.limit == 16 << 10)
    }

    @Test("A configured limit below that stays as it is")
    func small() {
        var size = BatchSize(most: 1000)
        size.shrink(from: 10)
        #expect(size.limit == 1000)
    }

    @Test("Eight accepted batches that half fill it double it, up to the configured limit")
    func grows() {
        var size = BatchSize(most: 100_000)
        size.shrink(from: 40_000)
        for _ in 0..<7 { size.grow(after: 10_000) }
        #expect(size.limit == 20_000)
        size.grow(after: 9_999)
        #expect(size.limit == 20_000)
        size.grow(after: 20_000)
        #expect(size.limit == 40_000)
        for _ in 0..<100 { size.grow(after: size.limit) }
        #expect(size.limit == 100_000)
    }

    @Test("A failure between begins the count anew")
    func between() {
        var size = BatchSize(most: 1 << 20)
        size.shrink(from: 200_000)
        for _ in 0..<7 { size.grow(after: 100_000) }
        size.shrink(from: 100_000)
        size.grow(after: 50_000)
        #expect(size.limit == 50_000)
    }

    @Test("After a batch that was too big the next ones are smaller")
    func lane() {
        let world = Harness()
        world.assign([chunks])
        world.holdsPatches = true
        let long = String(repeating: "z", count: 2_000)
        for index in 0..<20 {
            world.consume(
                chunks,
                chunkValue(
                    #""chunk_index":\#(index),"content":"\#(long)","timestamp":"2026-01-01T00:00:00Z""#
                ))
        }
        world.verdict = { $0.utf8.count > 20_000 ? .tooBig("exceeds") : nil }
        world.holdsPatches = false
        world.answerHeld()
        for _ in 0..<60 { world.wait(milliseconds: 500) }
        #expect(world.commits.last == [TopicPartition(chunks, 0): 20])
        #expect(world.bridge.lanes.contains { $0.size.limit < 25_000 })
    }

    @Test("A record that is too big alone tells nothing of the next ones")
    func lone() {
        let world = Harness()
        world.assign([chunks])
        world.verdict = { $0.contains("zzz") ? .tooBig("exceeds") : nil }
        world.consume(
            chunks,
            chunkValue(
                #""chunk_index":0,"content":"zzz","timestamp":"2026-01-01T00:00:00Z""#))
        for _ in 0..<10 { world.wait(milliseconds: 500) }
        #expect(world.deadLetters.map(\.rejection.reason) == [.tooLarge])
        #expect(world.bridge.lanes.allSatisfy { $0.size.limit == Settings().batchBytesMax })
    }
}
