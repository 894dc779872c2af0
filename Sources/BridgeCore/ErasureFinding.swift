internal import JSON

// What there is of a conversation.
extension Erasure {
    /// Looks for everything that is to be removed, and changes nothing.
    public func find(_ ask: Ask) throws(Failure) -> Findings {
        var findings = Findings()
        for mapping in plan.mappings {
            for (key, template, _) in mapping.form.nodes {
                guard let pattern = ConversationPattern(template, conversation: conversation) else {
                    findings.unnamed.append("\(mapping.topic): \(key): \(template)")
                    continue
                }
                findings.nodes += try nodes(of: pattern, ask)
                guard case .value(let form) = mapping.form, !form.guardedBy.isEmpty else {
                    continue
                }
                let set = Key.escape(Array(mapping.topic.utf8))
                findings.guards += try guards(of: pattern, set, findings.nodes, ask)
            }
        }
        try findLedgers(&findings, ask)
        findings.nodes = Self.topmost(findings.nodes)
        findings.guards = Self.distinct(findings.guards)
        return findings
    }

    /// Guards outlive their nodes: those of removed ones are found by their names.
    private func guards(
        of pattern: ConversationPattern, _ set: [UInt8], _ nodes: [[UInt8]], _ ask: Ask
    ) throws(Failure) -> [[UInt8]] {
        var found: [[UInt8]] = []
        if let path = pattern.path {
            found.append(StateLayout.guards(set: set, node: path))
        } else {
            let all = Self.join(StateLayout.allGuards, set)
            let kept = try Self.read([all], shallow: true, ask)[0]
            for (key, _) in kept.children(of: 0) {
                let keys = Key.unescape(key).split(
                    separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                if pattern.matches(keys.map(Array.init)) { found.append(Self.join(all, key)) }
            }
            // Those with long names are kept under a hash.
            for node in nodes
            where pattern.matches(node.split(separator: UInt8(ascii: "/")).map(Array.init)) {
                found.append(StateLayout.guards(set: set, node: node))
            }
        }
        found = Self.distinct(found)
        let held = try Self.read(found, ask)
        return zip(found, held).filter { $1.kind(0) != .null }.map(\.0)
    }

    /// The ledgers of this plan's sets, and of sets that another one has left.
    private func findLedgers(_ findings: inout Findings, _ ask: Ask) throws(Failure) {
        var sets = plan.sets.map(\.key)
        for (key, _) in try Self.read([StateLayout.allStreams], shallow: true, ask)[0].children(
            of: 0)
        where !sets.contains(key) {
            sets.append(key)
            // The name of a set of streams is the template of their nodes.
            let name = String(decoding: Key.unescape(key), as: UTF8.self)
            guard let template = try? Template(name), template.segments.count > 1,
                let pattern = ConversationPattern(template, conversation: conversation)
            else { continue }
            findings.nodes += try nodes(of: pattern, ask)
        }
        let known = try Self.read(
            sets.map { StateLayout.streams(set: $0, conversation: conversation) }, ask)
        let agendas = try Self.read(sets.map(StateLayout.agenda(set:)), shallow: true, ask)
        for (index, set) in sets.enumerated() {
            let numbers = agendas[index].children(of: 0).compactMap {
                decimal($0.key).flatMap { Int32(exactly: $0) }
            }
            var ledger = Ledger(set: set)
            for (key, value) in known[index].children(of: 0) {
                if key == Name.erased { ledger.erased = known[index].int64(value) }
                guard let sequence = decimal(key) else { continue }
                let raw = Array(known[index].raw(value))
                let entry = (try? JSONParser().parse(raw)).flatMap(LedgerEntry.init(reading:))
                let item = StateLayout.agendaItem(
                    endedBy: entry?.endedBy, endedAt: entry?.endedAt, removedAt: entry?.removedAt,
                    sequence: sequence, conversation: conversation)
                // Which partition number lists it depends on a producer's partitioner.
                ledger.entries.append(
                    (
                        StateLayout.stream(
                            set: set, conversation: conversation, sequence: sequence),
                        numbers.map {
                            Self.join(StateLayout.agenda(set: set, partition: $0), item)
                        }
                    ))
            }
            findings.ledgers.append(ledger)
        }
    }

    /// Reads nodes, all at once.
    static func read(
        _ paths: [[UInt8]], shallow: Bool = false, _ ask: Ask
    ) throws(Failure) -> [JSONTape] {
        guard !paths.isEmpty else { return [] }
        var tapes: [JSONTape] = []
        for outcome in ask(paths.map { .get(path: $0, shallow: shallow) }) {
            guard case .done(let body, _) = outcome else { throw failure(outcome) }
            tapes.append(try tape(of: body))
        }
        return tapes
    }

    /// The paths that lie below no other: two templates may name a node and one inside it, and a
    /// PATCH takes only one of them.
    private static func topmost(_ paths: [[UInt8]]) -> [[UInt8]] {
        let all = Set(paths.map(Bytes.init))
        return distinct(paths).filter { path in
            !path.indices.contains { index in
                path[index] == UInt8(ascii: "/") && all.contains(Bytes(Array(path[..<index])))
            }
        }
    }

    private static func distinct(_ paths: [[UInt8]]) -> [[UInt8]] {
        var seen: Set<Bytes> = []
        return paths.filter { seen.insert(Bytes($0)).inserted }
    }
}
