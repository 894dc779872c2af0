import BridgeCore
import JSON
import Testing

/// A core with a shell that answers everything at once from a dictionary: enough for examples of
/// single rules. Worlds with faults are the simulator's.
final class Harness {
    let bridge: Bridge
    var now = Moment(monotonic: 0, wall: 1_777_000_000_000)
    /// GET answers by path; anything else is `null`.
    var answers: [String: String] = [:]
    var patches: [String] = []
    var reads: [String] = []
    var commits: [[TopicPartition: Int64]] = []
    var deadLetters: [DeadLetter] = []
    var notices: [String] = []
    /// Those of them that want someone to act.
    var alarms: [String] = []
    var starts: [TopicPartition: Int64] = [:]
    var released = 0
    var finished: Int?
    /// The answer to the next PATCHes, 204 where empty.
    var patchOutcomes: [Outcome] = []
    /// What the database says to a PATCH instead of taking it; nil takes it.
    var verdict: (String) -> Outcome? = { _ in nil }
    /// What the database says to every GET instead of answering it; nil answers.
    var readVerdict: Outcome?
    var positions: [TopicPartition: PartitionPositions] = [:]
    /// Of these Kafka tells nothing.
    var leaderless: Set<TopicPartition> = []
    /// Questions wait here, answered as of when they were asked, for the test to hand over.
    var holdsQuestions = false
    var heldQuestions: [(known: [TopicPartition: PartitionPositions], serial: Int)] = []
    var holdsPatches = false
    var heldPatches: [Int] = []
    private var heldBodies: [Int: [UInt8]] = [:]
    /// Commits wait here for the test to answer them.
    var holdsCommits = false
    var heldCommits: [(offsets: [TopicPartition: Int64], serial: Int)] = []
    var acknowledgesDeadLetters = true
    /// Why commits fail; nil lets them succeed.
    var commitFailure: String?
    /// Of these alone they fail.
    var commitsDenied: Set<TopicPartition> = []
    /// Every node that was written, as it was written last; its state too.
    var written: [String: String] = [:]
    /// The PATCHes that the database took, in its order.
    var accepted: [String] = []
    /// The key of the records.
    var key: [UInt8]? = Array("c".utf8)

    init(plan: MirrorPlan = .standard, settings: Settings = Settings(), flaw: Flaw? = nil) {
        bridge = Bridge(plan: plan, settings: settings, owner: "me", flaw: flaw)
    }

    func assign(_ topics: [String], partition: Int32 = 0) {
        bridge.assign(topics.map { TopicPartition($0, partition) }, at: now)
        run()
    }

    func run() {
        var count = 0
        while let effect = bridge.nextEffect(at: now) {
            perform(effect)
            count += 1
            guard count < 50_000 else {
                Issue.record("effects without end")
                return
            }
        }
    }

    func wait(milliseconds: Int64) {
        now.monotonic += milliseconds * 1_000_000
        now.wall += milliseconds
        run()
    }

