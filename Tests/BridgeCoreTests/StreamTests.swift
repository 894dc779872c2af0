import JSON
import Oracle
import Testing

@testable import BridgeCore

/// Contract section 2, "Meta", "The end bounds the stream" and "Regeneration", on streams alone.
@Suite struct StreamTests {
    /// A stream and the node that its changes leave in the tree.
    struct Shown {
        var stream = Stream(sequence: 8)
        var chunks: [Int64: [UInt8]] = [:]
        var meta: [UInt8]?
        var late = 0
        private var offset: Int64 = 0

        mutating func chunk(
            _ run: String, _ index: Int64, _ time: Int, final: RunStatus? = nil
        ) {
            let stamp = TimeText(milliseconds: Int64(time) * 1000)
            let end = final.map {
                RunEnd(
                    status: $0, finishedAt: stamp,
                    errorMessage: $0 == .error ? Array("\"failed\"".utf8) : nil)
            }
            let facts = ChunkFacts(
                conversation: Array("c".utf8), sequence: 8, run: Array(run.utf8), index: index,
                byArrival: false, time: stamp, end: end, leaf: Array("\(run)/\(index)/\(time)".utf8))
            offset += 1
            do throws(Rejection) {
                take(try stream.apply(facts, offset: offset), facts.leaf)
            } catch {
                Issue.record("\(error)")
            }
        }

        mutating func marker(_ run: String, _ status: RunMarker, _ time: Int) {
            let stamp = TimeText(milliseconds: Int64(time) * 1000)
            take(
                stream.apply(
                    MarkerFacts(
                        sequence: 8, run: Array(run.utf8), time: stamp,
                        end: status.end(at: stamp, message: nil))), nil)
        }

        mutating func take(_ changes: Stream.Changes, _ leaf: [UInt8]?) {
            if changes.isLate { late += 1 }
            if changes.isFresh { chunks = [:] }
            if let index = changes.chunk { chunks[index] = leaf }
            for index in changes.deleted { chunks[index] = nil }
            if changes.meta { meta = stream.meta?.json }
        }

        /// The stream as another owner takes it up from the tree.
        mutating func restart() throws {
            let entry = try stream.ledgerEntry().map { try JSONParserForTests.parse($0.json) }
                .flatMap(LedgerEntry.init(reading:))
            guard let entry else { return stream = Stream(sequence: 8) }
            let tape = try JSONParserForTests.parse(meta ?? Array("null".utf8))
            stream = Stream(adopting: entry, meta: StreamMeta(reading: tape), sequence: 8)
            if stream.needsWrittenIndexes { chunks.keys.forEach { stream.noteWritten($0) } }
        }

        var text: String { meta.map { String(decoding: $0, as: UTF8.self) } ?? "" }
        func has(_ member: String) -> Bool { text.contains(member) }
    }

    @Test func theFirstChunkOrMarkerOpensTheStream() {
        var it = Shown()
        it.chunk("r", 3, 5)
        #expect(
            it.text
                == #"{"run_id":"r","status":"streaming","started_at":"1970-01-01T00:00:05.000Z"}"#)
        var other = Shown()
        other.marker("r", .started, 5)
        #expect(other.text == it.text)
    }

    @Test func startedAtIsTheMarkersTimeElseTheEarliestChunks() {
        var it = Shown()
        it.chunk("r", 1, 9)
        it.chunk("r", 0, 7)
        #expect(it.has("00:00:07"))
        it.marker("r", .started, 8)
        #expect(it.has(#""started_at":"1970-01-01T00:00:08"#))
        it.chunk("r", 2, 3)
        it.marker("r", .started, 1)
        #expect(it.has(#""started_at":"1970-01-01T00:00:08"#))
    }

