import Oracle
import Testing

@testable import BridgeCore

@Suite struct OffsetLedgerTests {
    @Test func theWatermarkIsTheLowestOffsetStillUnsettled() {
        var ledger = OffsetLedger(resumingAt: 10)
        #expect(ledger.isDone && !ledger.isBehind())
        for offset: Int64 in [10, 11, 14] { ledger.read(offset) }
        #expect(ledger.watermark() == 10)
        #expect(ledger.watermark(through: 11) == 12)
        ledger.settle(through: 14)
        #expect(ledger.watermark() == 15 && ledger.isBehind())
        ledger.acknowledge(15)
        #expect(!ledger.isBehind() && !ledger.isDone)
        ledger.commit(15)
        #expect(ledger.isDone)
    }

    @Test func aRecordWhoseDeadLetterIsNotAcknowledgedHoldsIt() {
        var ledger = OffsetLedger(resumingAt: 0)
        for offset: Int64 in 0..<6 { ledger.read(offset) }
        ledger.hold(4)
        ledger.hold(2)
        ledger.hold(2)
        ledger.settle(through: 5)
        #expect(ledger.watermark() == 2)
        #expect(ledger.watermark(through: 0) == 2)
        ledger.release(2)
        #expect(ledger.watermark() == 4)
        ledger.release(4)
        #expect(ledger.watermark() == 6)
    }

    @Test func nothingGoesBack() {
        var ledger = OffsetLedger(resumingAt: 5)
        ledger.settle(through: 3)
        ledger.acknowledge(4)
        ledger.commit(1)
        #expect(ledger.watermark() == 5 && ledger.acknowledged == 5 && ledger.committed == 5)
        #expect(!ledger.expects(4) && ledger.expects(5) && ledger.expects(9))
    }
}

/// Contract section 7, the rules of the watermark, and section 3, `start` and `on_gap`.
@Suite struct ResumePointTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var committed: Int64?
        var marked = true
        var watermark: Int64?
        var cluster: String? = "k"
        var start = StartPolicy.earliest
        var onGap = GapPolicy.earliest
        var offset: Int64?
        var events: [String] = []
        var sets = false
        var commits = false
        var isGap = false
        var testDescription: String { name }
    }

    // The log holds 100 to 199; the next offset is 200; the cluster is k.
    static let cases: [Case] = [
        Case(name: "nothing known, earliest", offset: 100, sets: true, commits: true),
        Case(name: "nothing known, latest", start: .latest, offset: 200, sets: true, commits: true),
        Case(
            name: "nothing known, a time", start: .time(1), offset: 150, sets: true, commits: true),
        Case(name: "nothing known, error", start: .error),
        Case(name: "watermark and commit agree", committed: 150, watermark: 150, offset: 150),
        Case(
            name: "the commit is behind the watermark", committed: 140, watermark: 150, offset: 150,
            commits: true),
        Case(
            name: "the database was set back", committed: 160, watermark: 150, offset: 150,
            events: ["database_set_back"], commits: true),
        Case(
            name: "no commit", committed: nil, watermark: 150, offset: 150,
            events: ["commit_missing"], commits: true),
        Case(
            name: "no commit, start does not matter", committed: nil, watermark: 150, start: .error,
            offset: 150, events: ["commit_missing"], commits: true),
        Case(
            name: "no watermark beside a marked commit", committed: 150, offset: 150,
            events: ["watermark_missing"], sets: true),
        Case(
            name: "no watermark beside an operator's commit", committed: 150, marked: false,
            offset: 150, sets: true, commits: true),
        Case(
            name: "an operator went up", committed: 170, marked: false, watermark: 150, offset: 170,
            sets: true, commits: true),
        Case(
            name: "an operator went down", committed: 120, marked: false, watermark: 150,
            offset: 120, sets: true, commits: true),
        Case(
            name: "an operator confirmed", committed: 150, marked: false, watermark: 150,
            offset: 150, commits: true),
        Case(
            name: "another cluster's watermark beside a commit", committed: 130, watermark: 150,
            cluster: "other", offset: 130, events: ["watermark_of_another_cluster"], sets: true),
        Case(
            name: "another cluster's watermark alone", watermark: 150, cluster: "other",
            offset: 100, events: ["watermark_of_another_cluster"], sets: true, commits: true),
        Case(
            name: "another cluster's watermark that happens to agree", committed: 150,
            watermark: 150, cluster: "other", offset: 150,
            events: ["watermark_of_another_cluster"], sets: true),
        Case(
            name: "a watermark without cluster", committed: 150, watermark: 150, cluster: nil,
            offset: 150),
        Case(
            name: "a watermark beyond the end", committed: 150, watermark: 201, offset: 150,
            events: ["watermark_beyond_end"], sets: true),
        Case(
            name: "a watermark beyond the end, alone", watermark: 201, start: .latest, offset: 200,
            events: ["watermark_beyond_end"], sets: true, commits: true),
        Case(name: "a watermark at the end", committed: 200, watermark: 200, offset: 200),
        Case(
            name: "a gap, earliest", committed: 50, watermark: 50, offset: 100,
            events: ["log_gap"], sets: true, commits: true, isGap: true),
        Case(
            name: "a gap, latest", committed: 50, watermark: 50, onGap: .latest, offset: 200,
            events: ["log_gap"], sets: true, commits: true, isGap: true),
        Case(
            name: "a gap, halt", committed: 50, watermark: 50, onGap: .halt, events: ["log_gap"],
            isGap: true),
        Case(
            name: "an operator's offset that is gone", committed: 99, marked: false, watermark: 150,
            offset: 100, events: ["log_gap"], sets: true, commits: true, isGap: true),
        Case(
            name: "set back into a gap", committed: 150, watermark: 60, offset: 100,
            events: ["database_set_back", "log_gap"], sets: true, commits: true, isGap: true),
        Case(name: "the first offset of the log", committed: 100, watermark: 100, offset: 100),
    ]

    @Test(arguments: cases) func aPartitionResumes(_ it: Case) {
        var settings = Settings()
        settings.start = it.start
        settings.onGap = it.onGap
        let known = PartitionPositions(
            low: 100, high: 200, committed: it.committed,
            metadata: it.marked && it.committed != nil ? Bridge.commitMark : "",
            atStartTime: 150, clusterID: "k")
        let watermark = it.watermark.map {
            Watermark(next: $0, cluster: it.cluster.map { Array($0.utf8) })
        }
        let point = ResumePoint(
            of: TopicPartition("t", 0), known: known, watermark: watermark, settings: settings)
        #expect(point.offset == it.offset)
        #expect((point.halt == nil) == (it.offset != nil))
        #expect(point.notices.map(\.event) == it.events)
        #expect(
            point.notices.allSatisfy { $0.level == ($0.event == "commit_missing" ? .warn : .error) }
        )
        #expect(point.setsWatermark == it.sets)
        #expect(point.commits == it.commits)
        #expect(point.isGap == it.isGap)
    }

    @Test func aMarkOfAnyVersionOfTheBridgeIsItsOwn() {
        for (metadata, isOwn) in [
            ("firebridge/1", true), ("firebridge/2", true), ("", false), ("x", false),
        ] {
            let known = PartitionPositions(
                low: 0, high: 200, committed: 20, metadata: metadata, clusterID: "k")
            let point = ResumePoint(
                of: TopicPartition("t", 0), known: known,
                watermark: Watermark(next: 30, cluster: nil), settings: Settings())
            #expect(point.offset == (isOwn ? 30 : 20))
        }
    }
}

