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
        var progress = Progress()
        turning(&progress, until: 1000)
        #expect(progress.wedged(at: Self.seconds(1000), overdue: nil) == nil)
    }

    @Test("A client that neither answers nor refuses in all its time is wedged, not before")
    func kafka() {
        var progress = Progress()
        turning(&progress, until: 100)
        for second in Int64(0)...71 {
            progress.kafka(owes: 2, answered: 5, at: Self.seconds(second))
        }
        #expect(progress.wedged(at: Self.seconds(70), overdue: nil) == nil)
        #expect(progress.wedged(at: Self.seconds(71), overdue: nil)?.contains("Kafka") == true)
    }

    @Test("With each answer the time begins anew, however many questions are open")
    func answers() {
        var progress = Progress()
        turning(&progress, until: 2000)
        // Twenty partitions of a leader that takes its time, asked again and again.
        for second in Int64(0)..<1000 {
            progress.kafka(owes: 3, answered: Int(second / 10), at: Self.seconds(second))
            #expect(progress.wedged(at: Self.seconds(second), overdue: nil) == nil)
        }
        #expect(progress.wedged(at: Self.seconds(1061), overdue: nil) != nil)
        progress.kafka(owes: 0, answered: 100, at: Self.seconds(1062))
        #expect(progress.wedged(at: Self.seconds(1900), overdue: nil) == nil)
    }

    @Test("A request may be a minute past its time limit, not more")
    func requests() {
        var progress = Progress()
        turning(&progress, until: 10)
        #expect(progress.wedged(at: Self.seconds(10), overdue: .seconds(60)) == nil)
        let reason = progress.wedged(at: Self.seconds(10), overdue: .seconds(61))
        #expect(reason == "a request to the database is 61 s past its time")
    }

    @Test("A process that was stopped takes in first what has come meanwhile")
    func heldUp() {
        var progress = Progress()
        turning(&progress, until: 10)
        progress.kafka(owes: 1, answered: 0, at: Self.seconds(9))
        // Asked by an HTTP request before the first turn after the stop, then after it.
        #expect(progress.wedged(at: Self.seconds(500), overdue: .seconds(400)) == nil)
        progress.turned(at: Self.seconds(500))
        #expect(progress.wedged(at: Self.seconds(529), overdue: .seconds(400)) == nil)
        for second in Int64(501)...531 { progress.turned(at: Self.seconds(second)) }
        #expect(progress.wedged(at: Self.seconds(531), overdue: nil) != nil)
    }
}
