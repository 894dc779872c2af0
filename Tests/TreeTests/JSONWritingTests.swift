import Testing

@testable import Tree

@Suite struct JSONWritingTests {
    func text(_ value: Value, _ style: JSONStyle = .compact) -> String {
        String(decoding: value.json(style), as: UTF8.self)
    }

    @Test(
        arguments: [
            (["0": "a", "1": "b"], #"["a","b"]"#), (["1": "a"], #"[null,"a"]"#),
            (["1": "a", "3": "b"], #"[null,"a",null,"b"]"#), (["2": "a"], #"{"2":"a"}"#),
            (["0": "a", "2": "b"], #"["a",null,"b"]"#),
            (["0": "a", "01": "b"], #"{"0":"a","01":"b"}"#),
            (["0": "a", "x": 1], #"{"0":"a","x":1}"#), (["-1": 1, "0": 2], #"{"-1":1,"0":2}"#),
            (["a": ["0": ["0": 1]]], #"{"a":[[1]]}"#), (["00": 1], #"{"00":1}"#),
        ] as [(Value, String)])
    func denseIndexesAreShownAsAnArray(value: Value, json: String) {
        #expect(text(value) == json)
    }

    @Test func exportNeverShowsAnArray() {
        #expect(text(["0": ["1": "a"]], .export) == #"{"0":{"1":"a"}}"#)
    }

    @Test(
        arguments: [
            (Value.null, "null"), (true, "true"), (0, "0"), (-7, "-7"),
            (.int(.min), "-9223372036854775808"), (.int(.max), "9223372036854775807"), (0.1, "0.1"),
            (.double(1e300), "1e+300"), (.number(2.0), "2"),
            (.double(0x1p63), "9.223372036854776e+18"),
            ("", "\"\""),
            ("a\"\\\n\r\t\u{1}\u{1f}\u{7f}é🙂/", #""a\"\\\n\r\t\u0001\u001f"# + "\u{7f}é🙂/\""),
        ] as [(Value, String)])
    func leavesAreWrittenShortAndExact(value: Value, json: String) {
        #expect(text(value) == json)
    }

    @Test func prettyHasALineForEachChild() {
        #expect(
            text(["a": ["b": 1, "c": ["0": 1, "2": 3]]], .pretty) == """
                {
                  "a": {
                    "b": 1,
                    "c": [
                      1,
                      null,
                      3
                    ]
                  }
                }
                """)
    }

    @Test func shallowHidesWhatLiesBelowTheChildren() {
        let value: Value = ["a": ["b": 1], "c": 2, "d": false]
        #expect(value.shallow == ["a": true, "c": 2, "d": false])
        #expect(Value.int(5).shallow == 5)
    }
}

@Suite struct NodeHashTests {
    @Test(
        arguments: [
            (nil, ""), (true, "E5z61QM0lN/U2WsOnusszCTkR8M="),
            (false, "aSSNoqcS4oQwJ2xxH20rvpp3zP0="),
            (0, "7ysMph9WPitGP7poMnMHMVPtUlI="), (1, "YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="),
            (0.1, "wtQjBi5TBE+ZcdekL6INiSeCSQI="), (10, "+r5aI9HvKKagELki8SYKBk0q7D4="),
            (500, "Ajg9bohDwTVmqR14o1bVJnneryM="), ("Hello World", "B8HWXc7zXMjrsnJxPRj7wrNGqt4="),
            (["foo": "bar"], "XnLeTeWQmzTHImTbSMDLg/qMrKY="),
            (["z": 1, "a": "2", "b": "true", "c": false], "8qk5vmuZGXWJx+77SGwjYRM0yPA="),
            (["1": "one", "2": "two", "10": "ten"], "aEa7HuRrp4CAiySog3hGyyeF8qc="),
        ] as [(Value, String)])
    func nodesHashAsTheClientsHashThem(value: Value, hash: String) {
        #expect(String(decoding: value.nodeHash, as: UTF8.self) == hash)
    }

    @Test func sha1AgreesWithItsStandard() {
        func hex(_ text: String) -> String {
            SHA1.digest(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                .joined()
        }
        #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
        #expect(
            hex(String(repeating: "a", count: 1_000)) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
    }
}

@Suite struct ValueOrderTests {
    @Test func valuesComeByKindThenByContent() {
        let ascending: [Value] = [
            nil, false, true, -1.5, 0, 1, 2.5, .int(.max), "", "a", "b", "\u{1F642}", "\u{FFFD}",
            ["a": 1],
        ]
        for (a, x) in ascending.enumerated() {
            for (b, y) in ascending.enumerated() {
                let order = x.rankOrder(y)
                #expect((order < 0) == (a < b) && (order > 0) == (a > b), "\(x) \(y)")
            }
        }
        #expect((["a": 1] as Value).rankOrder(["b": 2]) == 0)
    }
}
