import Fuzzing
import Oracle
import Testing
import Tree

@testable import TreeRules

@Suite("Rules from seeds") struct FuzzTests {
    @Test(
        "Whatever they are, they are accepted or told why, and answer",
        arguments: RulesRound.Kind.allCases, 0..<20)
    func rounds(kind: RulesRound.Kind, batch: Int) {
        var accepted = 0
        for seed in batch * 100..<(batch + 1) * 100 {
            let round = RulesRound(seed: UInt64(seed), kind: kind)
            if round.isAccepted { accepted += 1 }
            #expect(round.breaches == [], "\(kind) \(seed)")
        }
        if kind == .generated { #expect(accepted > 40) }
    }

    /// Against a matcher that tries everything.
    @Test("Regular expressions match what a backtracking matcher says", arguments: 300..<320)
    func patterns(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        for _ in 0..<200 {
            let tree = Pattern.random(&random, depth: 3)
            let count = Int.random(in: 0...6, using: &random)
            let text = (0..<count).map { _ in random.pick(["a", "b", "c"]) }.joined()
            let anchored = random.chance(1 / 2)
            let pattern = anchored ? "^(\(tree.text))$" : tree.text
            guard !pattern.isEmpty else { continue }
            let expected =
                anchored
                ? tree.ends(Array(text), 0).contains(text.count)
                : (0...text.count).contains { !tree.ends(Array(text), $0).isEmpty }
            var budget = 1_000_000
            let regex = try RegularExpression(Array(pattern.utf8), ignoringCase: false)
            #expect(
                regex.matches(Array(text.utf8), budget: &budget) == expected, "/\(pattern)/ \(text)"
            )
        }
    }
}

/// A pattern, and where it may end.
private indirect enum Pattern {
    case scalar(Character)
    case sequence(Pattern, Pattern)
    case union(Pattern, Pattern)
    case repeated(Pattern, Int, Int)

    static func random(_ random: inout SplitMix64, depth: Int) -> Pattern {
        guard depth > 0 else { return .scalar(random.pick(["a", "b", "."])) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return .sequence(.random(&random, depth: depth - 1), .random(&random, depth: depth - 1))
        case 1:
            return .union(.random(&random, depth: depth - 1), .random(&random, depth: depth - 1))
        case 2:
            let (low, high) = random.pick([(0, 1), (0, 9), (1, 9), (2, 2), (1, 3)])
            return .repeated(.random(&random, depth: depth - 1), low, high)
        default: return .scalar(random.pick(["a", "b", "c", "."]))
        }
    }

    /// Nine stands for without bound: the texts are shorter.
    var text: String {
        switch self {
        case .scalar(let character): String(character)
        case .sequence(let a, let b): a.text + b.text
        case .union(let a, let b): "(\(a.text)|\(b.text))"
        case .repeated(let part, 0, 1): "(\(part.text))?"
        case .repeated(let part, 0, _): "(\(part.text))*"
        case .repeated(let part, 1, 9): "(\(part.text))+"
        case .repeated(let part, let low, let high): "(\(part.text)){\(low),\(high)}"
        }
    }

    func ends(_ text: [Character], _ start: Int) -> Set<Int> {
        switch self {
        case .scalar(let character):
            guard start < text.count, character == "." || text[start] == character else {
                return []
            }
            return [start + 1]
        case .sequence(let a, let b):
            return a.ends(text, start).reduce(into: []) { $0.formUnion(b.ends(text, $1)) }
        case .union(let a, let b): return a.ends(text, start).union(b.ends(text, start))
        case .repeated(let part, let low, let high):
            var here: Set<Int> = [start]
            var found: Set<Int> = low == 0 ? here : []
            for count in 1...high {
                here = here.reduce(into: []) { $0.formUnion(part.ends(text, $1)) }
                if count >= low { found.formUnion(here) }
            }
            return found
        }
    }
}
