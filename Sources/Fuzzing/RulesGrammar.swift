public import Oracle

/// Rules from chance: expressions of the language, each of a type, so that most are accepted.
public struct RulesGrammar {
    /// What chance draws from.
    public var random: SplitMix64

    /// A grammar of that seed.
    public init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// The text of rules that ask one expression of so many levels in every place.
    public mutating func document(_ depth: Int) -> String {
        let text = random.boolean(depth).replacing("\"", with: "\\\"")
        let read = text.contains("newData") ? "true" : text
        let below = random.pick(["a", "c", "$y"])
        return """
            {"rules":{/* c */".read":"\(read)","$x":{".write":"\(text)",".validate":"\(text)",
            "\(below)":{".validate":"\(text)",".indexOn":["n"]}}}} // end
            """
    }

    /// The text with a few bytes changed.
    public mutating func mutated(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0..<random.int(1..<5) where !bytes.isEmpty {
            let place = random.int(0..<bytes.count)
            switch random.int(0..<4) {
            case 0: bytes.remove(at: place)
            case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 2: bytes.insert(contentsOf: random.pick(Self.pieces).utf8, at: place)
            default:
                let end = min(bytes.count, place + random.int(1..<21))
                bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
            }
        }
        return bytes
    }

    private static let pieces = [
        "(", ")", "[", "{", "\"", "'", "\\", "/", "/*", "$x", ".", "!", "?", "&&", "\n",
    ]
}

// By type.
extension SplitMix64 {
    fileprivate mutating func boolean(_ depth: Int) -> String {
        guard depth > 0 else { return pick(["true", "false", "auth != null", "data.exists()"]) }
        let d = depth - 1
        switch int(0..<12) {
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

    fileprivate mutating func number(_ depth: Int) -> String {
        guard depth > 0 else {
            return pick(["0", "1", "now", "9223372036854775807", "1e300", "0.5"])
        }
        let d = depth - 1
        switch int(0..<4) {
        case 0: return "(\(number(d)) \(pick(["+", "-", "*", "/", "%"])) \(number(d)))"
        case 1: return "-\(number(d))"
        case 2: return "\(string(d)).length"
        default: return "\(snapshot(d)).val()"
        }
    }

    fileprivate mutating func string(_ depth: Int) -> String {
        guard depth > 0 else {
            return pick(["'a'", "''", "$x", "'a/b'", "'é😀'", "\"c\"", "auth.uid"])
        }
        let d = depth - 1
        switch int(0..<4) {
        case 0: return "(\(string(d)) + \(chance(1 / 2) ? string(d) : number(d)))"
        case 1: return "\(string(d)).replace(\(string(d)), \(string(d)))"
        case 2: return "\(string(d)).\(pick(["toUpperCase()", "toLowerCase()"]))"
        default: return "\(snapshot(d)).val()"
        }
    }

    fileprivate mutating func snapshot(_ depth: Int) -> String {
        guard depth > 0 else { return pick(["root", "data", "newData"]) }
        return
            "\(snapshot(depth - 1)).\(chance(1 / 3) ? "parent()" : "child(\(string(depth - 1)))")"
    }

    fileprivate mutating func pattern(_ depth: Int) -> String {
        guard depth > 0 else { return pick(["a", ".", "\\\\w", "[a-c]", "[^b]", "é", "\\\\."]) }
        let d = depth - 1
        switch int(0..<4) {
        case 0: return pattern(d) + pattern(d)
        case 1: return "(\(pattern(d))|\(pattern(d)))"
        case 2: return "(\(pattern(d)))\(pick(["*", "+", "?", "{0,3}", "{2}"]))"
        default: return pattern(d)
        }
    }
}
