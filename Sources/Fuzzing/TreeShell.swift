public import BridgeCore
internal import JSON
public import Oracle

/// A core with a small Kafka and a small database around it, which answer in an order drawn from a
/// seed. It notes whatever the core does that no bridge may do.
///
/// Worlds with faults of many kinds and several instances are the simulator's; this is for records.
public final class TreeShell {
    /// What the database holds.
    public var root = Node.object([:])
    /// What Kafka holds, in order of offset.
    public private(set) var logs: [TopicPartition: [Record]] = [:]
    /// What the group has committed.
    public private(set) var commits: [TopicPartition: Int64] = [:]
    /// Why which records were rejected; a record may be read again by a later life.
    public private(set) var rejections: [TopicPartition: [Int64: Rejection]] = [:]
    /// How many dead letters were written.
    public private(set) var deadLetters = 0
    /// What no bridge may do, in words.
    public private(set) var breaches: [String] = []
    /// The PATCH bodies that have landed, where they are kept.
    public private(set) var bodies: [[UInt8]] = []
    /// Whether `bodies` grows.
    public var keepsBodies = false
    /// Where it is set, hears what happens, line by line.
    public var trace: ((String) -> Void)?
    /// What the database says to a PATCH instead of taking it; nil takes it.
    public var verdict: ([UInt8]) -> Outcome? = { _ in nil }
    /// The clocks.
    public private(set) var now = Moment(monotonic: 0, wall: HardStreams.end)
    /// The core of this life.
    public private(set) var bridge: Bridge
    /// How many lives there have been.
    public private(set) var lives = 0

    private let plan: MirrorPlan
    private let settings: Settings
    private var random: SplitMix64
    private let parser = JSONParser()
    private var next: [TopicPartition: Int] = [:]
    private var wire: [Request] = []
    private var unanswered: [DeadLetter] = []
    /// Where a replay begins to read, while one is under way.
    private var replayed: [TopicPartition: Int64]?
    private var hasFinished = false

    /// An empty Kafka and an empty database.
    public init(plan: MirrorPlan, settings: Settings, seed: UInt64) {
        self.plan = plan
        self.settings = settings
        random = SplitMix64(seed: seed)
        bridge = Bridge(plan: plan, settings: settings, owner: "life 0")
    }

    // MARK: Kafka

    /// Appends records to a partition; their offsets are given by Kafka, `gap` above the last one.
    public func append(_ record: Record, to source: TopicPartition, gap: Int64 = 0) {
        var record = record
        record.offset = end(of: source) + gap
        logs[source, default: []].append(record)
    }

    /// Puts a record with an offset of its own, greater than all before.
    public func put(_ record: Record, to source: TopicPartition) {
        logs[source, default: []].append(record)
    }

    /// The offset after the last record.
    public func end(of source: TopicPartition) -> Int64 {
        (logs[source]?.last?.offset ?? -1) + 1
    }

    /// Everything that was appended is settled and committed.
    public var isQuiet: Bool { logs.allSatisfy { commits[$0.key] == end(of: $0.key) } }

    // MARK: Lives

    /// A process is born and is assigned all partitions.
    public func start() {
        lives += 1
        wire = []
        next = [:]
        unanswered = []
        bridge.lose(at: now)
        bridge = Bridge(plan: plan, settings: settings, owner: "life \(lives)")
        bridge.assign(logs.keys.sorted(), at: now)
        obey()
    }

    /// The process dies. What was on the wire lands or is lost, as the seed says.
    public func crash() {
        for request in wire {
            guard case .patch(let body) = request.method, random.chance(0.5) else { continue }
            if verdict(body) == nil { land(body) }
        }
        start()
    }

    /// Forgets what the group has committed and where it was: the log is read from its start.
    public func forgetPositions() {
        commits = [:]
        root.set(["_firebridge", "watermarks"].map { Array($0.utf8) }, nil)
    }

    /// The process ends politely.
    public func stop() {
        hasFinished = false
        bridge.stop(at: now)
        obey()
        finish(steps: 400, "does not stop")
    }

