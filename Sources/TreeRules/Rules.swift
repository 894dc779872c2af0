public import Tree

/// The security rules of a database (Firebase, "Security Rules API").
///
/// `.read` and `.write` are asked from the root down: the first that holds grants all below it.
/// `.validate` must hold at each written place that has one, above and below too, where a value is
/// left; a removal needs none. What goes wrong in an expression is a no.
public struct Rules: Sendable {
    /// The text, comments included.
    public let text: [UInt8]
    private let root: RuleTree

    /// Compiles the text of rules: JSON with comments.
    public init(_ text: [UInt8]) throws(RulesError) {
        self.text = text
        var compiler = RuleCompiler()
        do {
            root = compiler.compile(try RulesReader.read(text))
        } catch {
            throw RulesError(issues: [RulesError.Issue(error, in: text)])
        }
        guard compiler.issues.isEmpty else {
            let sorted = compiler.issues.sorted { $0.offset < $1.offset }
            throw RulesError(issues: sorted.map { RulesError.Issue($0, in: text) })
        }
    }

    /// The text as strict JSON, without comments.
    public var strict: [UInt8] {
        var out: [UInt8] = []
        (try? RulesReader.read(text))?.appendStrict(to: &out)
        return out
    }

    /// Why a read is allowed.
    public struct ReadGrant: Sendable {
        /// The places that the rules looked at: when one of them, or what is above or below it,
        /// changes, the answer may be another.
        public var lookedAt: Set<Path>
        /// Whether the rules looked at the clock.
        public var usesNow: Bool
    }

    /// Whether one may read what stands at the path; nil where not.
    ///
    /// - Parameter auth: what rules see as `auth`, null for one who is not signed in.
    /// - Parameter now: milliseconds since 1970.
    public func readGrant(
        _ path: Path, query: RuleQuery = RuleQuery(), auth: Value, now: Int64, in tree: Tree
    ) -> ReadGrant? {
        var evaluation = Evaluation(auth: auth, now: now, old: tree.root)
        evaluation.query = query
        evaluation.lookedAt = []
        guard isGranted(path, \.read, &evaluation) else { return nil }
        return ReadGrant(lookedAt: evaluation.lookedAt ?? [], usesNow: evaluation.usesNow)
    }

    /// As above, without the reasons.
    public func mayRead(
        _ path: Path, query: RuleQuery = RuleQuery(), auth: Value, now: Int64, in tree: Tree
    ) -> Bool {
        var evaluation = Evaluation(auth: auth, now: now, old: tree.root)
        evaluation.query = query
        return isGranted(path, \.read, &evaluation)
    }

    /// Whether one may write all of the update.
    ///
    /// Each of its paths is asked for with the whole database as the update leaves it as
    /// `newData`.
    ///
    /// - Parameter tree: the database as it is.
    public func mayWrite(_ update: Update, auth: Value, now: Int64, in tree: Tree) -> Bool {
        var evaluation = Evaluation(auth: auth, now: now, old: tree.root, update: update)
        return update.writes.allSatisfy { write in
            isGranted(write.path, \.write, &evaluation) && isValid(write, &evaluation)
        }
    }

    /// The paths by which children of the place may be ordered: `.indexOn`.
    public func indexes(at path: Path) -> [[UInt8]] {
        var rules = root
        for name in path.segments {
            guard let child = rules.child(name) else { return [] }
            rules = child.rules
        }
        return rules.indexes
    }

    /// The names of what rules are asked for: a priority is read and written by whom its value may
    /// be.
    private func names(_ path: Path) -> ArraySlice<[UInt8]> {
        path.isPriorityPlace ? path.segments.dropLast() : path.segments[...]
    }

    /// Whether a rule on the way to the place holds.
    private func isGranted(
        _ path: Path, _ kind: (RuleTree) -> Rule?, _ evaluation: inout Evaluation
    ) -> Bool {
        var rules = root
        evaluation.begin()
        if evaluation.holds(kind(rules)) { return true }
        for name in names(path) {
            guard let child = rules.child(name) else { return false }
            evaluation.descend(name, isWildcard: child.isWildcard)
            rules = child.rules
            if evaluation.holds(kind(rules)) { return true }
        }
        return false
    }

    /// Whether what is written, and what is above it, is as `.validate` wants it.
    private func isValid(_ write: Update.Write, _ evaluation: inout Evaluation) -> Bool {
        guard !write.value.isNull, root.validates else { return true }
        var rules = root
        evaluation.begin()
        for name in names(write.path) {
            guard evaluation.accepts(rules) else { return false }
            guard let child = rules.child(name), child.rules.validates else { return true }
            evaluation.descend(name, isWildcard: child.isWildcard)
            rules = child.rules
        }
        return isValid(write.value, rules, &evaluation)
    }

    /// Whether a value and all that is in it is as `.validate` wants it.
    private func isValid(
        _ value: Value, _ rules: RuleTree, _ evaluation: inout Evaluation
    ) -> Bool {
        guard evaluation.accepts(rules) else { return false }
        guard case .object(let children) = value.plain else { return true }
        for (key, value) in children {
            let name = key.bytes
            guard let child = rules.child(name), child.rules.validates else { continue }
            evaluation.descend(name, isWildcard: child.isWildcard)
            defer { evaluation.ascend(isWildcard: child.isWildcard) }
            guard isValid(value, child.rules, &evaluation) else { return false }
        }
        return true
    }
}

extension Evaluation {
    fileprivate mutating func begin() {
        place.removeAll(keepingCapacity: true)
        wildcards.removeAll(keepingCapacity: true)
    }

    fileprivate mutating func descend(_ name: [UInt8], isWildcard: Bool) {
        place.append(name)
        if isWildcard { wildcards.append(name) }
    }

    fileprivate mutating func ascend(isWildcard: Bool) {
        place.removeLast()
        if isWildcard { wildcards.removeLast() }
    }

    fileprivate mutating func accepts(_ rules: RuleTree) -> Bool {
        rules.validate == nil || holds(rules.validate)
    }
}
