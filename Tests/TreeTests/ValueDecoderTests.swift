import JSON
import Testing

@testable import Tree

@Suite struct ValueDecoderTests {
    static func decode(
        _ text: [UInt8], at path: Path = .root, server: ValueDecoder.ServerValues? = nil
    ) throws -> Value {
        var decoder = ValueDecoder()
        return try decoder.decode(JSONParser().parse(text), at: path, server: server)
    }

    static func decode(_ text: String) throws -> Value { try decode(Array(text.utf8)) }

    @Test(
        arguments: [
            ("null", nil), ("{}", nil), ("[]", nil), (#"{"a":{"b":{}},"c":[]}"#, nil),
            ("[null]", nil), ("7.0", 7), ("7e0", 7), ("-0", 0), ("0.5", 0.5), ("1e2", 100),
            ("9007199254740993", 9_007_199_254_740_993), (#""é\n\ud83d\ude42""#, "é\n🙂"),
            (#"["a",null,{"b":1}]"#, ["0": "a", "2": ["b": 1]]), (#"{"a":1,"a":2}"#, ["a": 2]),
            (#"{"a":1,"a":null}"#, nil), (#"{".value":5,".priority":null}"#, 5),
            (#"{".priority":"p",".value":null}"#, nil), (#"{"a":{".value":"x"}}"#, ["a": "x"]),
            (#"{".value":null}"#, nil), (#"{".priority":2}"#, nil),
            (#"{"10":1,"9":2,"b":3,"a":4}"#, ["9": 2, "10": 1, "a": 4, "b": 3]),
        ] as [(String, Value)])
    func jsonBecomesAValue(text: String, value: Value) throws {
        let decoded = try Self.decode(text)
        #expect(decoded == value)
        checkInvariants(decoded)
    }

    @Test(
        arguments: [
            (#"{"a.b":1}"#, ValueError.Kind.key, 2), (#"{"":1}"#, .key, 2),
            (#"{"a":{"b/c":1}}"#, .key, 7),
            (#"{"a\u0001":1}"#, .key, 2), (#"{".info":1}"#, .key, 2), ("1e999", .number, 0),
            (#"{".sv":"timestamp"}"#, .serverValue, 8), (#"{".value":1,"a":2}"#, .exportForm, 10),
            (#"{"a":1,".value":2}"#, .exportForm, 16), (#"{".value":{"a":1}}"#, .exportForm, 10),
        ] as [(String, ValueError.Kind, Int)])
    func whatCannotBeStoredIsRefused(text: String, kind: ValueError.Kind, offset: Int) {
        #expect(throws: ValueError(kind, at: offset)) { try Self.decode(text) }
    }

    @Test func limitsHoldToTheByte() throws {
        let key = String(repeating: "é", count: 384)
        _ = try Self.decode(#"{"\#(key)":1}"#)
        #expect(throws: ValueError(.keyTooLong, at: 2)) { try Self.decode(#"{"\#(key)x":1}"#) }
        var limits = TreeLimits()
        limits.stringBytesMax = 5
        var decoder = ValueDecoder(limits: limits)
        let parser = JSONParser()
        _ = try decoder.decode(parser.parse(Array(#""12345""#.utf8)))
        #expect(throws: ValueError(.stringTooLong, at: 1)) {
            try decoder.decode(parser.parse(Array(#""123456""#.utf8)))
        }
    }

    @Test func placesNestThirtyTwoDeepPathIncluded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        }
        _ = try Self.decode(nested(32))
        #expect(throws: ValueError.self) { try Self.decode(nested(33)) }
        let path = Path(segments: Array(repeating: [0x61], count: 30))
        _ = try Self.decode(Array(nested(2).utf8), at: path)
        #expect(throws: ValueError.self) { try Self.decode(Array(nested(3).utf8), at: path) }
        #expect(throws: ValueError.self) {
            try Self.decode(Array(#"{"a":{"b":[1]}}"#.utf8), at: path)
        }
    }

    @Test(
        arguments: [
            (Value.null, #"{"increment":5}"#, Value.int(5)), (3, #"{"increment":5}"#, 8),
            (1.5, #"{"increment":1}"#, 2.5), (3, #"{"increment":0.5}"#, 3.5),
            ("x", #"{"increment":2}"#, 2), (["a": 1], #"{"increment":2}"#, 2),
            (.int(.max), #"{"increment":1}"#, .double(0x1p63)), (3, #""timestamp""#, 1_234),
        ] as [(Value, String, Value)])
    func serverValuesAreResolved(current: Value, what: String, result: Value) throws {
        let server = ValueDecoder.ServerValues(now: 1_234) { path in
            path == "n/deep/0/x" ? current : nil
        }
        let text = #"{"deep":[{"x":{".sv":\#(what)},"y":1}]}"#
        let value = try Self.decode(Array(text.utf8), at: "n", server: server)
        #expect(value == ["deep": ["0": ["x": result, "y": 1]]])
    }

    @Test(arguments: [#""now""#, "1", #"{"increment":"1"}"#, #"{"decrement":1}"#, "null"])
    func unknownServerValuesAreRefused(_ what: String) {
        let server = ValueDecoder.ServerValues(now: 0) { _ in nil }
        #expect(throws: ValueError(.serverValue, at: what.hasPrefix("\"") ? 8 : 7)) {
            try Self.decode(Array(#"{".sv":\#(what)}"#.utf8), server: server)
        }
    }

    @Test func aSharedTextIsTheSameText() throws {
        var decoder = ValueDecoder()
        let parser = JSONParser()
        // Far more texts than the table of shared ones has places.
        for round in 0..<2 {
            for number in 0..<5_000 {
                let text = #"{"k\#(number)":"v\#(number)"}"#
                let value = try decoder.decode(parser.parse(Array(text.utf8)))
                #expect(
                    value == .node([(Array("k\(number)".utf8), .string(Array("v\(number)".utf8)))]),
                    "\(round)")
            }
        }
    }
}
