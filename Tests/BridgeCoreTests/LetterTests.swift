import BridgeCore
import Oracle
import Testing

@Suite("Dead letters read back") struct LetterTests {
    private func header(_ name: String, _ value: String?) -> Header {
        Header(name: name, value: value.map { Array($0.utf8) })
    }

    private var bridges: [Header] {
        [
            header(LetterHeader.reason, "missing_field"), header(LetterHeader.message, "no run"),
            header(LetterHeader.topic, "app.chat"), header(LetterHeader.partition, "3"),
            header(LetterHeader.offset, "17"), header(LetterHeader.time, "2026-04-23T22:43:44.7Z"),
        ]
    }

    private func letter(_ headers: [Header]) -> Letter? {
        Letter(Record(offset: 5, timestamp: 1000, key: [1], value: [2], headers: headers))
    }

    @Test("The record is as it was, its own headers included")
    func record() throws {
        let own = [
            header("trace", nil), header("firebridge.note", "mine"),
            header(LetterHeader.reason, "the record's own"), header("trace", "2"),
        ]
        let found = try #require(letter(own + bridges))
        #expect(
            found.record
                == Record(offset: 17, timestamp: 1000, key: [1], value: [2], headers: own))
        #expect(found.source == TopicPartition("app.chat", 3))
        #expect(found.reason == "missing_field" && found.message == "no run")
        #expect(found.time == 1_776_984_224_700)
        #expect(!found.isValueOmitted)
        let omitted = letter(own + bridges + [header(LetterHeader.valueOmitted, "true")])
        #expect(omitted?.isValueOmitted == true && omitted?.record.headers == own)
    }

    @Test("A record that no bridge has written is no letter")
    func foreign() {
        #expect(letter([]) == nil)
        #expect(letter([header("trace", "1")]) == nil)
        var broken = bridges
        broken[3] = header(LetterHeader.partition, "-1")
        #expect(letter(broken) == nil)
        broken[3] = header(LetterHeader.partition, "three")
        #expect(letter(broken) == nil)
    }

    @Test("A conversation is known by its field, else by its key, also where the rest is wrong")
    func conversation() {
        var reader = ConversationReader(plan: .standard)
        let source = TopicPartition(LogRecord.chunks, 0)
        func isOf(_ id: String, key: String?, value: String?) -> Bool {
            reader.isRecord(
                Record(
                    offset: 0, timestamp: nil, key: key.map { Array($0.utf8) },
                    value: value.map { Array($0.utf8) }), from: source, of: Array(id.utf8))
        }
        #expect(isOf("a.b", key: "k", value: #"{"conversation_id":"a.b"}"#))
        #expect(!isOf("k", key: "k", value: #"{"conversation_id":"a.b"}"#))
        #expect(isOf("k", key: "k", value: "{"))
        #expect(isOf("k", key: "k", value: nil))
        #expect(isOf("k", key: "k", value: #"{"run_id":7}"#))
        #expect(!isOf("k", key: nil, value: "7"))
    }
}

@Suite("Which letters were replayed") struct ReplayedLettersTests {
    private func letters(
        _ committed: Int64?, _ metadata: String = "", low: Int64, topics: [String] = ["t"]
    ) -> ReplayedLetters {
        ReplayedLetters(committed: committed, metadata: metadata, low: low, topics: topics)
    }

    private func readBack(_ known: ReplayedLetters, topics: [String] = ["t"]) -> ReplayedLetters {
        letters(known.next, known.metadata, low: 0, topics: topics)
    }

    @Test("What is kept is read back, whatever was replayed in whatever order")
    func keeps() {
        var random = SplitMix64(seed: 4)
        for _ in 0..<200 {
            var known = letters(nil, low: 10)
            var done: Set<Int64> = []
            for _ in 0..<random.int(0..<40) {
                let first = Int64(random.int(10..<200))
                let range = first...(first + Int64(random.pick([0, 0, 1, 7])))
                known.note(range)
                done.formUnion(range)
            }
            let again = letters(known.next, known.metadata, low: 10)
            #expect(again == known)
            for offset in Int64(0)..<220 {
                #expect(again.contains(offset, of: "t") == (offset < 10 || done.contains(offset)))
            }
        }
    }

