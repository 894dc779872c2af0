/// What the names in an expression stand for.
struct ExpressionScope {
    /// The `$` variables of the places above, from the root down.
    var wildcards: [[UInt8]] = []
    /// `.read`: there is a `query` and no `newData`.
    var isRead = false
}

/// A part of an expression with what is known of it.
struct Checked {
    var expression: Expression
    var type: TypeSet
    /// Where it begins.
    var offset: Int
    /// How deep evaluating it goes.
    var height = 1
    /// The results of a `?:`, of which each must be right where it stands.
    var branches: [Checked] = []
}

/// Parses and checks an expression: JavaScript's grammar, as far as rules have it.
struct ExpressionParser {
    /// How deep parentheses and the like may nest.
    static let depthMax = 50
    /// How deep evaluating an expression may go.
    static let heightMax = 100

    let scope: ExpressionScope
    private let tokens: [(token: Token, offset: Int)]
    private var index = 0
    private var depth = 0

    private init(_ text: [UInt8], _ scope: ExpressionScope) throws(ExpressionError) {
        self.scope = scope
        tokens = try Lexer.tokens(of: text)
    }

    /// The expression of a rule, which is true or false.
    static func parse(
        _ text: [UInt8], _ scope: ExpressionScope
    ) throws(ExpressionError) -> Expression {
        var parser = try ExpressionParser(text, scope)
        let checked = try parser.conditional()
        guard parser.token == .end else { throw parser.unexpected("an operator") }
        try requireBoolean(checked)
        return checked.expression
    }

    private static func requireBoolean(_ checked: Checked) throws(ExpressionError) {
        for branch in checked.branches { try requireBoolean(branch) }
        guard checked.type.contains(.bool) else {
            throw ExpressionError(
                offset: checked.offset,
                message: "The rule must be a boolean, found \(checked.type.shown)")
        }
    }

    var token: Token { tokens[index].token }
    var offset: Int { tokens[index].offset }

    mutating func advance() { index = min(index + 1, tokens.count - 1) }

