internal import Tree

/// Evaluates expressions for one request.
struct Evaluation {
    /// An expression has no value: a member of what has none, a wrong type, too much work. The
    /// rule is then false.
    enum Failure: Error { case noValue, tooMuchWork }

    /// How much one rule may work: an operation is a unit, as are 16 bytes of text that are moved.
    static let workMax = 2_000_000
    /// The longest string that an expression may make, in bytes.
    static let stringBytesMax = 10 * 1024 * 1024

    let auth: Value
    let now: Int64
    var query = RuleQuery()
    let old: Value
    /// The database as it would be; made when first asked for.
    private let update: Update?
    private var new: Value?

    /// The place of the rule, and what its `$` variables stand for.
    var place: [[UInt8]] = []
    var wildcards: [[UInt8]] = []

    private var work = 0
    /// The places that were looked at, where someone wants to know.
    var lookedAt: Set<Path>?
    /// Whether the clock was looked at.
    private(set) var usesNow = false

    init(auth: Value, now: Int64, old: Value, update: Update? = nil) {
        self.auth = auth
        self.now = now
        self.old = old
        self.update = update
    }

    /// Whether a rule holds: an error is a no.
    mutating func holds(_ rule: Rule?) -> Bool {
        switch rule {
        case nil: return false
        case .constant(let flag): return flag
        case .expression(let expression):
            work = Self.workMax
            guard let value = try? value(of: expression), case .bool(let flag) = value else {
                return false
            }
            return flag
        }
    }

    // MARK: Values

    private mutating func charge(_ units: Int) throws(Failure) {
        work -= units
        guard work > 0 else { throw .tooMuchWork }
    }

    private mutating func value(of expression: Expression) throws(Failure) -> RuleValue {
        try charge(1)
        switch expression {
        case .literal(let value): return value
        case .auth: return RuleValue(auth)
        case .now:
            usesNow = true
            return .number(.int(now))
        case .wildcard(let index): return .string(wildcards[index])
        case .root, .data, .newData, .child: return .snapshot(try snapshot(expression))
        case .snapshot(.parent, _): return .snapshot(try snapshot(expression))
        case .snapshot(let method, let operand): return try call(method, operand)
        case .hasChildren(let operand, let names): return .bool(try hasChildren(operand, names))
        case .queryField(let field): return value(of: field)
        case .member(let object, let key): return try member(object, key)
        case .length(let operand): return try length(operand)
        case .string(let method, let operand, let arguments):
            return try call(method, operand, arguments)
        case .matches(let operand, let regex): return .bool(try matches(operand, regex))
        case .not(let operand): return .bool(try !bool(operand))
        case .negative(let operand): return .number(try negated(operand))
        case .all(let parts): return .bool(try all(parts))
        case .any(let parts): return .bool(try any(parts))
        case .conditional(let test, let yes, let no):
            return try bool(test) ? try value(of: yes) : try value(of: no)
        case .equal(let a, let b, let negated): return .bool(try equal(a, b) != negated)
        case .compare(let comparison, let a, let b): return .bool(try compare(comparison, a, b))
        case .arithmetic(let arithmetic, let a, let b): return try compute(arithmetic, a, b)
        }
    }

    private mutating func bool(_ expression: Expression) throws(Failure) -> Bool {
        guard case .bool(let flag) = try value(of: expression) else { throw .noValue }
        return flag
    }

    private mutating func string(_ expression: Expression) throws(Failure) -> [UInt8] {
        guard case .string(let text) = try value(of: expression) else { throw .noValue }
        return text
    }

    private mutating func number(_ expression: Expression) throws(Failure) -> RuleValue.Number {
        guard case .number(let number) = try value(of: expression) else { throw .noValue }
        return number
    }

    private mutating func all(_ parts: [Expression]) throws(Failure) -> Bool {
        for part in parts where try !bool(part) { return false }
        return true
    }

    private mutating func any(_ parts: [Expression]) throws(Failure) -> Bool {
        for part in parts where try bool(part) { return true }
        return false
    }

    // MARK: Snapshots

    private mutating func snapshot(_ expression: Expression) throws(Failure) -> Snapshot {
        switch expression {
        case .root: return Snapshot(isNew: false, path: [])
        case .data: return Snapshot(isNew: false, path: place)
        case .newData: return Snapshot(isNew: true, path: place)
        case .child(let parent, let name):
            let above = try snapshot(parent)
            let below = above.child(try string(name))
            try charge(below.path.count)
            return below
        case .snapshot(.parent, let operand):
            var below = try snapshot(operand)
            guard !below.path.isEmpty else { throw .noValue }
            below.path.removeLast()
            return below
        default:
            guard case .snapshot(let snapshot) = try value(of: expression) else { throw .noValue }
            return snapshot
        }
    }