    @Test("An operator's offset counts as it stands, and retention moves on")
    func offsets() {
        let set = letters(30, low: 10)
        #expect(set.next == 30 && !set.contains(30, of: "t") && set.contains(29, of: "t"))
        #expect(letters(30, "firebridge/1 2+3", low: 33).next == 35)
        for odd in [
            "firebridge/1 x", "firebridge/1 0+0", "firebridge/1 1+zzzzzzzzzzzzz", "other",
            "firebridge/1  a", "firebridge/1  a:", "firebridge/1  zzzzzzzz:1",
            "firebridge/1  a:,1+1", "firebridge/1  a:zzzzzzzzzzzz",
        ] { #expect(letters(30, odd, low: 10) == letters(30, low: 10), "\(odd)") }
    }

    @Test("Hundreds of letters that were passed over fit into a commit")
    func size() {
        var known = letters(nil, low: 0)
        for index in Int64(0)..<600 { known.note((index * 40 + 3)...(index * 40 + 20)) }
        #expect(known.fits && known.metadata.utf8.count < ReplayedLetters.metadataBytesMax)
        for index in Int64(600)..<2000 { known.note((index * 40 + 3)...(index * 40 + 20)) }
        #expect(!known.fits)
        var wide = letters(nil, low: 0)
        for index in Int64(1)...200 { wide.note((index << 39)...(index << 39 + 1 << 38)) }
        #expect(wide.fits && wide.metadata.utf8.count <= ReplayedLetters.metadataBytesMax)
    }

    @Test("Letters that are left to another configuration take no more room, however many they are")
    func alternating() {
        var known = letters(nil, low: 0)
        for offset in Int64(0)..<20_000 {
            let topic = offset % 2 == 0 ? "t" : "others \(offset % 7)"
            _ = known.pass(offset, of: topic)
            if topic == "t" { known.note(offset, of: topic) }
        }
        #expect(known.fits && known.metadata.utf8.count < 200)
        #expect(known.next == 20_000 && readBack(known) == known)
        // Far away too, a hundred topics fit.
        var many = letters(nil, low: 0)
        for index in Int64(0)..<100 { _ = many.pass(index << 33, of: "others \(index)") }
        many.note(0...(1 << 40 - 2))
        #expect(many.fits && many.metadata.utf8.count <= ReplayedLetters.metadataBytesMax)
        #expect(readBack(many).metadata == many.metadata)
        // No end of topics does not, and says so.
        for index in Int64(100)..<500 { _ = many.pass(1 << 40 + index, of: "others \(index)") }
        #expect(!many.fits)
    }

    @Test("Whatever topics are mapped when, and whatever is chosen of them, each letter goes once")
    func onceEach() {
        var random = SplitMix64(seed: 9)
        let names = ["a", "b", "c", "d"]
        for _ in 0..<300 {
            // What has no name is no letter.
            let log = (0..<random.int(1..<80)).map { _ in random.pick(names + [""]) }
            var known = letters(nil, low: 0, topics: names)
            var gone: Set<Int64> = []
            for turn in 0..<8 {
                let isLast = turn == 7
                let topics = names.filter { _ in isLast || random.int(0..<3) > 0 }
                known = readBack(known, topics: topics)
                let end = isLast ? log.count : random.int(0..<log.count + 1)
                for (offset, topic) in log.enumerated() where topics.contains(topic) {
                    guard offset < known.start else { break }
                    #expect(gone.contains(Int64(offset)))
                }
                for offset in known.start..<max(known.start, Int64(end)) {
                    let topic = log[Int(offset)]
                    guard topic != "" else {
                        known.note(offset...offset)
                        continue
                    }
                    _ = known.pass(offset, of: topic)
                    #expect(known.contains(offset, of: topic) == gone.contains(offset))
                    guard !gone.contains(offset), topics.contains(topic),
                        isLast || random.int(0..<3) > 0
                    else { continue }
                    known.note(offset, of: topic)
                    gone.insert(offset)
                }
            }
            #expect(gone.count == log.count { $0 != "" })
            #expect(known.next == Int64(log.count))
            #expect(known.metadata == letters(nil, low: 0).metadata, "nothing is kept apart")
        }
    }
}