    /// Another process mirrors partitions once more from these offsets, up to their ends.
    ///
    /// - Parameter steps: it dies after so many turns; nil lets it finish.
    /// - Returns: why it would not.
    @discardableResult
    public func replay(
        _ replay: Replay, from starts: [TopicPartition: Int64], steps: Int? = nil
    ) -> String? {
        lives += 1
        (wire, next, unanswered, hasFinished, replayed) = ([], [:], [], false, starts)
        defer { replayed = nil }
        var survey = ReplaySurvey(of: replay, plan: plan)
        for (source, start) in starts.sorted(by: { $0.key < $1.key }) {
            survey.read(logs[source]!.filter { $0.offset >= start }, from: source)
        }
        bridge = Bridge(
            plan: plan, settings: settings.replaying(replay.knowing(survey)),
            owner: "life \(lives)")
        bridge.assign(starts.keys.sorted(), at: now)
        obey()
        for _ in 0..<(steps ?? 100_000) where !hasFinished {
            if next.count == starts.count, next.allSatisfy({ $0.value == logs[$0.key]!.count }) {
                bridge.stop(at: now)
                obey()
                finish(steps: 400, "the replay does not end")
                return bridge.refusal
            }
            step()
        }
        return bridge.refusal
    }

    private func finish(steps: Int, _ what: String) {
        for _ in 0..<steps where !hasFinished {
            while !wire.isEmpty { answerOne() }
            while !unanswered.isEmpty { acknowledgeOne() }
            pass(milliseconds: 300)
        }
        if !hasFinished { breaches.append(what) }
    }

    /// Answers requests at once, as a database without faults does.
    public func ask(_ methods: [Request.Method]) -> [Outcome] {
        methods.map(answer)
    }

    // MARK: Time passes

    /// One thing happens: records are read, a request is answered, or time passes.
    public func step() {
        switch random.int(0..<10) {
        case 0..<4: feed()
        case 4..<8: answerOne()
        case 8: acknowledgeOne()
        default: pass(milliseconds: Int64(random.int(1..<400)))
        }
        obey()
    }

    /// Lets things happen until everything has settled. A breach says where it does not.
    public func settle(steps: Int = 400) {
        for _ in 0..<steps {
            if isQuiet { return }
            for _ in logs.keys { feed() }
            while !wire.isEmpty { answerOne() }
            while !unanswered.isEmpty { acknowledgeOne() }
            pass(milliseconds: 300)
        }
        let behind = logs.keys.sorted().filter { commits[$0] != end(of: $0) }
            .map { "\($0): \(commits[$0] ?? -1) of \(end(of: $0))" }
        breaches.append("stuck: \(behind.joined(separator: ", ")), \(wire.count) on the wire")
    }

    /// Time passes.
    public func pass(milliseconds: Int64) {
        now.monotonic += milliseconds * 1_000_000
        now.wall += milliseconds
        bridge.ends(
            Dictionary(uniqueKeysWithValues: logs.keys.map { ($0, end(of: $0)) }), at: now)
        obey()
    }

    private func feed() {
        let source = random.pick(logs.keys.sorted())
        guard let first = next[source], bridge.room(for: source) > 0 else { return }
        let log = logs[source]!
        defer { trace?("read \(source) through \(next[source]!)") }
        let last = min(log.count, first + random.pick([1, 1, 2, 8, 50]))
        guard first < last else { return }
        next[source] = last
        bridge.consume(Array(log[first..<last]), from: source, at: now)
        obey()
    }

    private func answerOne() {
        guard !wire.isEmpty else { return }
        let request = wire.remove(at: random.int(0..<wire.count))
        let outcome = answer(request.method)
        trace?("#\(request.id) \(outcome.summary)")
        bridge.settle(request.id, outcome, at: now, jitter: random.fraction())
        obey()
    }

    private func acknowledgeOne() {
        guard !unanswered.isEmpty else { return }
        let letter = unanswered.remove(at: random.int(0..<unanswered.count))
        bridge.deadLettered(letter.id, failed: nil, at: now)
        obey()
    }

