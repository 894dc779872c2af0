internal import JSON

/// Removes a conversation for good (contract sections 4 and 7): its nodes, its ledger entries,
/// agenda items and guards, in every set, and leaves the erase mark.
///
/// It decides what to ask of the database; the asking is the caller's. The bridge must be stopped:
/// every fence there is is raised first, so that a process that only seems dead cannot undo it.
/// Whatever interrupts it, erasing again finishes the work.
public struct Erasure {
    /// Asks the database: answers in order, each request sent again until it is answered or the
    /// caller gives up.
    public typealias Ask = ([Request.Method]) -> [Outcome]

    /// Why nothing more was done.
    public enum Failure: Error, Equatable, Sendable {
        /// A bridge is at work.
        case live(LiveFence)
        /// `_firebridge/version` is greater than this program knows.
        case tooNew(Int64)
        /// Another owner has taken a fence meanwhile.
        case overtaken
        /// The database does not answer, or will not have it.
        case database(String)
    }

    /// What there is of a conversation.
    public struct Findings: Equatable, Sendable {
        /// Its nodes, by path.
        public var nodes: [[UInt8]] = []
        /// Its guards, by path.
        public var guards: [[UInt8]] = []
        /// The ledger entries of each set, and what lists them.
        var ledgers: [Ledger] = []
        /// Templates whose nodes cannot be told by the conversation's id.
        public var unnamed: [String] = []

        /// How many streams the ledger has.
        public var entries: Int { ledgers.reduce(0) { $0 + $1.entries.count } }
        /// When the conversation was erased before, in Kafka's milliseconds.
        public var erased: Int64? { ledgers.compactMap(\.erased).min() }
        /// Whether there is nothing to remove.
        public var isEmpty: Bool { nodes.isEmpty && guards.isEmpty && entries == 0 }
    }

    /// What one set knows of the conversation.
    struct Ledger: Equatable, Sendable {
        var set: [UInt8]
        /// Paths of the entries' agenda items, for each entry's path.
        var entries: [(path: [UInt8], items: [[UInt8]])] = []
        var erased: Int64?

        static func == (a: Self, b: Self) -> Bool {
            a.set == b.set && a.erased == b.erased
                && a.entries.elementsEqual(b.entries) { $0.path == $1.path && $0.items == $1.items }
        }
    }

    let plan: MirrorPlan
    let settings: Settings
    let conversation: [UInt8]
    let owner: [UInt8]
    /// The fences that were raised.
    private var fences: [(path: [UInt8], epoch: Int64)] = []
    private var serial: Int64 = 0

    /// Prepares to erase a conversation.
    ///
    /// - Parameters:
    ///   - id: as records name it.
    ///   - owner: tells this process from every other that may write.
    public init(of id: [UInt8], plan: MirrorPlan, settings: Settings, owner: String) {
        self.plan = plan
        self.settings = settings
        conversation = Key.escape(id)
        self.owner = Array(owner.utf8)
    }

    // MARK: The whole

    /// Throws where a bridge is live, or has written a newer state.
    ///
    /// - Parameter wall: this machine's clock in milliseconds since 1970, where the database does
    ///   not tell its own.
    public static func refuseLiveBridge(wall: Int64, _ ask: Ask) throws(Failure) {
        _ = try fences(wall, except: nil, ask)
    }

    /// Erases what is there.
    ///
    /// - Returns: what was found, and the mark: records up to it are dropped from now on.
    public mutating func run(
        wall: Int64, _ ask: Ask
    ) throws(Failure) -> (findings: Findings, mark: Int64) {
        let date = try claim(wall, ask)
        do throws(Failure) {
            let findings = try find(ask)
            // A bridge that has claimed meanwhile may have read the marks before this one. Where
            // no rules refuse the write below, this is all that tells.
            guard try !isOvertaken(ask) else { throw Failure.overtaken }
            let mark = max(wall, date, findings.ledgers.compactMap(\.erased).max() ?? 0)
            if try !removeAtOnce(findings, mark, ask) {
                try patch(findings.ledgers.map { markWrite(mark, of: $0) }, ask)
                try remove(findings.nodes, ask)
                try removeState(of: findings, ask)
            }
            try patch([], isLive: false, ask)
            return (findings, mark)
        } catch {
            // Else the fences would look live for a minute, and the next attempt had to wait.
            if error != .overtaken { _ = send([], isLive: false, ask) }
            throw error
        }
    }

