import JSON
import Oracle
import Testing

@testable import Tree

/// A database as simple as it gets: leaves by their whole path.
private struct Model {
    var leaves: [[[UInt8]]: Value] = [:]

    mutating func set(_ value: Value, at path: [[UInt8]]) {
        leaves = leaves.filter { !$0.key.starts(with: path) }
        guard !value.isNull else { return }
        leaves = leaves.filter { !path.starts(with: $0.key) }
        insert(value, at: path)
    }

    private mutating func insert(_ value: Value, at path: [[UInt8]]) {
        guard case .object(let children) = value else {
            leaves[path] = value
            return
        }
        for (key, child) in children {
            insert(child, at: path + [key.bytes])
        }
    }
}

private func leaves(_ value: Value, _ path: [[UInt8]] = []) -> [[[UInt8]]: Value] {
    switch value {
    case .null: return [:]
    case .object(let children):
        var all: [[[UInt8]]: Value] = [:]
        for (key, child) in children {
            all.merge(leaves(child, path + [key.bytes])) { a, _ in a }
        }
        return all
    default: return [path: value]
    }
}

/// What must hold of every value at rest.
func checkInvariants(_ value: Value) {
    guard case .object(let children) = value else { return }
    #expect(!children.isEmpty)
    var last: ChildKey?
    for block in children.blocks {
        #expect(!block.isEmpty && block.count <= Children.blockMax)
        for entry in block {
            if let last { #expect(last < entry.key) }
            last = entry.key
            #expect(!entry.value.isNull)
            checkInvariants(entry.value)
        }
    }
}

@Suite struct TreeModelTests {
    private static func randomValue(_ random: inout SplitMix64, depth: Int = 0) -> Value {
        switch Int.random(in: 0..<(depth < 3 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .int(Int64.random(in: -5...5, using: &random))
        case 3: return .number(Double.random(in: -5...5, using: &random))
        case 4, 5: return .string(Array("text \(Int.random(in: 0..<9, using: &random))".utf8))
        default:
            let count = Int.random(in: 0..<5, using: &random)
            return .node(
                (0..<count).map { _ in
                    (name: randomName(&random), value: randomValue(&random, depth: depth + 1))
                })
        }
    }

    private static func randomName(_ random: inout SplitMix64) -> [UInt8] {
        Array(
            ["a", "b", "é", "e\u{301}", "0", "1", "2", "01", "-1", "🙂"].randomElement(
                using: &random)!.utf8)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func writesHaveTheEffectOfTheSimplestModel(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var tree = Tree()
        var model = Model()
        for _ in 0..<200 {
            let depth = Int.random(in: 0...4, using: &random)
            let path = Path(segments: (0..<depth).map { _ in Self.randomName(&random) })
            let value = Self.randomValue(&random)
            tree.set(value, at: path)
            model.set(value, at: path.segments)
            #expect(leaves(tree.root) == model.leaves)
            checkInvariants(tree.root)
            #expect(tree.get(path) == value)
        }
        #expect(tree.root.leafCount == model.leaves.count)
        let read = try ValueDecoderTests.decode(tree.root.json(.export))
        #expect(read == tree.root)
        #expect(try ValueDecoderTests.decode(tree.root.json(.pretty)) == tree.root)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func aCopyIsNotChangedByLaterWrites(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var tree = Tree()
        for _ in 0..<50 {
            let path = Path(segments: (0..<3).map { _ in Self.randomName(&random) })
            let before = tree
            let text = before.root.json(.export)
            tree.set(Self.randomValue(&random), at: path)
            #expect(before.root.json(.export) == text)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func differencesNameExactlyThePlacesThatDiffer(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let a = Self.randomValue(&random)
        let b = Self.randomValue(&random)
        #expect(a.differences(from: a).isEmpty)
        let found = a.differences(from: b)
        #expect(found.isEmpty == (a == b))
        var mended = a
        for difference in found {
            #expect(a[difference.path] == difference.found)
            #expect(b[difference.path] == difference.expected)
            mended.set(difference.expected, at: difference.path)
        }
        #expect(mended == b)
        #expect(a.differences(from: b, limit: 1).count == min(1, found.count))
    }

    @Test(arguments: ["ascending", "descending", "shuffled"])
    func aNodeWithVeryManyChildrenStaysInOrder(_ order: String) {
        var random = SplitMix64(seed: 7)
        var numbers = Array(0..<20_000)
        if order == "descending" { numbers.reverse() }
        if order == "shuffled" { numbers.shuffle(using: &random) }
        var tree = Tree()
        for number in numbers { tree.set(.int(Int64(number)), at: Path("a/k\(number)".utf8)) }
        checkInvariants(tree.root)
        #expect(tree.root.leafCount == 20_000)
        let names = (0..<20_000).map { "k\($0)" }.sorted {
            Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8))
        }
        #expect(
            tree.get("a").children.map { String(decoding: $0.key.bytes, as: UTF8.self) } == names)
        for number in numbers where number % 3 != 0 { tree.set(nil, at: Path("a/k\(number)".utf8)) }
        checkInvariants(tree.root)
        #expect(tree.root.leafCount == 6_667)
        #expect(tree.get("a/k3") == 3 && tree.get("a/k4") == nil)
        for number in numbers { tree.set(nil, at: Path("a/k\(number)".utf8)) }
        #expect(tree.root == nil)
    }
}

@Suite struct UpdateTests {
    @Test func anUpdateAppliesAllItsWrites() throws {
        var tree = Tree(["a": ["x": 1, "y": 2], "b": 3])
        try tree.apply(
            Update([
                .init(path: "b/c", value: 4), .init(path: "a/x", value: nil),
                .init(path: "a/z", value: ["q": true]),
            ]))
        #expect(tree.root == ["a": ["y": 2, "z": ["q": true]], "b": ["c": 4]])
    }

    @Test(
        arguments: [
            (["a", "a/b"], "a", "a/b"), (["x/y/z", "b", "x/y"], "x/y", "x/y/z"),
            (["a", "a"], "a", "a"),
            (["", "a"], "", "a"), (["a", "a!b", "a/b"], "a", "a/b"),
        ] as [([String], String, String)])
    func aPlaceAndItsAncestorAreRefused(paths: [String], ancestor: String, path: String) {
        #expect(throws: Update.Conflict(ancestor: Path(ancestor.utf8), path: Path(path.utf8))) {
            try Update(paths.map { .init(path: Path($0.utf8), value: 1) })
        }
    }

    @Test func placesThatOnlyLookAlikeAreAccepted() throws {
        _ = try Update(
            ["a", "ab", "a!", "b/a", "é", "e\u{301}"].map { .init(path: Path($0.utf8), value: 1) })
    }
}