    func consume(_ topic: String, partition: Int32 = 0, _ values: String?...) {
        let source = TopicPartition(topic, partition)
        let first = starts[source] ?? 0
        let records = values.enumerated().map { index, value in
            Record(
                offset: first + Int64(index), timestamp: now.wall, key: key,
                value: value.map { Array($0.utf8) })
        }
        starts[source] = first + Int64(records.count)
        bridge.consume(records, from: source, at: now)
        run()
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .request(let request): perform(request)
        case .askPositions(let sources, let serial):
            var known: [TopicPartition: PartitionPositions] = [:]
            for source in sources where !leaderless.contains(source) {
                known[source] =
                    positions[source] ?? PartitionPositions(low: 0, high: 0, committed: nil)
            }
            if holdsQuestions {
                heldQuestions.append((known, serial))
                return
            }
            bridge.positions(known, serial: serial, at: now)
        case .read(let offsets): starts.merge(offsets) { $1 }
        case .commit(let offsets, let serial):
            commits.append(offsets)
            if holdsCommits {
                heldCommits.append((offsets, serial))
                return
            }
            answer(commit: offsets, serial)
        case .deadLetter(let letter):
            deadLetters.append(letter)
            if acknowledgesDeadLetters { bridge.deadLettered(letter.id, failed: nil, at: now) }
        case .release: released += 1
        case .finished(let undelivered): finished = undelivered
        case .notice(let notice):
            notices.append(notice.event)
            if notice.level == .error { alarms.append(notice.event) }
        }
    }

    private func answer(commit offsets: [TopicPartition: Int64], _ serial: Int) {
        let denied = offsets.filter { commitsDenied.contains($0.key) }
        let others = offsets.filter { !commitsDenied.contains($0.key) }
        if !denied.isEmpty {
            bridge.committed(denied, serial: serial, failed: "access denied", at: now)
        }
        guard !others.isEmpty else { return }
        bridge.committed(others, serial: serial, failed: commitFailure, at: now)
    }

    private func perform(_ request: Request) {
        switch request.method {
        case .get(let path, _):
            let text = String(decoding: path, as: UTF8.self)
            reads.append(text)
            let body = Array((answers[text] ?? "null").utf8)
            bridge.settle(
                request.id, readVerdict ?? .done(body: body, date: now.wall), at: now, jitter: 0)
        case .list(let path, let from, let through, _):
            let range = (from ?? []) + Array("..".utf8) + (through ?? [])
            let text = String(decoding: path + Array("?".utf8) + range, as: UTF8.self)
            reads.append(text)
            let body = Array((answers[text] ?? lists(text) ?? "null").utf8)
            bridge.settle(
                request.id, readVerdict ?? .done(body: body, date: now.wall), at: now, jitter: 0)
        case .patch(let body):
            patches.append(String(decoding: body, as: UTF8.self))
            if holdsPatches {
                heldPatches.append(request.id)
                heldBodies[request.id] = body
                return
            }
            let outcome =
                patchOutcomes.isEmpty
                ? verdict(patches[patches.count - 1]) ?? .done(body: [], date: nil)
                : patchOutcomes.removeFirst()
            if case .done = outcome { note(body) }
            bridge.settle(request.id, outcome, at: now, jitter: 0)
        }
    }

    /// What the last write left at a path.
    func left(at path: String) throws -> String {
        let value: String? = written[path]
        return try #require(value)
    }

    private func note(_ body: [UInt8]) {
        accepted.append(String(decoding: body, as: UTF8.self))
        guard let tape = try? JSONParser().parse(body) else { return }
        for (name, value) in tape.members(of: 0) {
            written[String(decoding: tape.text(name), as: UTF8.self)] = String(
                decoding: Array(tape.raw(value)), as: UTF8.self)
        }
    }

    /// Answers the agenda's ranges, by the kind of their items.
    var agenda: [String: String] = [:]

    private func lists(_ text: String) -> String? {
        guard let range = text.split(separator: "?").last?.first else { return nil }
        return agenda[String(range)]
    }

    func answerHeld() {
        let ids = heldPatches
        heldPatches = []
        for id in ids {
            if let body = heldBodies.removeValue(forKey: id) { note(body) }
            bridge.settle(id, .done(body: [], date: nil), at: now, jitter: 0)
        }
        run()
    }

    /// The data of each PATCH that had any.
    var allData: [[String: String]] { patches.map(Self.data).filter { !$0.isEmpty } }

    /// The data of each PATCH that had any and that the database took, in its order.
    var acceptedData: [[String: String]] { accepted.map(Self.data).filter { !$0.isEmpty } }

    /// The data of the last PATCH that had any, its state left out.
    var lastData: [String: String] { patches.last.map(Self.data) ?? [:] }

    static func data(of patch: String) -> [String: String] {
        guard let tape = try? JSONParser().parse(Array(patch.utf8)) else { return [:] }
        var out: [String: String] = [:]
        for (name, value) in tape.members(of: 0) {
            let path = String(decoding: tape.text(name), as: UTF8.self)
            if path.hasPrefix("_firebridge/") { continue }
            out[path] = String(decoding: Array(tape.raw(value)), as: UTF8.self)
        }
        return out
    }
}

let chunks = "llm.token-chunks"
let runs = "llm.run-lifecycle"
let messages = "llm.finalized-messages"