    private mutating func node(_ snapshot: Snapshot) -> Value {
        let path = Path(segments: snapshot.path)
        lookedAt?.insert(path)
        guard snapshot.isNew, let update else { return old[path] }
        if let new { return new[path] }
        var tree = Tree(old)
        tree.apply(update)
        new = tree.root
        return tree.root[path]
    }

    private mutating func call(
        _ method: Expression.SnapshotMethod, _ operand: Expression
    ) throws(Failure) -> RuleValue {
        let value = node(try snapshot(operand))
        switch method {
        case .val: return RuleValue(value)
        case .exists: return .bool(!value.isNull)
        case .getPriority: return RuleValue(value.priority)
        case .isNumber:
            if case .number = RuleValue(value) { return .bool(true) }
            return .bool(false)
        case .isString:
            if case .string = value { return .bool(true) }
            return .bool(false)
        case .isBoolean:
            if case .bool = value { return .bool(true) }
            return .bool(false)
        case .parent: throw .noValue
        }
    }

    private mutating func hasChildren(
        _ operand: Expression, _ names: [Expression]
    ) throws(Failure) -> Bool {
        let parent = try snapshot(operand)
        if names.isEmpty { return node(parent).isObject }
        var hasAll = true
        for name in names where node(parent.child(try string(name))).isNull { hasAll = false }
        return hasAll
    }

    // MARK: Members

    private mutating func member(
        _ object: Expression, _ key: Expression
    ) throws(Failure) -> RuleValue {
        let object = try value(of: object)
        let name: [UInt8] =
            switch try value(of: key) {
            case .string(let text): text
            case .number(let number): number.text
            default: throw .noValue
            }
        switch object {
        case .object(let value): return RuleValue(value[name])
        case .null: return .null
        default: throw .noValue
        }
    }

    private mutating func length(_ operand: Expression) throws(Failure) -> RuleValue {
        switch try value(of: operand) {
        case .string(let text):
            try charge(text.count / 16)
            return .number(.int(Int64(String(decoding: text, as: UTF8.self).utf16.count)))
        case .object(let value): return RuleValue(value[Array("length".utf8)])
        default: throw .noValue
        }
    }

    private func value(of field: Expression.QueryField) -> RuleValue {
        switch field {
        case .orderByKey: .bool(query.order == .key)
        case .orderByValue: .bool(query.order == .value)
        case .orderByPriority: .bool(query.order == .priority)
        case .orderByChild: if case .child(let path) = query.order { .string(path) } else { .null }
        case .startAt: RuleValue(query.startAt)
        case .endAt: RuleValue(query.endAt)
        case .equalTo: RuleValue(query.equalTo)
        case .limitToFirst: query.limitToFirst.map { .number(.int(Int64($0))) } ?? .null
        case .limitToLast: query.limitToLast.map { .number(.int(Int64($0))) } ?? .null
        }
    }

    // MARK: Operators

    private mutating func negated(_ operand: Expression) throws(Failure) -> RuleValue.Number {
        switch try number(operand) {
        case .int(let number) where number != .min: .int(-number)
        case let number: .of(-number.double)
        }
    }

    private mutating func equal(_ a: Expression, _ b: Expression) throws(Failure) -> Bool {
        let x = try value(of: a)
        let y = try value(of: b)
        switch x {
        case .string(let text): try charge(text.count / 16)
        case .object(let value): try charge(value.leafCount)
        case .snapshot: throw .noValue
        default: break
        }
        return x == y
    }

    private mutating func compare(
        _ comparison: Expression.Comparison, _ a: Expression, _ b: Expression
    ) throws(Failure) -> Bool {
        switch (try value(of: a), try value(of: b)) {
        case (.number(let x), .number(let y)):
            switch comparison {
            case .less: return x < y
            case .greater: return y < x
            case .lessOrEqual: return x < y || x == y
            case .greaterOrEqual: return y < x || x == y
            }
        case (.string(let x), .string(let y)):
            try charge(min(x.count, y.count) / 16)
            let order = Value.string(x).rankOrder(.string(y))
            switch comparison {
            case .less: return order < 0
            case .greater: return order > 0
            case .lessOrEqual: return order <= 0
            case .greaterOrEqual: return order >= 0
            }
        default: throw .noValue
        }
    }

