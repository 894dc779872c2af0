/// What a pattern says.
indirect enum RegexTree {
    case instruction(RegularExpression.Instruction)
    case sequence([RegexTree])
    case union([RegexTree])
    /// At least and at most so often; nil: without bound.
    case repeated(RegexTree, Int, Int?)
}

/// Parses the pattern of a regular expression.
struct RegexParser {
    typealias Failure = RegularExpression.Failure

    /// How deep groups may nest.
    static let depthMax = 30

    private let scalars: [Unicode.Scalar]
    private let ignoresCase: Bool
    private var index = 0
    private var depth = 0

    init(_ pattern: [UInt8], ignoringCase: Bool) {
        scalars = Array(String(decoding: pattern, as: UTF8.self).unicodeScalars)
        ignoresCase = ignoringCase
    }

    private var next: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private func failure(_ message: String, at place: Int? = nil) -> Failure {
        let before = scalars[..<min(place ?? index, scalars.count)]
        let offset = before.reduce(0) { $0 + UTF8.width($1) }
        return Failure(offset: offset, message: "Regular expression: \(message)")
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        index += 1
        return true
    }

    mutating func whole() throws(Failure) -> RegexTree {
        guard !scalars.isEmpty else { throw failure("it is empty") }
        let tree = try union()
        guard index == scalars.count else { throw failure("')' without '('") }
        return tree
    }

    private mutating func union() throws(Failure) -> RegexTree {
        var branches = [try sequence()]
        while take("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .union(branches)
    }

    private mutating func sequence() throws(Failure) -> RegexTree {
        var parts: [RegexTree] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            parts.append(try repeated())
        }
        return .sequence(parts)
    }

    private mutating func repeated() throws(Failure) -> RegexTree {
        let start = index
        let part = try single()
        guard let (least, most) = try repetition() else { return part }
        if case .instruction(.atStart) = part {
            throw failure("'^' cannot be repeated", at: start)
        }
        if case .instruction(.atEnd) = part { throw failure("'$' cannot be repeated", at: start) }
        if let scalar = next, scalar == "*" || scalar == "+" || scalar == "?" || scalar == "{" {
            throw failure("two repetitions in a row")
        }
        return .repeated(part, least, most)
    }

    private mutating func repetition() throws(Failure) -> (Int, Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        let start = index
        guard take("{") else { return nil }
        guard let least = number() else { throw failure("'{' needs a number", at: start) }
        var most: Int? = least
        if take(",") {
            most = nil
            if next != "}" {
                guard let number = number() else { throw failure("',' needs a number", at: start) }
                most = number
            }
        }
        guard take("}") else { throw failure("'{' has no '}'", at: start) }
        guard max(least, most ?? 0) <= RegularExpression.repeatMax else {
            throw failure("more than \(RegularExpression.repeatMax) repetitions", at: start)
        }
        guard most.map({ $0 >= least }) ?? true else {
            throw failure("the repetitions are out of order", at: start)
        }
        return (least, most)
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let scalar = next, "0"..."9" ~= scalar {
            value = min((value ?? 0) * 10 + Int(scalar.value - 48), 1_000_000)
            index += 1
        }
        return value
    }

    private mutating func single() throws(Failure) -> RegexTree {
        let start = index
        guard let scalar = next else { throw failure("it ends too early") }
        index += 1
        switch scalar {
        case "(": return try group(start)
        case "[": return .instruction(.set(try set(start)))
        case ".": return .instruction(.any)
        case "^":
            guard start == 0 else { throw failure("'^' stands only at the beginning", at: start) }
            return .instruction(.atStart)
        case "$":
            guard index == scalars.count else {
                throw failure("'$' stands only at the end", at: start)
            }
            return .instruction(.atEnd)
        case "*", "+", "?", "{": throw failure("nothing to repeat", at: start)
        case "\\":
            let escaped = try escape(start)
            if let named = named(escaped) { return .instruction(.set(named)) }
            return literal(try unescaped(escaped, start))
        default: return literal(scalar)
        }
    }

