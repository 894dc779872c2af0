internal import JSON

/// What one record would cause in an empty tree: for `firebridge explain`.
public enum Explanation: Equatable, Sendable {
    /// These writes, by path, as JSON; the bridge's own state is left out.
    case writes([Write])
    /// It would go to the dead letters.
    case rejected(Rejection)
    /// Nothing: a filter passes it over, or its tombstone is ignored.
    case nothing
    /// No mapping has the topic.
    case unmapped

    /// One write.
    public struct Write: Equatable, Sendable {
        /// Keys joined by `/`.
        public var path: [UInt8]
        /// What is written there.
        public var json: [UInt8]
    }

    /// Lets a bridge of its own take the record, over a tree that holds nothing.
    public init(of record: Record, topic: String, plan: MirrorPlan, at now: Moment) {
        guard plan.topics.contains(where: { $0.utf8.elementsEqual(topic.utf8) }) else {
            self = .unmapped
            return
        }
        let source = TopicPartition(topic, 0)
        let bridge = Bridge(plan: plan, settings: Settings(), owner: "explain")
        var rejection: Rejection?
        var writes: [Write] = []
        func obey() {
            while let effect = bridge.nextEffect(at: now) {
                switch effect {
                case .request(let request):
                    var body = JSONWord.null
                    if case .patch(let patch) = request.method {
                        writes += Self.data(of: patch)
                        body = []
                    }
                    bridge.settle(request.id, .done(body: body, date: nil), at: now, jitter: 0)
                case .askPositions(let sources, let serial):
                    let known = PartitionPositions(low: 0, high: 0, committed: nil)
                    bridge.positions(
                        Dictionary(uniqueKeysWithValues: sources.map { ($0, known) }),
                        serial: serial, at: now)
                case .commit(let offsets, let serial):
                    bridge.committed(offsets, serial: serial, failed: nil, at: now)
                case .deadLetter(let letter): rejection = letter.rejection
                case .read, .release, .finished, .notice: continue
                }
            }
        }
        bridge.assign([source], at: now)
        obey()
        bridge.consume([record], from: source, at: now)
        obey()
        if let rejection {
            self = .rejected(rejection)
        } else {
            self = writes.isEmpty ? .nothing : .writes(writes)
        }
    }

    private static func data(of patch: [UInt8]) -> [Write] {
        guard let tape = try? JSONParser().parse(patch) else { return [] }
        let own = Array("_firebridge/".utf8)
        return tape.members(of: 0).compactMap { name, value in
            let path = tape.text(name)
            return path.starts(with: own) ? nil : Write(path: path, json: Array(tape.raw(value)))
        }
    }
}
