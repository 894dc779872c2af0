internal import Oracle
internal import Tree
internal import TreeRules

/// Rules from one seed: of the grammar, what mutation makes of such, or bytes of any kind. They are
/// loaded, printed, loaded once more and asked.
///
/// None may take the process down or go on for ever; what is refused is told with its line; asked
/// twice they say the same, and so do those that were printed.
public struct RulesRound {
    /// What was wrong; empty where all went well.
    public private(set) var breaches: [String] = []
    /// Whether they are rules.
    public private(set) var isAccepted = false
    /// Their text.
    public let text: [UInt8]

    /// How they are made.
    public enum Kind: CaseIterable, Sendable {
        /// By the grammar.
        case generated
        /// By the grammar, and then some bytes are changed.
        case mutated
        /// Of any bytes, as an expression or a pattern.
        case bytes
    }

    /// Plays the round of a seed.
    ///
    /// - Parameter kind: nil lets chance choose.
    public init(seed: UInt64, kind: Kind? = nil) {
        var grammar = RulesGrammar(seed: seed)
        switch kind ?? grammar.random.pick([.generated, .mutated, .mutated, .bytes]) {
        case .generated: text = Array(grammar.document(grammar.random.int(0..<6)).utf8)
        case .mutated: text = grammar.mutated(grammar.document(grammar.random.int(1..<5)))
        case .bytes:
            let bytes = (0..<grammar.random.int(0..<60)).map { _ in
                UInt8(truncatingIfNeeded: grammar.random.next())
            }
            let (head, tail) = grammar.random.pick([("", ""), ("'é'.matches(/", "/)")])
            text = Array("{\"rules\":{\".read\":\"\(head)".utf8) + bytes + "\(tail)\"}}".utf8
        }
        do throws(RulesError) {
            let rules = try Rules(text)
            isAccepted = true
            try use(rules)
        } catch {
            let isTold = error.issues.allSatisfy { $0.line >= 1 && !$0.message.isEmpty }
            if isAccepted { breaches.append("what was printed is refused: \(error)") }
            if error.issues.isEmpty || !isTold { breaches.append("refused without a reason") }
        }
    }

    private static let tree = Tree([
        "a": ["b": 1, "a": "a", "c": ["é😀": true]], "c": "a/b", "n": 3,
    ])
    private static let user: Value = ["uid": "a", "token": ["email": "a@b"], "x": 1]
    private static let update = try? Update([
        .init(path: "a/b", value: 2), .init(path: "c", value: ["a": "é", "b": ["c": true]]),
        .init(path: "n", value: nil),
    ])

    private mutating func use(_ rules: Rules) throws(RulesError) {
        let printed = try Rules(rules.strict)
        if printed.strict != rules.strict { breaches.append("printed twice, they differ") }
        for auth in [Self.user, .null] {
            let answers = Self.answers(rules, auth)
            if answers != Self.answers(rules, auth) { breaches.append("asked twice, they differ") }
            if answers != Self.answers(printed, auth) { breaches.append("printed, they differ") }
            let grant = rules.readGrant("a/b", auth: auth, now: 7, in: Self.tree)
            if (grant != nil) != answers[0] { breaches.append("a grant differs from the answer") }
        }
    }

    private static func answers(_ rules: Rules, _ auth: Value) -> [Bool] {
        let mayWrite = update.map { rules.mayWrite($0, auth: auth, now: 7, in: tree) }
        return [rules.mayRead("a/b", auth: auth, now: 7, in: tree), mayWrite ?? false]
    }
}