    // MARK: Fences

    private static func fences(
        _ wall: Int64, except owner: [UInt8]?, _ ask: Ask
    ) throws(Failure) -> (JSONTape, date: Int64) {
        let version = try Self.read([StateLayout.versionPath], ask)[0].int64(0) ?? 0
        guard version <= StateLayout.version else { throw .tooNew(version) }
        let outcome = ask([.get(path: StateLayout.fences, shallow: false)])[0]
        guard case .done(let body, let date) = outcome else { throw failure(outcome) }
        let tape = try Self.tape(of: body)
        let now = date ?? wall
        if let live = LiveFence(in: tape, date: now, except: { $1.owner == owner }) {
            throw .live(live)
        }
        return (tape, now)
    }

    /// Raises every fence there is, and those of this configuration, so that there is one.
    private mutating func claim(_ wall: Int64, _ ask: Ask) throws(Failure) -> Int64 {
        let (tape, _) = try Self.fences(wall, except: owner, ask)
        var held: [(path: [UInt8], epoch: Int64)] = []
        for (group, sets) in tape.children(of: 0) {
            for (set, numbers) in tape.children(of: sets) {
                for (number, value) in tape.children(of: numbers) {
                    guard let partition = decimal(number).flatMap({ Int32(exactly: $0) }) else {
                        continue
                    }
                    held.append(
                        (
                            StateLayout.fence(group: group, set: set, partition: partition),
                            Fence(reading: tape, value)?.epoch ?? 0
                        ))
                }
            }
        }
        let group = Key.escape(Array(settings.group.utf8))
        for set in plan.sets {
            let path = StateLayout.fence(group: group, set: set.key, partition: 0)
            if !held.contains(where: { $0.path == path }) { held.append((path, 0)) }
        }
        fences = held.map { ($0.path, $0.epoch + 1) }
        serial = -1
        let version = Array("\(StateLayout.version)".utf8)
        try patch([(StateLayout.versionPath, version)], ask)
        do throws(Failure) {
            return try Self.fences(wall, except: owner, ask).date
        } catch {
            try patch([], isLive: false, ask)
            throw error
        }
    }

    // MARK: Writing

    /// Writes under the raised fences, in as many requests as the limits demand.
    private mutating func patch(
        _ writes: [(path: [UInt8], json: [UInt8])], isLive: Bool = true, _ ask: Ask
    ) throws(Failure) {
        var rest = writes[...]
        repeat {
            var batch: [(path: [UInt8], json: [UInt8])] = []
            var bytes = 0
            while let write = rest.first, batch.count < settings.batchWritesMax,
                bytes < settings.batchBytesMax
            {
                batch.append(rest.removeFirst())
                bytes += write.path.count + write.json.count + 8
            }
            let outcome = send(batch, isLive: isLive, ask)
            guard case .done = outcome else { throw try reason(outcome, ask) }
        } while !rest.isEmpty
    }

    private mutating func send(
        _ writes: [(path: [UInt8], json: [UInt8])], isLive: Bool = true, _ ask: Ask
    ) -> Outcome {
        serial += 1
        var body = ObjectWriter()
        for (path, json) in writes { body.add(anyName: path, json) }
        for fence in fences {
            body.add(
                anyName: fence.path,
                Fence.json(epoch: fence.epoch, owner: owner, serial: serial, isLive: isLive))
        }
        return ask([.patch(body.finish())])[0]
    }

    /// Why a write was refused: the fence may have been taken.
    private func reason(_ outcome: Outcome, _ ask: Ask) throws(Failure) -> Failure {
        guard case .refused = outcome else { return Self.failure(outcome) }
        return try isOvertaken(ask) ? .overtaken : Self.failure(outcome)
    }

