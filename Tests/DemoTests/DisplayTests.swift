import Testing

@testable import Demo

@Suite("How the demo shows itself")
struct DisplayTests {
    private func frame(_ columns: Int, _ rows: Int, isColored: Bool = false) -> Frame {
        var growing = Audience.Conversation(id: Array("thread_f3252492792a000001".utf8))
        growing.tail = "Wörter, 日本語 und 🏆 in\nZeilen, die länger sind als ein schmales Fenster. "
        var ended = Audience.Conversation(id: Array("thread_22802284d53c000001".utf8))
        ended.tail = "\u{1B}[2Jdone\u{7}"
        ended.status = "complete"
        return Frame(
            title: ["firebridge demo   http://127.0.0.1:9000/?ns=demo", "Ctrl-C stops it"],
            figures: Figures(seconds: 3, active: 1, finished: 1, lag: 1234, median: 6_200_000),
            conversations: [ended, growing], focus: growing.id, columns: columns, rows: rows,
            isColored: isColored)
    }

    @Test("It fits every terminal", arguments: [1, 5, 20, 40, 80, 200], [1, 2, 5, 8, 12, 24, 60])
    func fits(_ columns: Int, _ rows: Int) {
        let lines = frame(columns, rows).lines
        #expect(lines.count <= max(rows - 1, 1))
        for line in lines {
            #expect(
                line.reduce(0) { $0 + terminalColumns(of: $1) } <= max(columns - 1, 1), "\(line)")
        }
    }

    @Test("The address comes first, then the figures, the conversations and the text that grows")
    func contents() {
        let lines = frame(120, 30).lines
        #expect(lines[0] == "firebridge demo   http://127.0.0.1:9000/?ns=demo")
        #expect(
            lines[2]
                == "3 s   1 active   1 finished   0 tokens/s   – requests/s   lag 1,234   "
                + "visible after p50 6.2 ms, p99 –")
        #expect(lines[4] == "✓ thread_22802284d53c000001  0 tokens  [2Jdone")
        #expect(lines[11] == "Wörter, 日本語 und 🏆 in")
        #expect(lines[12] == "Zeilen, die länger sind als ein schmales Fenster.")
    }

    @Test("It is as high with many conversations as with few, so that nothing jumps")
    func steady() {
        let empty = Frame(
            title: ["a", "b"], figures: Figures(), conversations: [], focus: [], columns: 120,
            rows: 30, isColored: false)
        #expect(empty.lines.count == frame(120, 30).lines.count)
    }

    @Test("Without colour there is no escape sequence, also none of a conversation's own")
    func plain() {
        #expect(!frame(80, 24).lines.joined().contains("\u{1B}"))
        #expect(frame(80, 24, isColored: true).lines[0].hasPrefix("\u{1B}[1m"))
    }

    @Test("Figures are grouped, and times have a decimal below ten milliseconds")
    func numbers() {
        #expect(
            [0, 999, 1000, 1_234_567, -1234].map { grouped($0) } == [
                "0", "999", "1,000", "1,234,567", "-1,234",
            ])
        #expect(
            [0, 6_249_999, 9_960_000, 41_000_000, 1_234_000_000].map { milliseconds($0) } == [
                "0.0 ms", "6.2 ms", "10 ms", "41 ms", "1,234 ms",
            ])
    }

    @Test("A percentile is one of the values")
    func percentiles() {
        #expect(percentile(50, of: []) == nil)
        #expect(percentile(99, of: [7]) == 7)
        #expect(percentile(50, of: [4, 1, 3, 2]) == 2)
        #expect(percentile(99, of: Array(1...1000)) == 990)
    }

    @Test("A metric is summed over its labels, and no other one with it")
    func metrics() {
        let text = """
            # TYPE firebridge_requests_total counter
            firebridge_requests_total{code="200"} 41
            firebridge_requests_total{code="503"} 1
            firebridge_requests_total_other 5
            """
        #expect(Probe.sum(of: "firebridge_requests_total", in: Array(text.utf8)) == 42)
    }
}
