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
    @Test("What is kept is read back, whatever was replayed in whatever order")
    func keeps() {
        var random = SplitMix64(seed: 4)
        for _ in 0..<200 {
            var letters = ReplayedLetters(committed: nil, metadata: "", low: 10)
            var done: Set<Int64> = []
            for _ in 0..<random.int(0..<40) {
                let first = Int64(random.int(10..<200))
                let range = first...(first + Int64(random.pick([0, 0, 1, 7])))
                letters.note(range)
                done.formUnion(range)
            }
            let again = ReplayedLetters(
                committed: letters.next, metadata: letters.metadata, low: 10)
            #expect(again == letters)
            for offset in Int64(0)..<220 {
                #expect(again.contains(offset) == (offset < 10 || done.contains(offset)))
            }
        }
    }

    @Test("An operator's offset counts as it stands, and retention moves on")
    func offsets() {
        let set = ReplayedLetters(committed: 30, metadata: "", low: 10)
        #expect(set.next == 30 && !set.contains(30) && set.contains(29))
        let kept = ReplayedLetters(committed: 30, metadata: "firebridge/1 2+3", low: 33)
        #expect(kept.next == 35)
        for odd in ["firebridge/1 x", "firebridge/1 0+0", "firebridge/1 1+zzzzzzzzzzzzz", "other"] {
            #expect(ReplayedLetters(committed: 30, metadata: odd, low: 10).next == 30)
        }
    }

    @Test("Hundreds of letters that were passed over fit into a commit")
    func size() {
        var letters = ReplayedLetters(committed: nil, metadata: "", low: 0)
        for index in Int64(0)..<600 { letters.note((index * 40 + 3)...(index * 40 + 20)) }
        #expect(letters.fits && letters.metadata.utf8.count < ReplayedLetters.metadataBytesMax)
        for index in Int64(600)..<2000 { letters.note((index * 40 + 3)...(index * 40 + 20)) }
        #expect(!letters.fits)
        var wide = ReplayedLetters(committed: nil, metadata: "", low: 0)
        for index in Int64(1)...200 { wide.note((index << 39)...(index << 39 + 1 << 38)) }
        #expect(wide.fits && wide.metadata.utf8.count <= ReplayedLetters.metadataBytesMax)
    }
}
