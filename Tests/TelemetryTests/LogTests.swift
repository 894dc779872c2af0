import EventLoop
import Glibc
import Testing

@testable import Telemetry

/// A log whose clock the test winds and whose bytes it sees.
final class LogBench {
    var now: (monotonic: Int64, wall: Int64) = (0, 1_776_984_224_700)
    var bytes: [UInt8] = []
    var room = Int.max
    private(set) var log: Log!

    init(_ style: LogStyle = .logfmt, level: LogLevel = .info) {
        log = Log(level: level, style: style, clock: { [unowned self] in now }) { [unowned self] in
            let taken = $0.prefix(room)
            bytes += taken
            if room != .max { room -= taken.count }
            return taken.count
        }
    }

    var lines: [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func pass(seconds: Int64) {
        now.monotonic += seconds * 1_000_000_000
        now.wall += seconds * 1000
    }
}

@Suite struct LogStyleTests {
    @Test(arguments: [
        (
            LogStyle.logfmt,
            #"time=2026-04-23T22:43:44.700Z level=warn event=retry lane=3 wait=0.5 ready=false "#
                + #"reason="HTTP 503: \"no\"" url=http://a/?b"#
        ),
        (
            .journal,
            #"<4>event=retry lane=3 wait=0.5 ready=false reason="HTTP 503: \"no\"" "#
                + #"url=http://a/?b"#
        ),
        (
            .json,
            #"{"time":"2026-04-23T22:43:44.700Z","level":"warn","event":"retry","lane":3,"#
                + #""wait":0.5,"ready":false,"reason":"HTTP 503: \"no\"","url":"http://a/?b"}"#
        ),
        (
            .readable(colors: false),
            #"22:43:44.700 warn  retry lane=3 wait=0.5 ready=false reason="HTTP 503: \"no\"" "#
                + #"url=http://a/?b"#
        ),
        (
            .readable(colors: true),
            "22:43:44.700 \u{1B}[33mwarn \u{1B}[0m retry lane=3 wait=0.5 ready=false "
                + #"reason="HTTP 503: \"no\"" url=http://a/?b"#
        ),
    ])
    func anEventIsOneLineInEachStyle(_ style: LogStyle, _ expected: String) {
        let bench = LogBench(style)
        bench.log.warn(
            "retry",
            [
                "lane": 3, "wait": 0.5, "ready": false, "reason": "HTTP 503: \"no\"",
                "url": "http://a/?b",
            ])
        #expect(String(decoding: bench.bytes, as: UTF8.self) == expected + "\n")
    }

    @Test(arguments: [LogStyle.logfmt, .journal, .json, .readable(colors: false)])
    func noTextCanBeginALineOrMoveTheCursorOrReorderWords(_ style: LogStyle) {
        let bench = LogBench(style)
        let scalars = (0..<0x3000).compactMap(Unicode.Scalar.init) + ["\u{FEFF}", "\u{E0001}", "🙂"]
        for scalar in scalars {
            bench.bytes = []
            let text = "a\(scalar)b\nlevel=error\u{202E}"
            bench.log.write(.info, text, [(name: text, value: .text(text))])
            let line = String(decoding: bench.bytes, as: UTF8.self)
            #expect(line.utf8.filter { $0 < 0x20 || $0 == 0x7F } == [0x0A], "\(scalar.value)")
            #expect(line.utf8.last == 0x0A)
            let bad = line.unicodeScalars.dropLast().contains { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: true
                default: false
                }
            }
            #expect(!bad, "U+\(String(scalar.value, radix: 16))")
        }
    }

    @Test(arguments: [
        (LogStyle.Format.auto, true, false, LogStyle.readable(colors: true)),
        (.auto, false, true, .journal), (.auto, false, false, .json),
        (.logfmt, true, false, .logfmt), (.logfmt, false, true, .journal),
        (.logfmt, false, false, .logfmt), (.json, true, true, .json),
    ])
    func theFormatFollowsWhereStandardErrorGoes(
        _ format: LogStyle.Format, _ isTerminal: Bool, _ isJournal: Bool, _ expected: LogStyle
    ) {
        #expect(
            LogStyle(format, isTerminal: isTerminal, isJournal: isJournal, noColor: false)
                == expected)
    }

    @Test(arguments: [LogStyle.logfmt, .json])
    func aFieldCannotPassForTheLinesOwn(_ style: LogStyle) {
        let bench = LogBench(style)
        bench.log.info("a", ["time": 1, "level": "error", "event": "b"])
        let line = bench.lines[0]
        #expect(line.contains("time_") && line.contains("level_") && line.contains("event_"))
    }

    @Test func noColorIsRespected() {
        #expect(
            LogStyle(.auto, isTerminal: true, isJournal: false, noColor: true)
                == .readable(colors: false))
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func timesAreWrittenInUTCToTheMillisecond(_ milliseconds: Int64, _ expected: String) {
        #expect(String(decoding: LogTime.text(milliseconds), as: UTF8.self) == expected)
    }
}