    private mutating func group(_ start: Int) throws(Failure) -> RegexTree {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthMax else { throw failure("groups nest too deeply", at: start) }
        // A `?` that follows `(` stands for itself, as in the hosted database: there are no groups
        // of other kinds.
        let mark = take("?") ? [literal("?")] : []
        let tree = RegexTree.sequence(mark + [try union()])
        guard take(")") else { throw failure("'(' has no ')'", at: start) }
        return tree
    }

    private func literal(_ scalar: Unicode.Scalar) -> RegexTree {
        .instruction(.scalar(ignoresCase ? folded(scalar) : scalar.value))
    }

    private mutating func escape(_ start: Int) throws(Failure) -> Unicode.Scalar {
        guard let scalar = next else { throw failure("'\\' at the end", at: start) }
        index += 1
        return scalar
    }

    private func unescaped(
        _ scalar: Unicode.Scalar, _ start: Int
    ) throws(Failure) -> Unicode.Scalar {
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "f": return "\u{0C}"
        default:
            guard !(scalar.isASCII && isWordByte(UInt8(scalar.value))) else {
                throw failure("'\\\(scalar)' is not known", at: start)
            }
            return scalar
        }
    }

    /// `\s \w \d` and their opposites, in ASCII.
    private func named(_ scalar: Unicode.Scalar) -> RegularExpression.Class? {
        let lower = Unicode.Scalar(scalar.value | 0x20)
        let ranges: [ClosedRange<UInt32>]
        switch lower {
        case "d": ranges = [0x30...0x39]
        case "w":
            ranges =
                [0x30...0x39, 0x5F...0x5F, 0x61...0x7A] + (ignoresCase ? [] : [0x41...0x5A])
        case "s": ranges = [0x09...0x0D, 0x20...0x20]
        default: return nil
        }
        return RegularExpression.Class(ranges: ranges, isNegated: scalar != lower)
    }

    private mutating func set(_ start: Int) throws(Failure) -> RegularExpression.Class {
        var set = RegularExpression.Class()
        set.isNegated = take("^")
        var isEmpty = true
        while let scalar = next, scalar != "]" {
            isEmpty = false
            index += 1
            guard let low = try element(scalar, &set, start) else { continue }
            guard next == "-", index + 1 < scalars.count, scalars[index + 1] != "]" else {
                set.ranges.append(range(low, low))
                continue
            }
            index += 1
            guard let last = next else { break }
            index += 1
            guard let high = try element(last, &set, start), high >= low else {
                throw failure("a range is out of order", at: start)
            }
            append(low, high, to: &set)
        }
        guard take("]") else { throw failure("'[' has no ']'", at: start) }
        guard !isEmpty else { throw failure("'[]' is empty", at: start) }
        return set
    }

    /// A character of a set; nil for a class, which has been added.
    private mutating func element(
        _ scalar: Unicode.Scalar, _ set: inout RegularExpression.Class, _ start: Int
    ) throws(Failure) -> Unicode.Scalar? {
        guard scalar == "\\" else { return scalar }
        let escaped = try escape(start)
        guard let named = named(escaped) else { return try unescaped(escaped, start) }
        set.ranges.append(contentsOf: named.isNegated ? opposite(named.ranges) : named.ranges)
        return nil
    }

    private func range(_ low: Unicode.Scalar, _ high: Unicode.Scalar) -> ClosedRange<UInt32> {
        guard ignoresCase, low == high else { return low.value...high.value }
        return folded(low)...folded(low)
    }

    /// Where case does not count, the text comes in lower case: so do a range's letters.
    private func append(
        _ low: Unicode.Scalar, _ high: Unicode.Scalar, to set: inout RegularExpression.Class
    ) {
        set.ranges.append(low.value...high.value)
        guard ignoresCase else { return }
        let letters = max(low.value, 0x41)...max(min(high.value, 0x5A), max(low.value, 0x41))
        if low.value <= 0x5A, high.value >= 0x41 {
            set.ranges.append((letters.lowerBound | 0x20)...(letters.upperBound | 0x20))
        }
    }

    private func opposite(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var out: [ClosedRange<UInt32>] = []
        var start: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > start { out.append(start...range.lowerBound - 1) }
            start = range.upperBound + 1
        }
        out.append(start...0x10FFFF)
        return out
    }
}
