import Oracle
import Testing
import Tree

@testable import TreeRules

extension SplitMix64 {
    /// An expression of the language: of a type, so that most are accepted.
    mutating func boolean(_ depth: Int) -> String {
        guard depth > 0 else { return pick(["true", "false", "auth != null", "data.exists()"]) }
        let d = depth - 1
        switch Int.random(in: 0..<12, using: &self) {
        case 0: return "(\(boolean(d)) && \(boolean(d)))"
        case 1: return "(\(boolean(d)) || \(boolean(d)))"
        case 2: return "!\(boolean(d))"
        case 3: return "(\(boolean(d)) ? \(boolean(d)) : \(boolean(d)))"
        case 4: return "\(number(d)) \(pick(["<", "<=", ">", ">=", "==", "!="])) \(number(d))"
        case 5: return "\(string(d)) \(pick(["<", ">=", "===", "!=="])) \(string(d))"
        case 6:
            return
                "\(snapshot(d)).\(pick(["exists()", "isString()", "hasChildren()", "isNumber()"]))"
        case 7: return "\(snapshot(d)).hasChildren([\(string(d)), \(string(d))])"
        case 8: return "\(string(d)).\(pick(["contains", "beginsWith", "endsWith"]))(\(string(d)))"
        case 9: return "\(string(d)).matches(/\(pattern(3))/\(pick(["", "i"])))"
        case 10: return "\(snapshot(d)).val() == \(pick([number(d), string(d), "null", "true"]))"
        default: return "auth.\(pick(["uid", "token.email", "x.y.z"])) == \(string(d))"
        }
    }

    mutating func number(_ depth: Int) -> String {
        guard depth > 0 else {
            return pick(["0", "1", "now", "9223372036854775807", "1e300", "0.5"])
        }
        let d = depth - 1
        switch Int.random(in: 0..<4, using: &self) {
        case 0: return "(\(number(d)) \(pick(["+", "-", "*", "/", "%"])) \(number(d)))"
        case 1: return "-\(number(d))"
        case 2: return "\(string(d)).length"
        default: return "\(snapshot(d)).val()"
        }
    }

    mutating func string(_ depth: Int) -> String {
        guard depth > 0 else {
            return pick(["'a'", "''", "$x", "'a/b'", "'é😀'", "\"c\"", "auth.uid"])
        }
        let d = depth - 1
        switch Int.random(in: 0..<4, using: &self) {
        case 0: return "(\(string(d)) + \(chance(1 / 2) ? string(d) : number(d)))"
        case 1: return "\(string(d)).replace(\(string(d)), \(string(d)))"
        case 2: return "\(string(d)).\(pick(["toUpperCase()", "toLowerCase()"]))"
        default: return "\(snapshot(d)).val()"
        }
    }

    mutating func snapshot(_ depth: Int) -> String {
        guard depth > 0 else { return pick(["root", "data", "newData"]) }
        return
            "\(snapshot(depth - 1)).\(chance(1 / 3) ? "parent()" : "child(\(string(depth - 1)))")"
    }

    mutating func pattern(_ depth: Int) -> String {
        guard depth > 0 else { return pick(["a", ".", "\\\\w", "[a-c]", "[^b]", "é", "\\\\."]) }
        let d = depth - 1
        switch Int.random(in: 0..<4, using: &self) {
        case 0: return pattern(d) + pattern(d)
        case 1: return "(\(pattern(d))|\(pattern(d)))"
        case 2: return "(\(pattern(d)))\(pick(["*", "+", "?", "{0,3}", "{2}"]))"
        default: return pattern(d)
        }
    }

    /// The text with a few bytes changed.
    mutating func mutated(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<4, using: &self) {
            case 0: bytes.remove(at: place)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 2:
                let piece = pick([
                    "(", ")", "[", "{", "\"", "'", "\\", "/", "/*", "$x", ".", "!", "?", "&&",
                ])
                bytes.insert(contentsOf: piece.utf8, at: place)
            default:
                let end = min(bytes.count, place + Int.random(in: 1...20, using: &self))
                bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
            }
        }
        return bytes
    }
}

@Suite("Rules from seeds") struct FuzzTests {
    private let tree = Tree(["a": ["b": 1, "a": "a", "c": ["é😀": true]], "c": "a/b", "n": 3])
    private let auth: Value = ["uid": "a", "token": ["email": "a@b"], "x": 1]

    private func document(_ expression: String, _ random: inout SplitMix64) -> String {
        let text = expression.replacing("\"", with: "\\\"")
        let read = text.contains("newData") ? "true" : text
        return
            "{\"rules\":{/* c */\".read\":\"\(read)\",\"$x\":{\".write\":\"\(text)\",\".validate\":\"\(text)\","
            + "\"\(random.pick(["a", "c", "$y"]))\":{\".validate\":\"\(text)\",\".indexOn\":[\"n\"]}}}} // end"
    }

    /// Neither may take the process down, nor go on for ever; and asked twice they say the same.
    private func use(_ rules: Rules) throws {
        let update = try Update([
            .init(path: "a/b", value: 2), .init(path: "c", value: ["a": "é", "b": ["c": true]]),
            .init(path: "n", value: nil),
        ])
        for auth in [auth, .null] {
            let answers = (0..<2).map { _ in
                (
                    rules.mayRead("a/b", auth: auth, now: 7, in: tree),
                    rules.mayWrite(update, auth: auth, now: 7, in: tree)
                )
            }
            #expect(answers[0] == answers[1])
            let grant = rules.readGrant("a/b", auth: auth, now: 7, in: tree)
            #expect((grant != nil) == answers[0].0)
        }
        let strict = try Rules(rules.strict)
        #expect(
            strict.mayWrite(update, auth: auth, now: 7, in: tree)
                == rules.mayWrite(update, auth: auth, now: 7, in: tree))
    }

    @Test("Expressions of the language are accepted or told why, and answer", arguments: 0..<20)
    func generated(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        var accepted = 0
        for _ in 0..<60 {
            let depth = Int.random(in: 0...4, using: &random)
            let text = document(random.boolean(depth), &random)
            do {
                try use(try Rules(Array(text.utf8)))
                accepted += 1
            } catch let error as RulesError {
                #expect(error.issues.allSatisfy { $0.line >= 1 && !$0.message.isEmpty })
            }
        }
        #expect(accepted > 20)
    }

    @Test("What mutation makes of them takes nothing down", arguments: 100..<120)
    func mutated(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        for _ in 0..<150 {
            let text = document(random.boolean(3), &random)
            let bytes = random.mutated(text)
            do {
                try use(try Rules(bytes))
            } catch let error as RulesError {
                #expect(!error.issues.isEmpty)
            }
        }
    }

    @Test("Bytes of any kind take nothing down", arguments: 200..<210)
    func bytes(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        for _ in 0..<300 {
            let count = Int.random(in: 0...60, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(throws: RulesError.self) { try Rules(bytes) }
            let quoted = Array("{\"rules\":{\".read\":\"".utf8) + bytes + Array("\"}}".utf8)
            _ = try? Rules(quoted)
            var budget = 100_000
            _ = try? RegularExpression(bytes, ignoringCase: true).matches(bytes, budget: &budget)
        }
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
