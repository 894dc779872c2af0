/// A regular expression of the kind that rules have: `* + ? {n,m} . | () [] ^ $`, `\s \w \d` and
/// their opposites; `^` only at the beginning, `$` only at the end.
///
/// It runs as a set of states (Thompson 1968), so that a match takes time in proportion to the
/// text, whatever the pattern.
struct RegularExpression: Sendable {
    struct Failure: Error {
        var offset: Int
        var message: String
    }

    /// The most instructions that a pattern may become.
    static let sizeMax = 2000
    /// The most repetitions that `{n,m}` may ask for.
    static let repeatMax = 1000

    struct Class: Sendable {
        var ranges: [ClosedRange<UInt32>] = []
        var isNegated = false

        func contains(_ scalar: UInt32) -> Bool {
            ranges.contains { $0.contains(scalar) } != isNegated
        }
    }

    enum Instruction: Sendable {
        case scalar(UInt32)
        case any
        case set(Class)
        /// Goes on at both.
        case split(Int, Int)
        case jump(Int)
        case atStart, atEnd
        case match
    }

    let program: [Instruction]
    let ignoresCase: Bool

    init(_ pattern: [UInt8], ignoringCase: Bool) throws(Failure) {
        var parser = RegexParser(pattern, ignoringCase: ignoringCase)
        let tree = try parser.whole()
        var compiler = RegexCompiler()
        try compiler.emit(tree)
        compiler.program.append(.match)
        program = compiler.program
        ignoresCase = ignoringCase
    }

    /// Whether it matches somewhere in the text.
    ///
    /// - Parameter budget: steps that may be made; at its end, nil.
    func matches(_ text: [UInt8], budget: inout Int) -> Bool? {
        var current = StateSet(program.count)
        var next = StateSet(program.count)
        var isStart = true
        var rest = String(decoding: text, as: UTF8.self).unicodeScalars.makeIterator()
        var scalar = rest.next()
        while true {
            // A match may begin at each place.
            add(0, to: &current, isStart: isStart, isEnd: scalar == nil)
            if current.hasMatch { return true }
            guard let value = scalar else { return false }
            budget -= 1 + current.count
            guard budget > 0 else { return nil }
            let code = ignoresCase ? folded(value) : value.value
            scalar = rest.next()
            next.removeAll()
            for index in 0..<current.count {
                let state = current[index]
                if accepts(program[state], code) {
                    add(state + 1, to: &next, isStart: false, isEnd: scalar == nil)
                }
            }
            swap(&current, &next)
            isStart = false
        }
    }

    private func accepts(_ instruction: Instruction, _ code: UInt32) -> Bool {
        switch instruction {
        case .scalar(let scalar): scalar == code
        case .any: code != 0x0A && code != 0x0D && code != 0x85 && code != 0x2028 && code != 0x2029
        case .set(let set): set.contains(code)
        default: false
        }
    }

    /// Follows what takes no character.
    private func add(_ start: Int, to states: inout StateSet, isStart: Bool, isEnd: Bool) {
        var pending = [start]
        while let state = pending.popLast() {
            guard states.insert(state) else { continue }
            switch program[state] {
            case .split(let a, let b): pending += [b, a]
            case .jump(let target): pending.append(target)
            case .atStart: if isStart { pending.append(state + 1) }
            case .atEnd: if isEnd { pending.append(state + 1) }
            case .match: states.hasMatch = true
            default: break
            }
        }
    }

    /// States in the order in which they came, each once.
    private struct StateSet {
        private var list: [Int] = []
        private var holds: [Bool]
        var hasMatch = false

        init(_ size: Int) { holds = Array(repeating: false, count: size) }

        var count: Int { list.count }
        subscript(index: Int) -> Int { list[index] }

        mutating func insert(_ state: Int) -> Bool {
            guard !holds[state] else { return false }
            holds[state] = true
            list.append(state)
            return true
        }

        mutating func removeAll() {
            for state in list { holds[state] = false }
            list.removeAll(keepingCapacity: true)
            hasMatch = false
        }
    }
}

/// The lower case of a scalar, where that is one scalar.
func folded(_ scalar: Unicode.Scalar) -> UInt32 {
    let value = scalar.value
    if value < 0x80 { return 0x41...0x5A ~= value ? value | 0x20 : value }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    return lower.count == 1 ? lower.first?.value ?? value : value
}

/// A pattern as a program.
private struct RegexCompiler {
    var program: [RegularExpression.Instruction] = []
    /// Counts also what leaves no instruction, such as an empty group a thousand times.
    private var steps = 0

    mutating func emit(_ tree: RegexTree) throws(RegularExpression.Failure) {
        steps += 1
        guard program.count < RegularExpression.sizeMax, steps < 20 * RegularExpression.sizeMax
        else {
            throw RegularExpression.Failure(
                offset: 0, message: "Regular expression is too large")
        }
        switch tree {
        case .instruction(let instruction): program.append(instruction)
        case .sequence(let parts): for part in parts { try emit(part) }
        case .union(let branches): try emit(union: branches)
        case .repeated(let part, let least, let most):
            for _ in 0..<least { try emit(part) }
            guard let most else { return try emit(starOf: part) }
            guard most > least else { return }
            for _ in least..<most {
                let split = program.count
                program.append(.match)
                try emit(part)
                program[split] = .split(split + 1, program.count)
            }
        }
    }

    private mutating func emit(starOf part: RegexTree) throws(RegularExpression.Failure) {
        let split = program.count
        program.append(.match)
        try emit(part)
        program.append(.jump(split))
        program[split] = .split(split + 1, program.count)
    }

    private mutating func emit(union branches: [RegexTree]) throws(RegularExpression.Failure) {
        var jumps: [Int] = []
        for branch in branches.dropLast() {
            let split = program.count
            program.append(.match)
            try emit(branch)
            jumps.append(program.count)
            program.append(.match)
            program[split] = .split(split + 1, program.count)
        }
        if let last = branches.last { try emit(last) }
        for jump in jumps { program[jump] = .jump(program.count) }
    }
}
