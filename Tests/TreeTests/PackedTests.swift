import JSON
import Oracle
import Testing

@testable import Tree

@Suite("The packed form") struct PackedTests {
    /// Values of all kinds, their small nodes packed or not.
    private static func randomValue(_ random: inout SplitMix64, depth: Int = 0) -> Value {
        switch Int.random(in: 0..<(depth < 4 ? 11 : 7), using: &random) {
        case 0: return .bool(Bool.random(using: &random))
        case 1: return .int(Int64.random(in: .min ... .max, using: &random))
        case 2: return .int(Int64.random(in: -100...100, using: &random))
        case 3: return .number(Double.random(in: -5...5, using: &random))
        case 4: return .string(Array("STREAM_CHUNK_TYPE_TEXT".utf8))
        case 5: return .string(Array("text \(Int.random(in: 0..<9, using: &random))".utf8))
        case 6:
            let count = [0, 1, 62, 63, 64, 65, 127, 128, 300, 700].randomElement(using: &random)!
            return .string([UInt8](repeating: 0x61, count: count))
        case 7:
            return randomValue(&random, depth: depth + 1).with(priority: .int(7))
        default:
            let count = Int.random(in: 1..<20, using: &random)
            return .node(
                (0..<count).map { _ in
                    (name: randomName(&random), value: randomValue(&random, depth: depth + 1))
                })
        }
    }

    private static func randomName(_ random: inout SplitMix64) -> [UInt8] {
        let names = [
            "content", "type", "timestamp", "is_final", "é", "e\u{301}", "0", "17", "01", "-1",
            "-x", "🙂", "\u{FFFD}", "A", "zz", "&", String(repeating: "k", count: 126),
            String(repeating: "k", count: 127), String(repeating: "k", count: 300),
        ]
        return Array(names.randomElement(using: &random)!.utf8)
    }

    private static func packed(_ value: Value) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(packed: value)
        return bytes
    }

    @Test("Every value reads back as itself, whether its nodes are kept packed or as entries")
    func roundTrip() throws {
        var random = SplitMix64(seed: 11)
        var reader = PackedReader()
        var decoder = ValueDecoder()
        for _ in 0..<2000 {
            let value = Self.randomValue(&random)
            let bytes = Self.packed(value)
            reader.begin(bytes)
            let back = try reader.value()
            #expect(reader.isAtEnd && back == value && value == back)
            let text = value.json(.export)
            #expect(back.json(.export) == text && back.json(.pretty) == value.json(.pretty))
            #expect(back.json() == value.json() && back.nodeHash == value.nodeHash)
            // What comes as JSON packs its small nodes itself.
            let decoded = try decoder.decode(JSONParser().parse(text))
            #expect(decoded == value && value == decoded && Self.packed(decoded) == bytes)
            #expect(decoded.json(.export) == text)
        }
    }

    @Test("A node of a few leaves behaves like one of entries under every write and read")
    func writes() throws {
        var random = SplitMix64(seed: 12)
        var decoder = ValueDecoder()
        var packedNodes = 0
        for _ in 0..<1000 {
            let count = Int.random(in: 1..<5, using: &random)
            let value = Value.node(
                (0..<count).map { _ in
                    (name: Self.randomName(&random), value: Self.randomValue(&random, depth: 4))
                })
            var mine = try decoder.decode(JSONParser().parse(value.json(.export)))
            var theirs = value
            if case .object(let children) = mine, case .packed = children.storage {
                packedNodes += 1
            }
            for _ in 0..<4 {
                let name = Self.randomName(&random)
                #expect(mine[name] == theirs[name])
                let path = Path(segments: [name])
                let new = Bool.random(using: &random) ? .null : Self.randomValue(&random)
                mine.set(new, at: path)
                theirs.set(new, at: path)
                #expect(mine == theirs && mine.leafCount == theirs.leafCount)
                #expect(mine.children.count == theirs.children.count)
            }
        }
        #expect(packedNodes > 50)
    }

    @Test(
        "Of a repeated name the last counts, and null takes it back, in a small node too",
        arguments: [
            (#"{"a":1,"a":2}"#, #"{"a":2}"#), (#"{"a":1,"a":null}"#, "null"),
            (#"{"b":1,"a":true,"b":"x"}"#, #"{"a":true,"b":"x"}"#),
            (#"{"b":"\n","a":null,"c":7.0}"#, #"{"b":"\n","c":7}"#),
            (#"{"10":1,"9":2,"a":3}"#, #"{"9":2,"10":1,"a":3}"#),
        ])
    func repeated(text: String, expected: String) throws {
        var decoder = ValueDecoder()
        let value = try decoder.decode(JSONParser().parse(Array(text.utf8)))
        #expect(String(decoding: value.json(.export), as: UTF8.self) == expected)
    }

    @Test("Updates read back, their paths shortened by what they share")
    func updates() throws {
        let update = try Update([
            Update.Write(path: "a/b/1", value: 1), Update.Write(path: "a/b/2", value: .null),
            Update.Write(path: "a/b/17/.priority", value: "p"),
            Update.Write(path: "c", value: ["x": true]),
        ])
        var bytes: [UInt8] = []
        bytes.append(packed: update)
        var reader = PackedReader()
        reader.begin(bytes)
        #expect(try reader.update() == update && reader.isAtEnd)
        #expect(bytes.count < 50)
    }

    @Test("Bytes that are no packed form are an error, wherever they are cut or changed")
    func damaged() {
        var random = SplitMix64(seed: 13)
        var reader = PackedReader()
        for _ in 0..<500 {
            var bytes = Self.packed(Self.randomValue(&random))
            for cut in Set((0..<8).map { _ in Int.random(in: 0..<bytes.count, using: &random) }) {
                reader.begin(Array(bytes[..<cut]))
                #expect(throws: PackedError.self) { try reader.value() }
            }
            for _ in 0..<20 {
                let index = Int.random(in: bytes.indices, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
                reader.begin(bytes)
                if let value = try? reader.value() { _ = value.json(.pretty) }
            }
        }
    }

    @Test("The known texts are ascending, so that their numbers are ordered as they are")
    func known() {
        let texts = PackedTexts.shared.texts
        for (a, b) in zip(texts, texts.dropFirst()) { #expect(utf16Order(a, b) < 0) }
        for (number, text) in texts.enumerated() {
            #expect(PackedTexts.shared.number(of: text.span) == UInt8(number))
        }
    }
}