@Suite struct LogTests {
    @Test(arguments: LogLevel.allCases)
    func onlyLevelsThatAreUrgentEnoughAreWritten(_ level: LogLevel) {
        let bench = LogBench(level: level)
        bench.log.error("e")
        bench.log.warn("w")
        bench.log.info("i")
        bench.log.debug("d")
        let expected = LogLevel.allCases.filter { $0 <= level }.count
        #expect(bench.lines.count == expected)
    }

    @Test func aRepeatedFaultIsToldAtOnceAndThenSummedUpOnceAnInterval() {
        let bench = LogBench()
        for count in 1...1000 {
            bench.log.error("write_failed", ["lane": 1, "attempt": LogValue(count)])
        }
        bench.log.error("write_failed", ["lane": 2, "attempt": 1])
        #expect(bench.lines.count == 2)
        #expect(bench.log.nextTick == 30_000_000_000)
        bench.pass(seconds: 29)
        bench.log.tick()
        #expect(bench.lines.count == 2)
        bench.pass(seconds: 1)
        bench.log.tick()
        #expect(bench.lines.count == 3)
        #expect(
            bench.lines[2].hasSuffix(
                "level=error event=write_failed lane=1 attempt=1000 repeated=999"))
        bench.log.error("write_failed", ["lane": 1, "attempt": 1001])
        #expect(bench.lines.count == 3)
        bench.log.finish()
        #expect(bench.lines.count == 4)
        #expect(bench.lines[3].hasSuffix("attempt=1001 repeated=1"))
    }

    @Test func aFaultThatCeasedIsToldAtOnceWhenItComesAgain() {
        let bench = LogBench()
        bench.log.warn("slow", ["lane": 1])
        bench.pass(seconds: 30)
        bench.log.tick()
        #expect(bench.log.nextTick == nil)
        bench.log.warn("slow", ["lane": 1])
        #expect(bench.lines.count == 2)
    }

    @Test func whatIsNoFaultIsNeverHeldBack() {
        let bench = LogBench()
        for _ in 0..<10 { bench.log.info("assigned") }
        #expect(bench.lines.count == 10)
    }

    @Test func whoAsksForAReloadAgainIsAnsweredAgain() {
        let bench = LogBench()
        for line in 1...3 {
            bench.log.error("reload_refused", ["reason": "\(line):1: expected a number"])
        }
        #expect(bench.lines.count == 3)
    }

    @Test func ofManyDifferentFaultsTheLastAreToldTogether() {
        let bench = LogBench()
        for lane in 0..<1000 { bench.log.warn("slow", ["lane": LogValue(lane)]) }
        #expect(bench.lines.count == RepeatLimit.faultsMax + 1)
        bench.log.warn("other")
        #expect(bench.lines.count == RepeatLimit.faultsMax + 2)
        bench.pass(seconds: 30)
        bench.log.tick()
        #expect(bench.lines.last?.hasSuffix("event=slow lane=999 repeated=743") == true)
    }

    @Test func countsInAReasonDoNotMakeItAnother() {
        let bench = LogBench()
        for count in 0..<10 { bench.log.warn("down", ["reason": "refused after \(count) ms"]) }
        bench.log.warn("down", ["reason": "reset after 1 ms"])
        #expect(bench.lines.count == 2)
    }

    @Test func linesOfALibraryAreToldApartByWhatTheySay() {
        let bench = LogBench()
        for count in 0..<10 {
            bench.log.warn("librdkafka", ["text": "FAIL: 10.0.0.\(count): connection refused"])
            bench.log.warn("librdkafka", ["text": "MAXPOLL: exceeded by \(count) ms"])
        }
        #expect(bench.lines.map { $0.contains("MAXPOLL") } == [false, true])
        bench.pass(seconds: 30)
        bench.log.tick()
        #expect(bench.lines.count == 4)
        #expect(bench.lines.dropFirst(2).allSatisfy { $0.hasSuffix("repeated=9") })
    }

    @Test func theSameFaultOfAnotherPartitionIsAnother() {
        let bench = LogBench()
        for number in [0, 1, 0, 1, 2] {
            bench.log.error("log_gap", ["partition": "chunks/\(number)"])
        }
        #expect(bench.lines.count == 3)
    }

    @Test func aFullPipeDropsLinesAndTellsHowMany() {
        let bench = LogBench()
        bench.log.info("first")
        bench.room = 0
        for _ in 0..<5 { bench.log.info("lost") }
        #expect(bench.log.linesDropped == 5)
        bench.room = .max
        bench.log.info("last")
        #expect(bench.lines.count == 3)
        #expect(bench.lines[1].hasSuffix("level=warn event=log_lines_dropped count=5"))
        #expect(bench.lines[2].hasSuffix("event=last"))
        #expect(bench.log.linesDropped == 5)
    }

    @Test func aLineThatWasCutInTwoIsNeverTornByAnother() {
        for room in 1..<200 {
            let bench = LogBench()
            bench.room = room
            bench.log.info("first", ["text": "one two three"])
            bench.log.info("second")
            bench.log.info("third")
            bench.room = .max
            bench.log.info("fourth")
            bench.log.finish()
            #expect(
                bench.lines.allSatisfy {
                    $0.hasPrefix("time=") && !$0.dropFirst().contains("time=")
                })
            let told = bench.lines.count { !$0.contains("log_lines_dropped") }
            #expect(told + bench.log.linesDropped == 4)
        }
    }

    @Test func aLineIsNeverLongerThanAPipeTakesAtOnce() {
        let bench = LogBench(.json)
        bench.log.info("long", ["text": .text(String(repeating: "é\u{7}", count: 10_000)), "n": 7])
        bench.log.write(
            .info, "wide", (0..<2000).map { (name: "field\($0)", value: LogValue($0)) })
        for line in bench.lines { #expect(line.utf8.count < Log.lineBytesMax) }
        #expect(bench.lines[0].contains(#""n":7"#))
        #expect(bench.lines[0].contains("…"))
        #expect(bench.lines[1].contains(#""cut":2000"#))
    }

    @Test func aRegisteredSecretNeverAppears() {
        let bench = LogBench(.json, level: .debug)
        bench.log.hide("canary-token-1".utf8)
        bench.log.hide("canary-token-1-longer".utf8)
        bench.log.hide("".utf8)
        for text in [
            "canary-token-1", "Bearer canary-token-1-longer!", "xcanary-token-1canary-token-1",
        ] {
            bench.log.debug("tried", ["text": .text(text)])
            bench.log.error("tried", ["text": "\(text) again"])
        }
        #expect(bench.lines.count == 6)
        #expect(!String(decoding: bench.bytes, as: UTF8.self).contains("canary"))
        #expect(bench.lines[2].contains(#""text":"Bearer <secret>!""#))
    }
}

