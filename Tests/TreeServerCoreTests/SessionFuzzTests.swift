import JSON
import Oracle
import Testing
import Tree

@testable import TreeServerCore

/// Odd frames, from seeds: the server answers or hangs up, and others do not notice.
@Suite("Session messages gone wrong") struct SessionFuzzTests {
    private static let corpus = [
        #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a/b","h":""}}}"#,
        #"{"t":"d","d":{"r":2,"a":"q","b":{"p":"/a","q":{"sp":1,"sn":"k","sin":true,"ep":"z","en":"[MAX_NAME]","ein":false,"l":3,"vf":"l","i":"n/m"},"t":1,"h":"x"}}}"#,
        #"{"t":"d","d":{"r":3,"a":"n","b":{"p":"/a/b"}}}"#,
        #"{"t":"d","d":{"r":4,"a":"p","b":{"p":"/a/b","d":{".priority":1,"c":[1,{".sv":"timestamp"}]},"h":"x"}}}"#,
        #"{"t":"d","d":{"r":5,"a":"m","b":{"p":"/a","d":{"b/c":{".sv":{"increment":2}},"d/.priority":"p"}}}}"#,
        #"{"t":"d","d":{"r":6,"a":"om","b":{"p":"/a","d":{"x/y":{".value":1,".priority":2},"z":null}}}}"#,
        #"{"t":"d","d":{"r":7,"a":"o","b":{"p":"/a/.priority","d":1}}}"#,
        #"{"t":"d","d":{"r":8,"a":"oc","b":{"p":"/a","d":null}}}"#,
        #"{"t":"d","d":{"r":9,"a":"g","b":{"p":"/","q":{"l":1}}}}"#,
        #"{"t":"d","d":{"r":10,"a":"auth","b":{"cred":"a.b.c","authvar":{"uid":"x"}}}}"#,
        #"{"t":"d","d":{"r":11,"a":"s","b":{"c":{"sdk":1}}}}"#,
        #"{"t":"c","d":{"t":"p","d":{}}}"#, "0", "3", "17",
    ]

    private func mutate(_ text: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 0...3, using: &random) where !text.isEmpty {
            let place = Int.random(in: 0..<text.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: text[place] = UInt8.random(in: 0...255, using: &random)
            case 1: text.remove(at: place)
            case 2:
                text.insert(
                    Array(#"{}[]",:/.0$\#n"#.utf8).randomElement(using: &random)!, at: place)
            case 3: text = Array(text[..<place])
            case 4:
                let other = Array(Self.corpus.randomElement(using: &random)!.utf8)
                text.replaceSubrange(
                    place..., with: other.suffix(Int.random(in: 0...40, using: &random)))
            default:
                let end = Int.random(in: place...text.count, using: &random)
                text.insert(contentsOf: Array(text[place..<end]), at: place)
            }
        }
        return text
    }

    @Test("Nothing ends the server or another session", arguments: 0..<60 as Range<UInt64>)
    func odd(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let talk = Conversation { $0.messageBytesMax = 4096 }
        talk.connect("good")
        talk.say("good", "q", #"{"p":"/good","h":""}"#)
        let parser = JSONParser()
        for round in 0..<300 {
            if round % 20 == 0 { talk.connect("odd\(round / 20)") }
            let name = "odd\(round / 20)"
            let frame = mutate(Array(Self.corpus.randomElement(using: &random)!.utf8), &random)
            // The shell passes UTF-8 on and nothing else.
            guard let text = String(validating: frame, as: UTF8.self) else { continue }
            var replies = 0
            for line in talk.send(name, text) {
                let message = line.drop { $0 != ":" }.dropFirst(2)
                if message == "closed" { continue }
                #expect(message != "" && message != "0")
                #expect(throws: Never.self) { try parser.parse(Array(message.utf8)) }
                #expect(!message.hasPrefix(#"{"error""#))
                if message.hasPrefix(#"{"r":"#) { replies += 1 }
            }
            #expect(replies <= 1)
            if round % 20 == 10 {
                #expect(
                    talk.say("good", "p", #"{"p":"/good","d":\#(round)}"#).suffix(2) == [
                        #"good: {"a":"d","b":{"p":"good","d":\#(round)}}"#, ok("good"),
                    ])
            }
        }
    }
}