    mutating func take(_ symbol: String) -> Bool {
        guard token == .symbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func expect(_ symbol: String) throws(ExpressionError) {
        guard take(symbol) else { throw unexpected("'\(symbol)'") }
    }

    func unexpected(_ expected: String) -> ExpressionError {
        ExpressionError(offset: offset, message: "Expected \(expected), found \(token.shown)")
    }

    // MARK: Grammar

    mutating func conditional() throws(ExpressionError) -> Checked {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthMax else {
            throw ExpressionError(offset: offset, message: "Expression is nested too deeply")
        }
        let test = try binary(0)
        guard take("?") else { return test }
        let yes = try conditional()
        try expect(":")
        let no = try conditional()
        return try Typing.conditional(test, yes, no)
    }

    private static let precedences: [String: Int] = [
        "||": 1, "&&": 2, "==": 3, "!=": 3, "===": 3, "!==": 3, "<": 4, "<=": 4, ">": 4, ">=": 4,
        "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
    ]

    /// Operands joined by operators that bind tighter than `floor`.
    private mutating func binary(_ floor: Int) throws(ExpressionError) -> Checked {
        var left = try unary()
        while case .symbol(let symbol) = token, let precedence = Self.precedences[symbol],
            precedence > floor
        {
            advance()
            left = try Typing.binary(symbol, left, try binary(precedence))
        }
        return left
    }

    private mutating func unary() throws(ExpressionError) -> Checked {
        var operators: [(symbol: String, offset: Int)] = []
        while case .symbol(let symbol) = token, symbol == "!" || symbol == "-" {
            operators.append((symbol, offset))
            advance()
        }
        var operand = try postfix()
        for (symbol, offset) in operators.reversed() {
            operand = try Typing.unary(symbol, operand, at: offset)
        }
        return operand
    }

    private mutating func postfix() throws(ExpressionError) -> Checked {
        var operand = try primary()
        while true {
            let place = offset
            if take(".") {
                guard case .name(let name) = token else { throw unexpected("a name") }
                advance()
                operand = try member(name, of: operand, at: place + 1)
            } else if take("[") {
                let key = try conditional()
                try expect("]")
                if case .literal(.string(let name)) = key.expression {
                    operand = try member(name, of: operand, at: place)
                } else {
                    operand = try Typing.member(key, of: operand, at: place)
                }
            } else {
                return operand
            }
        }
    }

    /// `operand.name`, or `operand.name(…)`.
    private mutating func member(
        _ name: [UInt8], of operand: Checked, at place: Int
    ) throws(ExpressionError) -> Checked {
        guard take("(") else { return try Typing.property(name, of: operand, at: place) }
        let text = String(decoding: name, as: UTF8.self)
        if operand.type == .snapshot, text == "hasChildren" {
            return try hasChildren(operand, at: place)
        }
        if operand.type != .snapshot, text == "matches" { return try matches(operand, at: place) }
        var arguments: [Checked] = []
        if token != .symbol(")") {
            repeat { arguments.append(try conditional()) } while take(",")
        }
        try expect(")")
        return try Typing.call(text, of: operand, arguments, at: place)
    }

    private mutating func hasChildren(
        _ operand: Checked, at place: Int
    ) throws(ExpressionError) -> Checked {
        if take(")") { return try Typing.hasChildren(operand, nil, at: place) }
        guard take("[") else {
            throw ExpressionError(
                offset: offset, message: "hasChildren takes nothing or one list of strings")
        }
        var names: [Checked] = []
        while token != .symbol("]") {
            names.append(try conditional())
            guard take(",") else { break }
        }
        try expect("]")
        try expect(")")
        return try Typing.hasChildren(operand, names, at: place)
    }

    private mutating func matches(
        _ operand: Checked, at place: Int
    ) throws(ExpressionError) -> Checked {
        guard case .regex(let pattern, let flags) = token else {
            throw ExpressionError(
                offset: offset, message: "matches takes a regular expression such as /^[a-z]+$/")
        }
        let start = offset
        advance()
        try expect(")")
        guard flags.isEmpty || flags == [UInt8(ascii: "i")] else {
            throw ExpressionError(
                offset: start,
                message: "Unknown flags \(quoted(flags)) of a regular expression: only i is known")
        }
        do {
            let regex = try RegularExpression(pattern, ignoringCase: !flags.isEmpty)
            return try Typing.matches(operand, regex, at: place)
        } catch let error as RegularExpression.Failure {
            throw ExpressionError(offset: start + 1 + error.offset, message: error.message)
        } catch let error as ExpressionError {
            throw error
        } catch {
            throw ExpressionError(offset: start, message: "Bad regular expression")
        }
    }

    private mutating func primary() throws(ExpressionError) -> Checked {
        let start = offset
        switch token {
        case .number(let number):
            advance()
            return Checked(expression: .literal(.number(number)), type: .number, offset: start)
        case .string(let text):
            advance()
            return Checked(expression: .literal(.string(text)), type: .string, offset: start)
        case .name(let name):
            advance()
            return try variable(name, at: start)
        case .symbol("("):
            advance()
            let inner = try conditional()
            try expect(")")
            return inner
        case .regex:
            throw ExpressionError(
                offset: start, message: "A regular expression stands only in matches(…)")
        case .symbol("["):
            throw ExpressionError(offset: start, message: "A list stands only in hasChildren(…)")
        case .symbol, .end: throw unexpected("a value")
        }
    }

    private func variable(_ name: [UInt8], at start: Int) throws(ExpressionError) -> Checked {
        func checked(_ expression: Expression, _ type: TypeSet) -> Checked {
            Checked(expression: expression, type: type, offset: start)
        }
        if let index = scope.wildcards.firstIndex(of: name) {
            return checked(.wildcard(index), .string)
        }
        switch String(decoding: name, as: UTF8.self) {
        case "true": return checked(.literal(.bool(true)), .bool)
        case "false": return checked(.literal(.bool(false)), .bool)
        case "null": return checked(.literal(.null), .null)
        case "auth": return checked(.auth, .value)
        case "now": return checked(.now, .number)
        case "root": return checked(.root, .snapshot)
        case "data": return checked(.data, .snapshot)
        case "newData" where !scope.isRead: return checked(.newData, .snapshot)
        case "query" where scope.isRead: return checked(.literal(.null), .query)
        case "newData":
            throw ExpressionError(offset: start, message: "A .read rule has no variable 'newData'")
        case "query":
            throw ExpressionError(
                offset: start, message: "Only a .read rule has the variable 'query'")
        default: throw ExpressionError(offset: start, message: "Unknown variable \(quoted(name))")
        }
    }
}