    /// Whether a fence is another's, or has come since they were raised.
    private func isOvertaken(_ ask: Ask) throws(Failure) -> Bool {
        let tape = try Self.read([StateLayout.fences], ask)[0]
        for (group, sets) in tape.children(of: 0) {
            for (set, numbers) in tape.children(of: sets) {
                for (number, value) in tape.children(of: numbers) {
                    let path =
                        StateLayout.fences + [UInt8(ascii: "/")]
                        + Array([group, set, number].joined(separator: [UInt8(ascii: "/")]))
                    guard let fence = Fence(reading: tape, value) else { continue }
                    guard let mine = fences.first(where: { $0.path == path }),
                        fence.epoch == mine.epoch, fence.owner == owner
                    else { return true }
                }
            }
        }
        return false
    }

    /// What a read was answered. Taken for an empty node, what is no JSON would say that nothing is
    /// there to be erased, and no bridge live.
    static func tape(of body: [UInt8]) throws(Failure) -> JSONTape {
        guard let tape = try? JSONParser().parse(body) else {
            throw .database(Outcome.withoutJSON)
        }
        return tape
    }

    static func failure(_ outcome: Outcome) -> Failure {
        switch outcome {
        case .done: .database("an unexpected answer")
        case .unauthorized(let text), .unavailable(let text, _), .unanswered(let text, _),
            .tooBig(let text):
            .database(text)
        case .refused(_, let text): .database(text)
        }
    }

    // MARK: Removing

    private func markWrite(_ mark: Int64, of ledger: Ledger) -> (path: [UInt8], json: [UInt8]) {
        let path = StateLayout.streams(set: ledger.set, conversation: conversation)
        return (Self.join(path, Name.erased), Array("\(mark)".utf8))
    }

    /// Everything in one write, where it is small: nobody sees half of it.
    private mutating func removeAtOnce(
        _ findings: Findings, _ mark: Int64, _ ask: Ask
    ) throws(Failure) -> Bool {
        var writes: [(path: [UInt8], json: [UInt8])] = []
        for path in findings.nodes + findings.guards { writes.append((path, JSONWord.null)) }
        for ledger in findings.ledgers {
            var kept = ObjectWriter()
            kept.add(Name.erased, mark)
            let path = StateLayout.streams(set: ledger.set, conversation: conversation)
            writes.append((path, kept.finish()))
            for (_, items) in ledger.entries { writes += items.map { ($0, JSONWord.null) } }
        }
        let bytes = writes.reduce(0) { $0 + $1.path.count + $1.json.count + 8 }
        guard writes.count <= settings.batchWritesMax, bytes <= settings.batchBytesMax else {
            return false
        }
        let outcome = send(writes, ask)
        switch outcome {
        case .done: return true
        case .tooBig: return false
        default: throw try reason(outcome, ask)
        }
    }

    /// Removes nodes; those that are too big for one request, child by child.
    private mutating func remove(_ paths: [[UInt8]], _ ask: Ask) throws(Failure) {
        var waiting = paths.isEmpty ? [] : [paths]
        while let batch = waiting.popLast() {
            guard batch.count <= settings.batchWritesMax else {
                waiting += batch.halves
                continue
            }
            let outcome = send(batch.map { ($0, JSONWord.null) }, ask)
            switch outcome {
            case .done: continue
            case .tooBig where batch.count > 1: waiting += batch.halves
            case .tooBig:
                let node = batch[0]
                let children = try Self.read([node], shallow: true, ask)[0].children(of: 0)
                guard !children.isEmpty else { throw Self.failure(outcome) }
                waiting.append(children.map { Self.join(node, $0.key) })
            default: throw try reason(outcome, ask)
            }
        }
    }

    private mutating func removeState(of findings: Findings, _ ask: Ask) throws(Failure) {
        var writes = findings.guards.map { (path: $0, json: JSONWord.null) }
        for ledger in findings.ledgers {
            for (path, items) in ledger.entries {
                // An entry last: an interrupted erasure finds its items by it.
                writes += (items + [path]).map { ($0, JSONWord.null) }
            }
        }
        try patch(writes, ask)
    }
}

extension [[UInt8]] {
    fileprivate var halves: [[[UInt8]]] {
        [Array(self[(count / 2)...]), Array(self[..<(count / 2)])]
    }
}