/// The log against real pipes.
@Suite struct StandardErrorTests {
    @Test func aFullBlockingPipeNeverBlocksTheLog() throws {
        let pipe = try Pipe()
        let log = Log(level: .info, style: .logfmt, clock: { (0, 0) }) {
            StandardError.send($0, to: pipe.writing.number)
        }
        for count in 0..<5000 {
            log.info("line", ["count": LogValue(count), "text": "some words"])
        }
        #expect(log.linesDropped > 0)
        try pipe.reading.setNonblocking()
        var received: [UInt8] = []
        while let more = try pipe.reading.read(max: 65_536), !more.isEmpty { received += more }
        let dropped = log.linesDropped
        log.info("last")
        while let more = try pipe.reading.read(max: 65_536), !more.isEmpty { received += more }
        let lines = String(decoding: received, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 5000 - dropped + 2)
        #expect(lines.allSatisfy { $0.hasPrefix("time=") })
        #expect(lines[lines.count - 2].hasSuffix("event=log_lines_dropped count=\(dropped)"))
    }

    @Test func theJournalIsKnownByDeviceAndInode() throws {
        let pipe = try Pipe()
        var file = stat()
        #expect(unsafe fstat(pipe.writing.number, &file) == 0)
        let name = "\(file.st_dev):\(file.st_ino)"
        #expect(StandardError.isJournal(pipe.writing.number, name))
        #expect(!StandardError.isJournal(pipe.writing.number, "\(file.st_dev):1"))
        #expect(!StandardError.isJournal(pipe.writing.number, nil))
        #expect(!StandardError.isJournal(1 << 20, name))
    }
}
