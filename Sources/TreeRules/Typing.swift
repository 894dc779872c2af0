/// What may be joined with what. An operand that may be of several types is let pass where one of
/// them is right: it is checked again when it is evaluated.
enum Typing {
    private static func error(_ message: String, at offset: Int) -> ExpressionError {
        ExpressionError(offset: offset, message: message)
    }

    private static func make(
        _ expression: Expression, _ type: TypeSet, at offset: Int, over parts: [Checked]
    ) throws(ExpressionError) -> Checked {
        let height = 1 + (parts.lazy.map(\.height).max() ?? 0)
        guard height <= ExpressionParser.heightMax else {
            throw error("Expression is nested too deeply", at: offset)
        }
        return Checked(expression: expression, type: type, offset: offset, height: height)
    }

    private static func require(
        _ operand: Checked, _ types: TypeSet, _ what: String
    ) throws(ExpressionError) {
        for branch in operand.branches { try require(branch, types, what) }
        guard operand.type.isDisjoint(with: types) else { return }
        throw error(
            "\(what) is not a \(types.shown), but a \(operand.type.shown)", at: operand.offset)
    }

    static func conditional(
        _ test: Checked, _ yes: Checked, _ no: Checked
    ) throws(ExpressionError) -> Checked {
        try require(test, .bool, "Invalid ?: expression: condition")
        var checked = try make(
            .conditional(test.expression, yes.expression, no.expression),
            yes.type.union(no.type), at: test.offset, over: [test, yes, no])
        guard
            yes.type.isDisjoint(with: [.snapshot, .query])
                || yes.type == .snapshot && no.type == .snapshot
        else { throw error("Invalid ?: expression: results are of two kinds", at: yes.offset) }
        guard no.type.isDisjoint(with: [.snapshot, .query]) || yes.type == .snapshot else {
            throw error("Invalid ?: expression: results are of two kinds", at: no.offset)
        }
        checked.branches = [yes, no]
        return checked
    }

    static func unary(
        _ symbol: String, _ operand: Checked, at offset: Int
    ) throws(ExpressionError) -> Checked {
        if symbol == "!" {
            try require(operand, .bool, "Invalid ! expression: operand")
            return try make(.not(operand.expression), .bool, at: offset, over: [operand])
        }
        try require(operand, .number, "Invalid - expression: operand")
        return try make(.negative(operand.expression), .number, at: offset, over: [operand])
    }

    static func binary(
        _ symbol: String, _ a: Checked, _ b: Checked
    ) throws(ExpressionError) -> Checked {
        let both: TypeSet =
            switch symbol {
            case "&&", "||": .bool
            case "==", "===", "!=", "!==": .value
            case "+": [.string, .number]
            case "<", "<=", ">", ">=": [.string, .number]
            default: .number
            }
        try require(a, both, "Invalid \(symbol) expression: left operand")
        try require(b, both, "Invalid \(symbol) expression: right operand")
        let (x, y) = (a.expression, b.expression)
        let parts = [a, b]
        switch symbol {
        case "&&":
            return try flat(a, b) {
                if case .all(let parts) = $0 { parts } else { nil }
            } _: {
                .all($0)
            }
        case "||":
            return try flat(a, b) {
                if case .any(let parts) = $0 { parts } else { nil }
            } _: {
                .any($0)
            }
        case "==", "===":
            return try make(.equal(x, y, negated: false), .bool, at: a.offset, over: parts)
        case "!=", "!==":
            return try make(.equal(x, y, negated: true), .bool, at: a.offset, over: parts)
        case "+":
            var type = a.type.union(b.type).intersection([.string, .number])
            if a.type == .string || b.type == .string { type = .string }
            return try make(.arithmetic(.add, x, y), type, at: a.offset, over: parts)
        default: break
        }
        if let comparison = Expression.Comparison(rawValue: symbol) {
            guard !a.type.isDisjoint(with: b.type.intersection(both)) else {
                throw error(
                    "Invalid \(symbol) expression: left operand is a \(a.type.shown), right one a "
                        + b.type.shown, at: a.offset)
            }
            return try make(.compare(comparison, x, y), .bool, at: a.offset, over: parts)
        }
        guard let arithmetic = Expression.Arithmetic(rawValue: symbol) else {
            throw error("Unknown operator '\(symbol)'", at: a.offset)
        }
        return try make(.arithmetic(arithmetic, x, y), .number, at: a.offset, over: parts)
    }

