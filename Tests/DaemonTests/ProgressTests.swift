import Testing

@testable import Daemon

@Suite("Progress: what a sign of life to the watchdog stands for") struct ProgressTests {
    private static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }

    /// A loop that turns each second from 0 to the second before `end`.
    private func turning(_ progress: inout Progress, until end: Int64) {
        for second in 0..<end { progress.turned(at: Self.seconds(second)) }
    }

    @Test("Who is asked nothing owes nothing")
    func idle() {
        var progress = Progress(topics: 3)
        turning(&progress, until: 1000)
        #expect(progress.wedged(at: Self.seconds(1000), overdue: nil) == nil)
    }

    @Test("A client that neither answers nor refuses in all its time is wedged, not before")
    func kafka() {
        var progress = Progress(topics: 3)
        turning(&progress, until: 100)
        progress.kafkaAsked(at: Self.seconds(0))
        #expect(progress.wedged(at: Self.seconds(90), overdue: nil) == nil)
        #expect(progress.wedged(at: Self.seconds(91), overdue: nil)?.contains("Kafka") == true)
    }

    @Test("A refusal is an answer, and with more questions open the time begins anew")
    func answers() {
        var progress = Progress(topics: 3)
        turning(&progress, until: 200)
        progress.kafkaAsked(at: 0)
        progress.kafkaAsked(at: Self.seconds(10))
        progress.kafkaAnswered(owes: true, at: Self.seconds(80))
        #expect(progress.wedged(at: Self.seconds(165), overdue: nil) == nil)
        #expect(progress.wedged(at: Self.seconds(171), overdue: nil) != nil)
        progress.kafkaAnswered(owes: false, at: Self.seconds(172))
        #expect(progress.wedged(at: Self.seconds(190), overdue: nil) == nil)
    }

    @Test("A request may be a minute past its time limit, not more")
    func requests() {
        var progress = Progress(topics: 1)
        turning(&progress, until: 10)
        #expect(progress.wedged(at: Self.seconds(10), overdue: .seconds(60)) == nil)
        let reason = progress.wedged(at: Self.seconds(10), overdue: .seconds(61))
        #expect(reason == "a request to the database is 61 s past its time")
    }

    @Test("A process that was stopped takes in first what has come meanwhile")
    func heldUp() {
        var progress = Progress(topics: 1)
        turning(&progress, until: 10)
        progress.kafkaAsked(at: Self.seconds(9))
        // Asked by an HTTP request before the first turn after the stop, then after it.
        #expect(progress.wedged(at: Self.seconds(500), overdue: .seconds(400)) == nil)
        progress.turned(at: Self.seconds(500))
        #expect(progress.wedged(at: Self.seconds(529), overdue: .seconds(400)) == nil)
        for second in Int64(501)...531 { progress.turned(at: Self.seconds(second)) }
        #expect(progress.wedged(at: Self.seconds(531), overdue: nil) != nil)
    }
}