    @Test func aTerminalMarkerOutranksAFinalChunkWhicheverComesFirst() {
        for isMarkerFirst in [true, false] {
            var it = Shown()
            it.chunk("r", 0, 1)
            if isMarkerFirst { it.marker("r", .failed, 5) }
            it.chunk("r", 1, 2, final: .complete)
            if !isMarkerFirst { it.marker("r", .failed, 5) }
            #expect(it.has(#""status":"error""#) && it.has(#""finished_at":"1970-01-01T00:00:05"#))
            #expect(it.has(#""error_message":"failed""#))
            it.marker("r", .completed, 6)
            #expect(it.has(#""status":"error""#))
            #expect(it.chunks.keys.sorted() == [0, 1])
        }
    }

    @Test func theFirstFinalChunkCountsWithoutAMarker() {
        var it = Shown()
        it.chunk("r", 0, 1, final: .error)
        it.chunk("r", 0, 2, final: .complete)
        #expect(it.has(#""status":"error""#) && it.has(#""finished_at":"1970-01-01T00:00:01"#))
    }

    @Test func nothingTurnsAFinishedRunBackToStreaming() {
        var it = Shown()
        it.chunk("r", 5, 1)
        it.marker("r", .completed, 2)
        it.marker("r", .started, 0)
        it.chunk("r", 6, 3)
        #expect(it.has(#""status":"complete""#))
        #expect(it.chunks.keys.sorted() == [5, 6])
    }

    @Test func theFirstFinalChunkIsTheLastIndex() {
        var it = Shown()
        for index: Int64 in [0, 1, 2, 7, 9] { it.chunk("r", index, 1) }
        it.chunk("r", 2, 2, final: .complete)
        #expect(it.chunks.keys.sorted() == [0, 1, 2])
        it.chunk("r", 3, 3)
        it.chunk("r", 5, 3, final: .complete)
        #expect(it.late == 2 && it.chunks.keys.sorted() == [0, 1, 2])
        it.chunk("r", 1, 4)
        #expect(it.chunks[1] == Array("r/1/4".utf8))
    }

    @Test func missingChunksAreCountedAtTheEnd() throws {
        var it = Shown()
        it.chunk("r", 0, 1)
        it.chunk("r", 4, 1)
        let facts = ChunkFacts(
            conversation: [], sequence: 8, run: Array("r".utf8), index: 6, byArrival: false,
            time: TimeText(milliseconds: 0), end: RunEnd(status: .complete), leaf: [])
        #expect(try it.stream.apply(facts, offset: 9).gaps == 4)
    }

    @Test func theLaterBirthIsTheNewerRunAndAtATieTheGreaterId() {
        var it = Shown()
        it.chunk("b", 0, 5)
        it.chunk("b", 1, 6)
        it.chunk("a", 0, 5)
        #expect(it.has(#""run_id":"b""#) && it.late == 1)
        it.chunk("c", 2, 5)
        #expect(it.has(#""run_id":"c""#) && it.chunks.keys.sorted() == [2])
        it.chunk("b", 2, 9)
        #expect(it.has(#""run_id":"c""#) && it.late == 2)
    }

    @Test func aRunOfWhichOnlyItsEndIsKnownIsOlderThanAnyWithABirth() {
        var it = Shown()
        it.marker("z", .completed, 9)
        #expect(it.has(#""run_id":"z""#) && it.has(#""status":"complete""#))
        it.chunk("a", 0, 1)
        #expect(it.has(#""run_id":"a""#) && it.has(#""status":"streaming""#))
    }

    @Test func ofTwoRunsOfWhichOnlyTheEndsAreKnownTheLaterEndIsTheNewer() {
        for order in [["a", "b"], ["b", "a"]] {
            var it = Shown()
            for run in order { it.marker(run, .completed, run == "b" ? 2 : 1) }
            #expect(it.has(#""run_id":"b""#))
        }
    }

