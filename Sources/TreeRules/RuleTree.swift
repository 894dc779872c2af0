internal import Tree

/// `.read`, `.write` or `.validate`.
enum Rule: Sendable {
    case constant(Bool)
    case expression(Expression)
}

/// The rules of one place, and of those below.
struct RuleTree: Sendable {
    var read: Rule?
    var write: Rule?
    var validate: Rule?
    /// Paths below each child, and `.value`.
    var indexes: [[UInt8]] = []
    var children: [[UInt8]: RuleTree] = [:]
    /// For a child without rules of its own; one at most.
    var wildcard: [RuleTree] = []
    /// Whether a `.validate` stands here or below.
    var validates = false

    /// The rules of the child, and whether it is the `$` variable that has them.
    func child(_ name: [UInt8]) -> (rules: RuleTree, isWildcard: Bool)? {
        if let own = children[name] { return (own, false) }
        return wildcard.first.map { ($0, true) }
    }
}

/// Turns what was read into rules; collects what is wrong.
struct RuleCompiler {
    private(set) var issues: [RulesIssue] = []
    /// So many are told at most.
    static let issuesMax = 50

    mutating func compile(_ root: RulesNode) -> RuleTree {
        guard case .object(let members) = root.content else {
            note(root.offset, "Expected an object with the 'rules' property, found \(root.kind)")
            return RuleTree()
        }
        for member in members where member.name != Array("rules".utf8) {
            note(member.offset, "Unknown key \(quoted(member.name)): only 'rules' stands here")
        }
        guard let rules = members.first(where: { $0.name == Array("rules".utf8) }) else {
            note(root.offset, "Expected 'rules' property")
            return RuleTree()
        }
        return tree(rules.value, "/", wildcards: [], depth: 0)
    }

    private mutating func note(_ offset: Int, _ message: String) {
        guard issues.count < Self.issuesMax else { return }
        issues.append(RulesIssue(offset: offset, message: message))
    }

    private mutating func tree(
        _ node: RulesNode, _ path: String, wildcards: [[UInt8]], depth: Int
    ) -> RuleTree {
        var tree = RuleTree()
        guard case .object(let members) = node.content else {
            note(node.offset, "Expected the rules of \(path) as an object, found \(node.kind)")
            return tree
        }
        for member in members {
            switch member.name.first {
            case UInt8(ascii: "."): add(member, to: &tree, path, wildcards)
            case UInt8(ascii: "$"):
                addWildcard(member, to: &tree, path, wildcards, depth)
            default:
                guard TreeLimits().allows(key: member.name) else {
                    note(
                        member.offset,
                        "Key \(quoted(member.name)) cannot be in a database: it is empty, too long "
                            + "or holds one of . # $ [ ] /")
                    continue
                }
                tree.children[member.name] = self.tree(
                    member.value, below(path, member.name), wildcards: wildcards, depth: depth + 1)
            }
        }
        tree.validates =
            tree.validate != nil || tree.children.values.contains(where: \.validates)
            || tree.wildcard.contains(where: \.validates)
        return tree
    }

    private func below(_ path: String, _ name: [UInt8]) -> String {
        (path == "/" ? path : path + "/") + String(decoding: name, as: UTF8.self)
    }

    private mutating func addWildcard(
        _ member: RulesNode.Member, to tree: inout RuleTree, _ path: String,
        _ wildcards: [[UInt8]], _ depth: Int
    ) {
        if !tree.wildcard.isEmpty {
            note(member.offset, "Only one $ variable may stand at \(path)")
        }
        if wildcards.contains(member.name) {
            note(member.offset, "Variable \(quoted(member.name)) stands above already")
        }
        if member.name.count == 1 { note(member.offset, "A $ variable needs a name") }
        tree.wildcard = [
            self.tree(
                member.value, below(path, member.name), wildcards: wildcards + [member.name],
                depth: depth + 1)
        ]
    }

    private mutating func add(
        _ member: RulesNode.Member, to tree: inout RuleTree, _ path: String,
        _ wildcards: [[UInt8]]
    ) {
        let scope = ExpressionScope(wildcards: wildcards)
        switch String(decoding: member.name, as: UTF8.self) {
        case ".read":
            tree.read = rule(member, path, ExpressionScope(wildcards: wildcards, isRead: true))
        case ".write": tree.write = rule(member, path, scope)
        case ".validate": tree.validate = rule(member, path, scope)
        case ".indexOn": tree.indexes = indexes(member)
        default:
            note(
                member.offset,
                "Unknown rule \(quoted(member.name)): expected .read, .write, .validate or .indexOn"
            )
        }
    }

    private mutating func rule(
        _ member: RulesNode.Member, _ path: String, _ scope: ExpressionScope
    ) -> Rule {
        switch member.value.content {
        case .bool(let flag): return .constant(flag)
        case .string(let text, let origins):
            do {
                let expression = try ExpressionParser.parse(text, scope)
                if case .literal(.bool(let flag)) = expression { return .constant(flag) }
                return .expression(expression)
            } catch {
                let name = String(decoding: member.name, as: UTF8.self)
                note(
                    origins[min(error.offset, origins.count - 1)],
                    "\(error.message). In \(name) of \(path): \(excerpt(text, at: error.offset))")
            }
        default:
            note(
                member.value.offset,
                "Expected \(quoted(member.name)) to be a boolean or an expression in a string, "
                    + "found \(member.value.kind)")
        }
        return .constant(false)
    }

    private mutating func indexes(_ member: RulesNode.Member) -> [[UInt8]] {
        let elements: [RulesNode] =
            if case .array(let elements) = member.value.content { elements } else { [member.value] }
        var indexes: [[UInt8]] = []
        for element in elements {
            guard case .string(let text, _) = element.content else {
                note(
                    element.offset,
                    "Expected '.indexOn' to be a string or a list of strings, found \(element.kind)"
                )
                continue
            }
            indexes.append(Path(text).joined)
        }
        return indexes
    }

    /// Some of an expression around a place, on one line.
    private func excerpt(_ text: [UInt8], at offset: Int) -> String {
        var start = max(0, offset - 30)
        var end = min(text.count, offset + 40)
        // Not inside a character.
        while start > 0, text[start] & 0xC0 == 0x80 { start -= 1 }
        while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
        let shown = text[start..<end].map { $0 < 0x20 ? 0x20 : $0 }
        return (start > 0 ? "…" : "") + String(decoding: shown, as: UTF8.self)
            + (end < text.count ? "…" : "")
    }
}