    /// A chain of `&&` or `||` as one list, so that its length makes nothing deeper.
    private static func flat(
        _ a: Checked, _ b: Checked, _ parts: (Expression) -> [Expression]?,
        _ join: ([Expression]) -> Expression
    ) throws(ExpressionError) -> Checked {
        let known = parts(a.expression)
        var checked = try make(
            join((known ?? [a.expression]) + [b.expression]), .bool, at: a.offset,
            over: known == nil ? [a, b] : [b])
        checked.height = max(checked.height, a.height)
        return checked
    }

    // MARK: Members

    /// `operand[key]` where the key is computed: only of what `auth` holds.
    static func member(
        _ key: Checked, of operand: Checked, at offset: Int
    ) throws(ExpressionError) -> Checked {
        guard isOpen(operand.expression) else {
            throw error("Only auth and what is in it has computed properties", at: offset)
        }
        try require(key, [.string, .number], "A property's name")
        return try make(
            .member(operand.expression, key.expression), .value, at: operand.offset,
            over: [operand, key])
    }

    /// `operand.name`.
    static func property(
        _ name: [UInt8], of operand: Checked, at offset: Int
    ) throws(ExpressionError) -> Checked {
        let text = String(decoding: name, as: UTF8.self)
        if operand.type == .query, let field = Expression.QueryField(rawValue: text) {
            return try make(.queryField(field), field.type, at: operand.offset, over: [operand])
        }
        if text == "length", operand.type.contains(.string) {
            return try make(
                .length(operand.expression), .number, at: operand.offset, over: [operand])
        }
        guard isOpen(operand.expression) else {
            throw error("No such property \(quoted(name)) of a \(operand.type.shown)", at: offset)
        }
        return try make(
            .member(operand.expression, .literal(.string(name))), .value, at: operand.offset,
            over: [operand])
    }

    /// Whether it is `auth` or in it: only there are properties not known beforehand.
    private static func isOpen(_ expression: Expression) -> Bool {
        switch expression {
        case .auth: true
        case .member(let object, _): isOpen(object)
        default: false
        }
    }

    /// `operand.name(arguments)`.
    static func call(
        _ name: String, of operand: Checked, _ arguments: [Checked], at offset: Int
    ) throws(ExpressionError) -> Checked {
        if operand.type == .snapshot {
            return try snapshotCall(name, of: operand, arguments, at: offset)
        }
        guard operand.type.contains(.string), let method = Expression.StringMethod(rawValue: name)
        else { throw error("No such method '\(name)' of a \(operand.type.shown)", at: offset) }
        try require(arguments, count: method.argumentCount, of: name, at: offset)
        return try make(
            .string(method, operand.expression, arguments.map(\.expression)), method.type,
            at: operand.offset, over: [operand] + arguments)
    }

    private static func snapshotCall(
        _ name: String, of operand: Checked, _ arguments: [Checked], at offset: Int
    ) throws(ExpressionError) -> Checked {
        if let method = Expression.SnapshotMethod(rawValue: name) {
            try require(arguments, count: 0, of: name, at: offset)
            return try make(
                .snapshot(method, operand.expression), method.type, at: operand.offset,
                over: [operand])
        }
        guard name == "child" || name == "hasChild" else {
            throw error("No such method '\(name)' of a RuleDataSnapshot", at: offset)
        }
        try require(arguments, count: 1, of: name, at: offset)
        let child = try make(
            .child(operand.expression, arguments[0].expression), .snapshot, at: operand.offset,
            over: [operand] + arguments)
        guard name == "hasChild" else { return child }
        return try make(
            .snapshot(.exists, child.expression), .bool, at: operand.offset, over: [child])
    }

    private static func require(
        _ arguments: [Checked], count: Int, of name: String, at offset: Int
    ) throws(ExpressionError) {
        guard arguments.count == count else {
            throw error("\(name) takes \(count) arguments, found \(arguments.count)", at: offset)
        }
        for argument in arguments { try require(argument, .string, "The argument of \(name)") }
    }

    static func hasChildren(
        _ operand: Checked, _ names: [Checked]?, at offset: Int
    ) throws(ExpressionError) -> Checked {
        if let names {
            guard !names.isEmpty else {
                throw error("hasChildren needs at least one name in its list", at: offset)
            }
            for name in names { try require(name, .string, "A name in hasChildren") }
        }
        return try make(
            .hasChildren(operand.expression, (names ?? []).map(\.expression)), .bool,
            at: operand.offset, over: [operand] + (names ?? []))
    }

    static func matches(
        _ operand: Checked, _ regex: RegularExpression, at offset: Int
    ) throws(ExpressionError) -> Checked {
        guard operand.type.contains(.string) else {
            throw error("No such method 'matches' of a \(operand.type.shown)", at: offset)
        }
        return try make(
            .matches(operand.expression, regex), .bool, at: operand.offset, over: [operand])
    }
}
