import EventLoop
import Testing

@testable import Daemon

@Suite("The line of status") struct StatusLineTests {
    @Test("It says how much is mirrored, how late, and how fast")
    func mirroring() {
        var line = StatusLine(partitions: 12, lag: 0.2, tokensPerSecond: 339.6)
        #expect(line.text == "mirroring 12 partitions, lag 0.2 s, 340 tokens/s")
        line = StatusLine(partitions: 1, lag: 3600.04)
        #expect(line.text == "mirroring 1 partition, lag 3600.0 s, 0 tokens/s")
        line = StatusLine(partitions: 2, lag: .infinity, tokensPerSecond: 0)
        #expect(line.text == "mirroring 2 partitions, lag 1000000000.0 s, 0 tokens/s")
    }

    @Test("It says what is wrong before anything else")
    func alarms() {
        let line = StatusLine(
            alarms: ["lane 0: the last write failed: timeout", "b"], partitions: 4)
        #expect(line.text == "not ready: lane 0: the last write failed: timeout; b")
        #expect(StatusLine().text == "standing by without partitions")
    }

    @Test("It is one line of bounded length, whatever a reason holds")
    func oneLine() {
        #expect(ServiceNotices.line("a\nREADY=1\t\u{7F}b") == "a READY=1  b")
        let long = ServiceNotices.line(String(repeating: "é", count: 1000))
        #expect(long.count == 240)
        #expect(long.hasSuffix("…"))
    }

    @Test("A rate is what was counted since the last look, by the second")
    func rate() {
        var rate = Rate()
        #expect(rate.next(100, at: 0) == 0)
        #expect(rate.next(150, at: 500_000_000) == 100)
        #expect(rate.next(150, at: 500_000_000) == 0)
        #expect(rate.next(10, at: 1_500_000_000) == 0)
    }
}
