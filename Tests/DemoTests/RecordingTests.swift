import JSON
import Oracle
import Testing

@testable import Demo

@Suite("What the demo replays")
struct RecordingTests {
    private static let recording = Recording.embedded()
    private static let beginning: Int64 = 1_800_000_000_000

    private func told(_ count: Int) -> [Playback.Cue] {
        var playback = Playback(Self.recording, beginning: Self.beginning)
        return (0..<count).map { _ in playback.next() }
    }

    @Test("The binary carries a recording of some hundred kilobytes with many conversations")
    func embedded() {
        let entries = Self.recording.entries
        #expect(entries.count > 1000)
        #expect(entries.count(where: \.isFirst) >= 15)
        #expect(entries[0].at == 0)
        #expect(entries.last!.at < 2 * Playback.period)
    }

    @Test("One round told to its end is a tree in which every stream is complete")
    func oneRound() throws {
        let count = Self.recording.entries.count
        let records = told(3 * count).map(\.record).filter {
            $0.key?.suffix(6) == Array("000001".utf8)[...]
        }
        #expect(records.count == count)
        let tree = try #require(expectedTree(of: records))
        let streams = try #require(tree["streaming"]).children
        #expect(streams.count == Self.recording.entries.count(where: \.isFirst))
        for (_, conversation) in streams {
            for (_, stream) in conversation.children {
                #expect(stream["meta"]?["status"] == .text("complete"))
            }
        }
    }

    @Test("Records come in order of time, and a round begins before the one before it has ended")
    func order() {
        let cues = told(4000)
        #expect(zip(cues, cues.dropFirst()).allSatisfy { $0.at <= $1.at })
        let rounds = cues.map { $0.record.key!.suffix(6) }
        let firstOfSecond = rounds.firstIndex(of: Array("000002".utf8)[...])!
        #expect(cues[firstOfSecond].at == Playback.period)
    }

    @Test("Each round has ids of its own, and no id is shared by two conversations")
    func ids() {
        let cues = told(4000)
        let begun = cues.filter(\.isFirst).map { $0.record.key! }
        #expect(Set(begun).count == begun.count)
        for cue in cues {
            #expect(cue.record.key.map { contains(cue.record.value, $0) } == true)
        }
    }

    @Test("The times in a record lie close to when it is due")
    func times() throws {
        let parser = JSONParser()
        for cue in told(3000) {
            let tape = try parser.parse(cue.record.value)
            for (name, value) in tape.members(of: 0)
            where tape.isText(name, Array("timestamp".utf8)) {
                let instant = try #require(Instant(tape.text(value)))
                let time = instant.seconds * 1000 + Int64(instant.nanoseconds / 1_000_000)
                #expect(abs(time - Self.beginning - cue.at) < 1000)
            }
            #expect(cue.record.timestamp == Self.beginning + cue.at)
        }
    }

    @Test("The log can be told once more, word for word")
    func again() {
        #expect(told(3000).map(\.record) == told(3000).map(\.record))
    }

    @Test("A conversation told once more is another run of the same stream, and the newer one")
    func retelling() throws {
        let id = Array("thread_f3252492792a000001".utf8)
        var retelling = try #require(
            Retelling(id, of: Self.recording, number: 7, at: 3000, beginning: Self.beginning))
        #expect(retelling.nextAt == 3000)
        var records = told(2000).map(\.record)
        // It begins while the first run is still being told.
        let middle = records.firstIndex { ($0.timestamp ?? 0) > Self.beginning + 3000 }!
        var again: [LogRecord] = []
        while retelling.nextAt != nil { again.append(retelling.next().record) }
        records.insert(contentsOf: again, at: middle)
        let tree = try #require(expectedTree(of: records))
        let stream = try #require(
            tree["streaming"]?["thread_f3252492792a000001"]?["70"]?["meta"])
        #expect(stream["run_id"] == .text("f3252492-792a-45d2-81c9-7274f1f00007"))
        #expect(stream["status"] == .text("complete"))
    }

    @Test(
        "What has not been told yet is not told once more",
        arguments: [
            "thread_f3252492792a000002", "thread_f3252492792a000000", "thread_f3252492792af00000",
            "thread_00000000000000000001", "", "x",
        ])
    func nothingToRetell(_ id: String) {
        let retelling = Retelling(
            Array(id.utf8), of: Self.recording, number: 1, at: 3000, beginning: Self.beginning)
        #expect(retelling == nil)
    }

    @Test("The tree's process says what was pressed, each on a line")
    func buttons() {
        #expect(DemoTree.Button("control break") == .breakDatabase)
        #expect(DemoTree.Button("control kill") == .killBridge)
        #expect(
            DemoTree.Button("control regenerate é 1")
                == .regenerate(conversation: Array("é 1".utf8)))
        #expect(DemoTree.Button("firebridge: tree listening on http://127.0.0.1:9/") == nil)
    }

    @Test(
        "A recording that is not one is refused with its line",
        arguments: [
            ("{", 1), ("{\"at_ms\":0}", 1),
            (line(at: 0) + line(at: 5) + line(at: 4), 3), (line(at: 1), 1),
        ])
    func refused(_ text: String, _ number: Int) {
        let failure = #expect(throws: Recording.Failure.self) { try Recording(Array(text.utf8)) }
        #expect(failure?.line == number)
    }
}

private func line(at: Int) -> String {
    #"{"at_ms":\#(at),"topic":"t","key":"abcdefgh","value":{}}"# + "\n"
}

private func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    text.indices.contains { text[$0...].starts(with: part) }
}
