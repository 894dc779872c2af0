public import BridgeCore
internal import Oracle

/// One small world of odd records: every mapping, a database that now and then refuses or is away,
/// and a process that dies. All of it follows from the seed.
public struct FuzzWorld {
    /// What was wrong; empty where all went well.
    public private(set) var breaches: [String] = []
    /// How many records there were.
    public private(set) var records = 0
    /// How many of them were rejected.
    public private(set) var rejected = 0
    /// The values of the records, in case one of them is to be kept.
    public private(set) var values: [(source: TopicPartition, record: Record)] = []

    private var mutator: Mutator
    private let shell: TreeShell

    /// Plays the world of a seed.
    ///
    /// - Parameter corpus: values that are mixed in beside the made-up ones.
    /// - Parameter trace: hears what happens, line by line.
    public init(seed: UInt64, corpus: [[UInt8]] = [], trace: ((String) -> Void)? = nil) {
        mutator = Mutator(seed: seed)
        var settings = Settings()
        settings.lanes = mutator.random.int(1..<4)
        settings.batchWritesMax = mutator.random.pick([1, 3, 20, 10_000])
        settings.batchBytesMax = mutator.random.pick([1 << 9, 1 << 12, 1 << 20])
        settings.inFlightBytesMax = mutator.random.pick([1 << 11, 1 << 16, 1 << 20])
        settings.reject = mutator.random.pick([.deadLetter, .deadLetter, .skip])
        settings.retryMax = .seconds(1)
        settings.keep = mutator.random.pick([.zero, .milliseconds(600), .seconds(86_400)])
        settings.stallAfter = mutator.random.pick([.zero, .milliseconds(900), .seconds(600)])
        settings.stallStatus = mutator.random.chance(0.5)
        shell = TreeShell(plan: Plans.everything, settings: settings, seed: mutator.random.next())
        shell.trace = trace
        appendRecords(corpus)
        trace?("\(settings)")
        play()
        judge(settings)
    }

    // MARK: Records

    private mutating func appendRecords(_ corpus: [[UInt8]]) {
        var streams = HardStreams(seed: mutator.random.next())
        let made = streams.records(conversations: mutator.random.int(1..<4))
        for topic in Plans.everything.topics {
            shell.put(odd(Record(offset: 0, timestamp: 0, key: nil, value: nil)), to: source(topic))
        }
        for good in made {
            var record = Record(
                offset: 0, timestamp: good.timestamp, key: good.key, value: good.value)
            var topic = good.topic
            if mutator.random.chance(0.15) { topic = mutator.random.pick(Plans.everything.topics) }
            if !corpus.isEmpty, mutator.random.chance(0.1) {
                record.value = mutator.random.pick(corpus)
            }
            if mutator.random.chance(0.5) { record = odd(record) }
            let source = source(topic)
            shell.append(record, to: source, gap: mutator.random.chance(0.1) ? 3 : 0)
        }
        for (source, log) in shell.logs {
            records += log.count
            values += log.map { (source, $0) }
        }
    }

    // A conversation lives in one partition number whatever the mutations make of its id: the
    // topics that write the same streams have one partition, and other topics have other numbers.
    private func source(_ topic: String) -> TopicPartition {
        TopicPartition(topic, topic.hasPrefix("llm.") ? 0 : topic.hasPrefix("app.") ? 1 : 2)
    }

    private mutating func odd(_ record: Record) -> Record {
        var record = record
        record.value = record.value.map { mutator.mutated($0) }
        let long = [UInt8](repeating: UInt8(ascii: "k"), count: 800)
        switch mutator.random.int(0..<12) {
        case 0: record.value = nil
        case 1: record.value = []
        case 2: record.key = mutator.random.pick([nil, [], [0xFF], long, Array("a/b.c".utf8)])
        case 3:
            record = Record(
                offset: 0,
                timestamp: mutator.random.pick([nil, 0, -1, .min, .max, 253_402_300_800_000]),
                key: record.key, value: record.value)
        case 4:
            let value: [UInt8]? = mutator.random.pick([nil, [], [0xFF], long, Array("t".utf8)])
            record.headers = [
                Header(name: "tenant", value: Array("first".utf8)),
                Header(name: "tenant", value: value),
            ]
        default: break
        }
        return record
    }

    // MARK: The play

    private mutating func play() {
        var random = SplitMix64(seed: mutator.random.next())
        let mood = random.int(0..<4)
        var isCalm = false
        let poison = Array("漢字".utf8)
        var chance = SplitMix64(seed: random.next())
        shell.verdict = { body in
            if mood == 1, contains(poison, in: body) { return .refused(status: 400, "no") }
            if mood == 2, body.count > 6000 { return .tooBig("too big") }
            guard !isCalm else { return nil }
            switch chance.int(0..<40) {
            case 0: return .unavailable("away", retryAfter: nil)
            case 1: return .unauthorized("who?")
            case 2 where mood == 3: return .refused(status: 401, "Permission denied")
            default: return nil
            }
        }
        shell.start()
        for _ in 0..<random.int(1..<4) {
            for _ in 0..<random.int(1..<300) { shell.step() }
            if random.chance(0.5) { shell.crash() }
        }
        isCalm = true
        shell.settle(steps: 2000)
        shell.verdict = { _ in nil }
    }

    // MARK: The judgement

    private mutating func judge(_ settings: Settings) {
        breaches += shell.breaches
        for (source, log) in shell.logs {
            let rejections = shell.rejections[source] ?? [:]
            rejected += rejections.count
            guard settings.reject == .deadLetter else { continue }
            for record in log {
                guard let wrong = contradiction(record, of: source, rejections[record.offset])
                else { continue }
                breaches.append("\(source)@\(record.offset): \(wrong)")
            }
        }
        if shell.lives == 1, shell.deadLetters != rejected, settings.reject == .deadLetter {
            breaches.append("\(shell.deadLetters) dead letters for \(rejected) records")
        }
    }

    // What the naive parser says of the value, against what became of the record.
    private func contradiction(
        _ record: Record, of source: TopicPartition, _ rejection: Rejection?
    ) -> String? {
        let isValue = source.topic.hasPrefix("v.")
        let reason = rejection?.reason
        guard var value = record.value else {
            if !isValue, reason != .nullValue { return "a tombstone: \(show(rejection))" }
            return reason == .malformedJSON ? "a tombstone: \(show(rejection))" : nil
        }
        if value.starts(with: [0xEF, 0xBB, 0xBF]) { value.removeFirst(3) }
        switch NaiveJSON.read(value) {
        case .malformed:
            // A text that nests too deeply may end in nonsense as well.
            guard reason != .malformedJSON, reason != .tooDeep else { return nil }
            return "malformed: \(show(rejection))"
        case .tooDeep:
            guard reason != .tooDeep, reason != .malformedJSON else { return nil }
            return "too deep: \(show(rejection))"
        case .value(let json):
            if reason == .malformedJSON { return "good JSON: \(show(rejection))" }
            if case .object = json { return nil }
            if !isValue, reason != .notAnObject { return "not an object: \(show(rejection))" }
        }
        return nil
    }

    private func show(_ rejection: Rejection?) -> String {
        rejection.map { "rejected, \($0)" } ?? "not rejected"
    }
}

private func contains(_ needle: [UInt8], in text: [UInt8]) -> Bool {
    guard text.count >= needle.count else { return false }
    return (0...text.count - needle.count).contains { text[$0...].starts(with: needle) }
}