    private func obey() {
        var count = 0
        while let effect = bridge.nextEffect(at: now) {
            perform(effect)
            count += 1
            guard count < 100_000 else { return breaches.append("effects without end") }
        }
    }

    private func perform(_ effect: Effect) {
        trace?(line(of: effect))
        switch effect {
        case .request(let request): wire.append(request)
        case .askPositions(let sources, let serial):
            bridge.positions(
                Dictionary(uniqueKeysWithValues: sources.map { ($0, positions(of: $0)) }),
                serial: serial, at: now)
        case .read(let offsets):
            for (source, offset) in offsets {
                next[source] =
                    logs[source]!.firstIndex { $0.offset >= offset }
                    ?? logs[source]!.count
            }
        case .commit(let offsets, let serial):
            if replayed != nil { breaches.append("a replay commits") }
            for (source, offset) in offsets { note(commit: offset, of: source) }
            bridge.committed(offsets, serial: serial, failed: nil, at: now)
        case .deadLetter(let letter):
            deadLetters += 1
            rejections[letter.source, default: [:]][letter.record.offset] = letter.rejection
            unanswered.append(letter)
        case .finished: hasFinished = true
        case .release, .notice: break
        }
    }

    private func line(of effect: Effect) -> String {
        let time = "\(now.monotonic / 1_000_000) ms:"
        guard case .request(let request) = effect else { return "\(time) \(effect)" }
        let what =
            switch request.method {
            case .patch(let body): "PATCH \(text(body))"
            case .get(let path, let shallow): "GET \(text(path))\(shallow ? " shallow" : "")"
            case .list(let path, let from, let through, let limit):
                "LIST \(text(path)) \(text(from ?? []))..\(text(through ?? [])) \(limit)"
            }
        return "\(time) #\(request.id).\(request.attempt) \(what)"
    }

    private func positions(of source: TopicPartition) -> PartitionPositions {
        PartitionPositions(
            low: 0, high: max(end(of: source), commits[source] ?? 0), committed: commits[source],
            metadata: commits[source] == nil ? "" : Bridge.commitMark,
            atStartTime: replayed?[source], clusterID: "kafka")
    }

    // MARK: The database

    private func answer(_ method: Request.Method) -> Outcome {
        switch method {
        case .patch(let body):
            if let outcome = verdict(body) { return outcome }
            land(body)
            return .done(body: [], date: now.wall)
        case .get(let path, let shallow):
            let keys = split(path)
            if let wrong = keys.lazy.compactMap(problem(of:)).first {
                breaches.append("GET \(text(path)): \(wrong)")
            }
            var node = root.at(keys)
            if shallow, case .object(let children)? = node {
                node = .object(
                    children.mapValues {
                        if case .object = $0 { .bool(true) } else { $0 }
                    })
            }
            return .done(body: node.map(restJSON) ?? Array("null".utf8), date: now.wall)
        case .list(let path, let from, let through, let limit):
            let chosen = (root.at(split(path))?.children ?? []).filter { child in
                !child.key.lexicographicallyPrecedes(from ?? [])
                    && !(through?.lexicographicallyPrecedes(child.key) ?? false)
            }.prefix(limit)
            let node = Node.object(
                Dictionary(uniqueKeysWithValues: chosen.map { ($0.key, $0.node) }))
            return .done(body: chosen.isEmpty ? Array("null".utf8) : restJSON(node), date: now.wall)
        }
    }

    private func land(_ body: [UInt8]) {
        if keepsBodies { bodies.append(body) }
        guard let tape = try? parser.parse(body), tape.kind(0) == .object else {
            return breaches.append("a PATCH that is no JSON object: \(text(body.prefix(200)))")
        }
        var paths: Set<[[UInt8]]> = []
        for (name, value) in tape.members(of: 0) {
            let path = split(tape.text(name))
            if !paths.insert(path).inserted {
                breaches.append("a path twice: \(text(tape.text(name)))")
            }
            if let wrong = path.lazy.compactMap(problem(of:)).first {
                breaches.append("PATCH of \(text(tape.text(name))): \(wrong)")
            }
            let node = Node(tape, value)
            check(node, depth: path.count)
            root.set(path, resolved(node))
        }
        for path in paths {
            for length in 1..<path.count where paths.contains(Array(path[..<length])) {
                breaches.append("\(text(path.joined(separator: [0x2F]))) beside its ancestor")
            }
        }
        checkWatermarks()
    }