    private mutating func compute(
        _ arithmetic: Expression.Arithmetic, _ a: Expression, _ b: Expression
    ) throws(Failure) -> RuleValue {
        let x = try value(of: a)
        let y = try value(of: b)
        if case .number(let x) = x, case .number(let y) = y {
            return .number(result(arithmetic, x, y))
        }
        guard arithmetic == .add else { throw .noValue }
        switch (x, y) {
        case (.string(let x), .string(let y)): return try joined(x, y)
        case (.string(let x), .number(let y)): return try joined(x, y.text)
        case (.number(let x), .string(let y)): return try joined(x.text, y)
        default: throw .noValue
        }
    }

    private mutating func joined(_ a: [UInt8], _ b: [UInt8]) throws(Failure) -> RuleValue {
        guard a.count + b.count <= Self.stringBytesMax else { throw .tooMuchWork }
        try charge((a.count + b.count) / 16)
        return .string(a + b)
    }

    private func result(
        _ arithmetic: Expression.Arithmetic, _ a: RuleValue.Number, _ b: RuleValue.Number
    ) -> RuleValue.Number {
        if case .int(let x) = a, case .int(let y) = b {
            let (exact, overflow): (Int64, Bool) =
                switch arithmetic {
                case .add: x.addingReportingOverflow(y)
                case .subtract: x.subtractingReportingOverflow(y)
                case .multiply: x.multipliedReportingOverflow(by: y)
                case .remainder: x.remainderReportingOverflow(dividingBy: y)
                case .divide: (0, true)
                }
            if !overflow { return .int(exact) }
        }
        let (x, y) = (a.double, b.double)
        switch arithmetic {
        case .add: return .of(x + y)
        case .subtract: return .of(x - y)
        case .multiply: return .of(x * y)
        case .divide: return y == 0 ? .double(.nan) : .of(x / y)
        case .remainder: return y == 0 ? .double(.nan) : .of(x.truncatingRemainder(dividingBy: y))
        }
    }

    // MARK: Strings

    private mutating func matches(
        _ operand: Expression, _ regex: RegularExpression
    ) throws(Failure) -> Bool {
        let text = try string(operand)
        guard let matches = regex.matches(text, budget: &work) else { throw .tooMuchWork }
        return matches
    }

    private mutating func call(
        _ method: Expression.StringMethod, _ operand: Expression, _ arguments: [Expression]
    ) throws(Failure) -> RuleValue {
        let text = try string(operand)
        var values: [[UInt8]] = []
        for argument in arguments { values.append(try string(argument)) }
        try charge(text.count / 16)
        switch method {
        case .contains: return .bool(try find(values[0], in: text, from: 0) != nil)
        case .beginsWith: return .bool(text.starts(with: values[0]))
        case .endsWith: return .bool(text.reversed().starts(with: values[0].reversed()))
        case .replace: return .string(try replaced(text, values[0], values[1]))
        case .toLowerCase:
            return .string(Array(String(decoding: text, as: UTF8.self).lowercased().utf8))
        case .toUpperCase:
            return .string(Array(String(decoding: text, as: UTF8.self).uppercased().utf8))
        }
    }

    /// Where `word` stands in the text, from an index on.
    private mutating func find(
        _ word: [UInt8], in text: [UInt8], from start: Int
    ) throws(Failure) -> Int? {
        guard let first = word.first else { return start }
        guard text.count - start >= word.count else { return nil }
        let text = text.span
        let word = word.span
        var index = start
        while index <= text.count - word.count {
            if text[index] == first {
                var length = 1
                while length < word.count, text[index + length] == word[length] { length += 1 }
                if length == word.count { return index }
                try charge(1 + length / 16)
            }
            index += 1
        }
        return nil
    }

    /// Every occurrence replaced; of nothing, none.
    private mutating func replaced(
        _ text: [UInt8], _ old: [UInt8], _ new: [UInt8]
    ) throws(Failure) -> [UInt8] {
        guard !old.isEmpty else { return text }
        var out: [UInt8] = []
        var index = 0
        while let place = try find(old, in: text, from: index) {
            out.append(contentsOf: text[index..<place])
            out.append(contentsOf: new)
            index = place + old.count
            guard out.count <= Self.stringBytesMax else { throw .tooMuchWork }
            try charge(1 + new.count / 16)
        }
        out.append(contentsOf: text[index...])
        return out
    }
}