@Suite struct LedgerEntryTests {
    @Test func anEntryIsReadBackAsItWasWritten() throws {
        func time(_ text: String) -> TimeText {
            TimeText(json: Array("\"\(text)\"".utf8), instant: Timestamp(Array(text.utf8))!)
        }
        let end = RunEnd(
            status: .error, finishedAt: time("2026-01-01T00:00:00+02:00"),
            errorMessage: Array(#""a \"b\"""#.utf8))
        let runs = ["0", "1", "2", "", "%", "a.b/é", "\u{1}"].map { Array($0.utf8) }
        let entry = LedgerEntry(
            run: Array("r.\"1".utf8), birth: time("2026-01-01T00:00:00.123456789Z"), isMarked: true,
            endedBy: .stall, last: .max, endedAt: 5, removedAt: 6, superseded: Set(runs),
            earlyEnds: Dictionary(uniqueKeysWithValues: runs.map { ($0, end) }),
            arrival: .init(first: 1, next: 2, count: 3), finishedAt: time("2026-01-02T00:00:00Z"))
        let back = try #require(
            LedgerEntry(reading: try JSONParserForTests.parse(entry.json)))
        #expect(back.json == entry.json)
        #expect(back.superseded == entry.superseded)
        #expect(back.earlyEnds == entry.earlyEnds)
        #expect(back.arrival == entry.arrival)
        #expect(back.birth == entry.birth && back.finishedAt == entry.finishedAt)
    }

    @Test(arguments: ["null", "7", "[]", "{}", #"{"run":7}"#, #"{"birth":"x"}"#])
    func whatIsNoEntryIsAbsent(_ json: String) throws {
        #expect(LedgerEntry(reading: try JSONParserForTests.parse(json)) == nil)
    }

    @Test func foreignMembersOfAnEntryDoNoHarm() throws {
        let json =
            #"{"run":"r","birth":7,"marked":"x","end":"z","last":"8","at":{},"old":"x","ends":[null,7],"arrival":{"first":1}}"#
        let entry = try #require(LedgerEntry(reading: try JSONParserForTests.parse(json)))
        #expect(entry.birth == nil && entry.endedBy == nil && entry.last == nil)
        #expect(entry.superseded.isEmpty && entry.arrival == nil)
    }
}