    // No watermark passes a record whose dead letter Kafka has not acknowledged.
    private func checkWatermarks() {
        for letter in unanswered {
            guard let mark = watermark(of: letter.source), mark > letter.record.offset else {
                continue
            }
            breaches.append("watermark \(mark) passes \(letter.source)@\(letter.record.offset)")
        }
    }

    private func note(commit offset: Int64, of source: TopicPartition) {
        if let mark = watermark(of: source), offset > mark {
            breaches.append("commit \(offset) of \(source) beyond watermark \(mark)")
        }
        if let before = commits[source], offset < before {
            breaches.append("commit of \(source) back from \(before) to \(offset)")
        }
        commits[source] = offset
    }

    private func watermark(of source: TopicPartition) -> Int64? {
        let path = [
            Array("_firebridge".utf8), Array("watermarks".utf8),
            Key.escape(Array(settings.group.utf8)), Key.escape(Array(source.topic.utf8)),
            Array("\(source.partition)".utf8), Array("next".utf8),
        ]
        guard case .number(let digits)? = root.at(path) else { return nil }
        return parseInt64(number: digits[...])
    }

    private func resolved(_ node: Node?) -> Node? {
        guard case .object(let children)? = node else { return node }
        if children.count == 1, node?[".sv"] == .text("timestamp") {
            return .number(Array(String(now.wall).utf8))
        }
        return .object(children.compactMapValues(resolved))
    }

    private func check(_ node: Node?, depth: Int) {
        guard depth <= Key.depthMax else { return breaches.append("a path deeper than 32") }
        guard case .object(let children)? = node else { return }
        for (key, child) in children {
            if key != Array(".sv".utf8), let wrong = problem(of: key) {
                breaches.append("a key in a value: \(wrong)")
            }
            check(child, depth: depth + 1)
        }
    }

    private func problem(of key: [UInt8]) -> String? {
        if key.isEmpty { return "an empty key" }
        if key.count > Key.bytesMax { return "a key of \(key.count) bytes" }
        guard key.contains(where: { Key.isForbidden($0) && $0 != UInt8(ascii: "%") }) else {
            return nil
        }
        return "the key '\(text(key))'"
    }
}

private func split(_ path: [UInt8]) -> [[UInt8]] {
    path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Array($0) }
}

private func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: Array(bytes), as: UTF8.self)
}

/// JSON as the database answers it: an object whose keys are small integers, more than half of them
/// there, comes as an array.
func restJSON(_ node: Node) -> [UInt8] {
    guard case .object = node else { return node.json }
    let children = node.children
    var out: [UInt8] = []
    if let elements = elements(children) {
        for element in elements {
            out.append(out.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            out += element.map(restJSON) ?? Array("null".utf8)
        }
        return out + [UInt8(ascii: "]")]
    }
    for (key, child) in children {
        out.append(out.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
        out.appendJSONString(key)
        out.append(UInt8(ascii: ":"))
        out += restJSON(child)
    }
    return out + [UInt8(ascii: "}")]
}

private func elements(_ children: [(key: [UInt8], node: Node)]) -> [Node?]? {
    var out = [Node?](repeating: nil, count: children.count * 2)
    for (key, node) in children {
        guard key.count < 9, key.count == 1 || key.first != UInt8(ascii: "0"),
            let index = plainDecimal(key[...], negative: false), index < 2 * children.count
        else { return nil }
        out[Int(index)] = node
    }
    while let last = out.last, last == nil { out.removeLast() }
    return out
}

extension Outcome {
    fileprivate var summary: String {
        guard case .done(let body, _) = self else { return "\(self)" }
        return "done \(text(body))"
    }
}