    @Test func anEndSeenBeforeItsRunsBirthIsKeptUntilTheBirthDecides() {
        var it = Shown()
        it.chunk("a", 0, 1)
        it.marker("b", .cancelled, 9)
        #expect(it.has(#""run_id":"a""#))
        it.chunk("b", 0, 5)
        #expect(
            it.has(#""run_id":"b""#) && it.has(#""status":"error""#)
                && it.has(#""error_message":"cancelled""#))
    }

    @Test func aSupersededRunNeverWinsAgain() throws {
        var it = Shown()
        it.chunk("a", 0, 1)
        it.chunk("b", 0, 2)
        try it.restart()
        it.chunk("a", 1, 9)
        it.marker("a", .started, 99)
        it.marker("a", .completed, 100)
        #expect(it.has(#""run_id":"b""#) && it.late == 3)
    }

    @Test func aStalledRunRevives() throws {
        for restarts in [false, true] {
            var it = Shown()
            it.chunk("r", 0, 1)
            it.take(it.stream.stall(at: 60_000), nil)
            #expect(
                it.has(#""status":"error""#) && it.has(#""error_message":"stalled""#)
                    && it.has(#""finished_at":"1970-01-01T00:01:00.000Z""#))
            if restarts { try it.restart() }
            it.chunk("r", 1, 2)
            #expect(
                it.text
                    == #"{"run_id":"r","status":"streaming","started_at":"1970-01-01T00:00:01.000Z"}"#)
            it.chunk("r", 2, 3, final: .complete)
            #expect(it.has(#""status":"complete""#) && it.chunks.count == 3)
        }
    }

    @Test func aTerminalMarkerOutranksAStall() {
        var it = Shown()
        it.chunk("r", 0, 1)
        it.take(it.stream.stall(at: 60_000), nil)
        it.marker("r", .completed, 2)
        #expect(it.has(#""status":"complete""#) && !it.has("stalled"))
    }

    @Test func recordsOfARemovedRunAreLateAndANewerRunBeginsAnew() throws {
        for restarts in [false, true] {
            var it = Shown()
            it.chunk("r", 0, 1, final: .complete)
            #expect(it.stream.remove(at: 5).ledger)
            it.chunks = [:]
            it.meta = nil
            if restarts { try it.restart() }
            it.chunk("r", 0, 1)
            it.marker("r", .completed, 2)
            #expect(it.late == 2 && it.meta == nil && it.chunks.isEmpty)
            it.chunk("s", 0, 3)
            #expect(it.has(#""run_id":"s""#) && it.chunks.count == 1)
        }
    }

    /// Everything that a conversation's records may say of a stream, cut at any point.
    @Test func cutAnywhereAndTakenUpFromTheTreeAStreamEndsTheSame() throws {
        var random = SplitMix64(seed: 11)
        for _ in 0..<3000 {
            var whole = Shown()
            var cut = Shown()
            let births = ["a": 10, "b": random.pick([10, 20]), "c": 30]
            for _ in 0..<random.int(1..<16) {
                let run = random.pick(["a", "a", "b", "c"])
                let time = births[run]! + random.int(0..<6)
                let index = Int64(random.int(0..<6))
                let kind = random.int(0..<12)
                let final: RunStatus? = random.chance(0.15) ? random.pick([.complete, .error]) : nil
                for isCut in [false, true] {
                    var it = isCut ? cut : whole
                    if isCut, random.chance(0.4) { try it.restart() }
                    switch kind {
                    case 0: it.marker(run, .started, time)
                    case 1: it.marker(run, .completed, time)
                    case 2: it.marker(run, .failed, time)
                    case 3: it.take(it.stream.stall(at: Int64(time) * 1000), nil)
                    case 4 where it.stream.endedBy != nil && it.stream.run != nil:
                        if it.stream.remove(at: 1).ledger {
                            it.chunks = [:]
                            it.meta = nil
                        }
                    default: it.chunk(run, index, time, final: final)
                    }
                    if isCut { cut = it } else { whole = it }
                }
                #expect(cut.text == whole.text)
                #expect(cut.chunks == whole.chunks)
                #expect(cut.late == whole.late)
                #expect(cut.stream.ledgerEntry()?.json == whole.stream.ledgerEntry()?.json)
            }
        }
    }
}
