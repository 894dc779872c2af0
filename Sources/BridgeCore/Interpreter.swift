internal import JSON

/// Reads records by their topics' mappings: JSON in, facts or a rejection out.
struct Interpreter {
    /// The most bytes that one record may write (contract section 6, `too_large`).
    static let writeBytesMax = 10 << 20

    private let parser = JSONParser()
    private var finder = FieldFinder()
    private var slots = [Int](repeating: -1, count: Field.allCases.count * 2)

    /// What a record says.
    mutating func facts(
        of record: Record, from source: TopicPartition, by mapping: CompiledMapping
    ) throws(Rejection) -> Facts {
        if case .value(let form) = mapping.mapping.form {
            return try valueFacts(of: record, from: source, by: mapping, form)
        }
        guard let value = record.value else {
            throw Rejection(.nullValue, "expected a JSON object, found a tombstone")
        }
        let tape = try parse(value)
        guard tape.kind(0) == .object else {
            throw Rejection(.notAnObject, "expected a JSON object, found \(tape.kind(0))")
        }
        guard mapping.mapping.passes(tape) else { return .nothing }
        finder.find(in: tape, into: &slots)
        var origin: RecordReader.Origin?
        if !mapping.isChunk { origin = RecordReader.Origin(record: record, source: source) }
        let reader = RecordReader(
            tape: tape, key: record.key, timestamp: record.timestamp, mapping: mapping,
            slots: slots, origin: origin)
        switch mapping.mapping.form {
        case .chunk(_, let index): return .chunk(try reader.chunk(index))
        case .run(let status, let marker, let stream, let eventName):
            return .run(
                try reader.run(
                    status: status, marker: marker, stream: stream, eventName: eventName))
        case .message(let node, let eventName):
            return .event(try reader.message(node: node, eventName: eventName))
        case .value: preconditionFailure("handled above")
        }
    }

    /// The conversation of a record, whatever else is wrong with it: what it names, else its key.
    mutating func conversation(
        of record: Record, from source: TopicPartition, by mapping: CompiledMapping
    ) -> [UInt8]? {
        let key = record.key.map(Key.escape)
        if case .value = mapping.mapping.form { return key }
        guard let value = record.value, let tape = try? parse(value), tape.kind(0) == .object
        else { return key }
        finder.find(in: tape, into: &slots)
        let reader = RecordReader(
            tape: tape, key: record.key, timestamp: record.timestamp, mapping: mapping,
            slots: slots, origin: RecordReader.Origin(record: record, source: source))
        return (try? reader.conversation()) ?? key
    }

    func parse(_ value: [UInt8]) throws(Rejection) -> JSONTape {
        let mark = value.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        do {
            return try parser.parse(mark == 0 ? value : Array(value.dropFirst(mark)))
        } catch {
            var error = error
            error.offset += mark
            guard error.kind == .malformed else {
                throw Rejection(.tooDeep, "expected at most 512 levels, found more")
            }
            let hint =
                value.first == 0 && value.count > 5
                ? " (it looks framed by a schema registry: produce plain JSON)" : ""
            throw Rejection(.malformedJSON, "expected JSON, found \(error)\(hint)")
        }
    }
}

extension Mapping {
    /// Whether every condition of `when` holds.
    func passes(_ tape: JSONTape) -> Bool {
        when.allSatisfy { condition in
            guard let value = condition.pointer.find(in: tape) else { return false }
            let text: [UInt8]
            switch tape.kind(value) {
            case .string: text = tape.text(value)
            case .object, .array: return false
            default: text = Array(tape.raw(value))
            }
            return condition.values.contains { $0.utf8.elementsEqual(text) }
        }
    }
}

// MARK: - The fixed forms

extension RecordReader {
    func chunk(_ rule: Mapping.IndexRule) throws(Rejection) -> ChunkFacts {
        let conversation = try conversation()
        guard let sequence = try natural(.messageSequence) else { throw missing(.messageSequence) }
        let run = try requiredRun()
        let index = rule == .arrival ? nil : try natural(.chunkIndex)
        let stamp = try string(.timestamp)
        let kafkaTime = stamp == nil ? try kafkaTime(for: .timestamp) : nil
        let instant =
            if let stamp { try instant(of: stamp, .timestamp) } else { kafkaTime!.instant }
        let isFinal = try bool(.isFinal) ?? false
        let reason = try string(.finishReason)
        let errorMessage = try string(.errorMessage)
        let content = try string(.content)
        let type = try string(.type)

        let contentBytes = content.map { Int(tape.tokens[$0].end - tape.tokens[$0].start) } ?? 0
        try checkSize(contentBytes)
        // By hand: of all that is done for a record, this is written most often.
        var leaf: [UInt8] = []
        leaf.reserveCapacity(144 + contentBytes)
        leaf.append(text: #"{"content":"#)
        if let content {
            PassThrough.append(content, of: tape, to: &leaf)
        } else {
            leaf.append(text: #""""#)
        }
        leaf.append(text: #","type":"#)
        if let type, tape.tokens[type].end > tape.tokens[type].start {
            PassThrough.append(type, of: tape, to: &leaf)
        } else {
            leaf.append(text: #""STREAM_CHUNK_TYPE_TEXT""#)
        }
        leaf.append(text: #","timestamp":"#)
        let timeStart = leaf.count
        if let stamp { tape.appendRaw(stamp, to: &leaf) }
        if let kafkaTime { leaf.append(contentsOf: kafkaTime.json) }
        let timeEnd = leaf.count
        leaf.append(text: isFinal ? #","is_final":true"# : #","is_final":false"#)
        if let reason {
            leaf.append(text: #","finish_reason":"#)
            PassThrough.append(reason, of: tape, to: &leaf)
        }
        leaf.append(UInt8(ascii: "}"))
        let time = TimeText(in: leaf, at: timeStart..<timeEnd, instant: instant)

        var end: RunEnd?
        if isFinal {
            let failed = reason.map { tape.isText($0, Name.error) } ?? false
            end = RunEnd(
                status: failed ? .error : .complete, finishedAt: time,
                errorMessage: failed ? nonEmpty(errorMessage) ?? failedText : nil)
        }
        return ChunkFacts(
            conversation: conversation, sequence: sequence, run: run, index: index,
            byArrival: rule == .arrival, time: time, isTimeKafkas: kafkaTime != nil, end: end,
            leaf: leaf)
    }

    func run(
        status: Template?, marker: Template?, stream: Template?, eventName: String?
    ) throws(Rejection) -> RunFacts {
        let conversation = try conversation()
        let run = try run()
        let sequence = try natural(.messageSequence)
        let error = try errorObject()
        let facts = RunFacts(conversation: conversation)
        let state = try string(.state).flatMap {
            tape.tokens[$0].start == tape.tokens[$0].end ? nil : $0
        }
        let mark = try string(.status)
        guard state != nil || mark != nil else {
            throw Rejection(.missingField, "state, status: expected one of them, found neither")
        }
        if let state {
            facts.activity = try activity(
                state: state, run: run, error: error, at: status, conversation, sequence)
        }
        if let mark {
            let word = tape.text(mark)
            let ends = RunMarker(rawValue: String(decoding: word, as: UTF8.self))
            guard let ends else {
                throw invalid(.status, "started, completed, failed or cancelled", mark)
            }
            let run = try requiredRun()
            let name = try eventKey(default: eventName)
            let time = try timeOrKafka(.emittedAt)
            let fallback = try string(.errorMessage)
            if let marker {
                var value = ObjectWriter()
                value.add(Name.runIDOfEvent, text: run)
                value.add(Name.status, text: word)
                let path = try render(
                    marker, conversation: conversation, sequence: sequence, run: run,
                    eventName: name)
                facts.event = (path, value.finish())
            }
            if let sequence, stream != nil {
                facts.marker = MarkerFacts(
                    sequence: sequence, run: run, time: time,
                    end: ends.end(
                        at: time, message: nonEmpty(error?.message) ?? nonEmpty(fallback)))
            }
        }
        return facts
    }

    private func activity(
        state: Int, run: [UInt8]?, error: (code: Int?, message: Int?)?, at status: Template?,
        _ conversation: [UInt8], _ sequence: Int64?
    ) throws(Rejection) -> ActivityFacts? {
        guard let seq = try int64(.seq) else { throw missing(.seq) }
        let since = try time(.since) ?? timestamp.map(TimeText.init(milliseconds:))
        guard let status else { return nil }
        var node = ObjectWriter(capacity: 240)
        node.add(Name.state, text(state))
        if let run { node.add(Name.runID, text: run) }
        node.add(Name.seq, text: String(seq))
        if let since { node.add(Name.since, since.json) }
        if let error {
            var object = ObjectWriter()
            if let code = error.code { object.add(Name.code, text(code)) }
            if let message = error.message { object.add(Name.message, text(message)) }
            node.add(Name.error, object.finish())
        }
        let rank = StatusRank(
            seq: seq, since: since?.instant,
            isResting: StatusRank.isResting(state: tape.text(state)))
        let path = try render(
            status, conversation: conversation, sequence: sequence, run: run, eventName: nil)
        return ActivityFacts(
            path: path, rank: rank, isWorking: StatusRank.isWorking(state: tape.text(state)),
            node: node.finish())
    }

    func message(node: Template, eventName: String?) throws(Rejection) -> EventFacts {
        let conversation = try conversation()
        guard let message = value(.message) else { throw missing(.message) }
        guard tape.kind(message) == .object else { throw invalid(.message, "an object", message) }
        let context = value(.eventContext)
        if let context, tape.kind(context) != .object {
            throw invalid(.eventContext, "an object", context)
        }
        let name = try eventKey(default: eventName)
        // Without a place in the template these are unknown fields, whatever they hold.
        let path = try render(
            node, conversation: conversation,
            sequence: mapping.names(.messageSequence) ? try natural(.messageSequence) : nil,
            run: mapping.names(.runID) ? try id(.runID) : nil, eventName: name)
        let segments = path.count { $0 == UInt8(ascii: "/") } + 1
        let deepest = max(
            PassThrough.depth(message, of: tape),
            context.map { PassThrough.depth($0, of: tape) } ?? 0)
        try checkDepth(segments + 1 + deepest)
        try checkKeys(message)
        if let context { try checkKeys(context) }
        var value = ObjectWriter(capacity: tape.bytes.count)
        value.add(Name.message, text(message))
        if let context { value.add(Name.eventContext, text(context)) }
        let json = value.finish()
        try checkSize(path.count + json.count)
        return EventFacts(conversation: conversation, path: path, value: json)
    }

    /// - Parameter depth: levels of path and value below the database's root.
    func checkDepth(_ depth: Int) throws(Rejection) {
        let depth = mapping.rootDepth + depth
        guard depth <= Key.depthMax else {
            throw Rejection(
                .tooDeep,
                "expected at most \(Key.depthMax) levels of path and value, found \(depth)")
        }
    }

    func checkKeys(_ value: Int) throws(Rejection) {
        guard let length = PassThrough.overlongKey(value, of: tape) else { return }
        throw Rejection(
            .invalidPath,
            "a member name: expected at most \(Key.bytesMax) bytes once encoded, found \(length)")
    }

    func checkSize(_ bytes: Int) throws(Rejection) {
        guard bytes <= Interpreter.writeBytesMax else {
            throw Rejection(.tooLarge, "expected at most 10 MiB in one write, found \(bytes) bytes")
        }
    }

    // `{code, message}` or null.
    private func errorObject() throws(Rejection) -> (code: Int?, message: Int?)? {
        guard let error = value(.error) else { return nil }
        guard tape.kind(error) == .object else {
            throw invalid(.error, "an object with code and message", error)
        }
        let code = member("code", of: error)
        let message = member("message", of: error)
        if let code, tape.kind(code) == .object || tape.kind(code) == .array {
            throw invalid("error.code", "a string", code)
        }
        if let message, tape.kind(message) != .string {
            throw invalid("error.message", "a string", message)
        }
        return (code, message)
    }

    private func eventKey(default fallback: String?) throws(Rejection) -> [UInt8] {
        if let context = value(.eventContext), tape.kind(context) != .object {
            throw invalid(.eventContext, "an object", context)
        }
        guard let value = try string(.eventName) else {
            guard let fallback else { throw missing(.eventName) }
            return eventNameKey(fallback)
        }
        return eventNameKey(String(decoding: tape.text(value), as: UTF8.self))
    }

    private func nonEmpty(_ string: Int?) -> [UInt8]? {
        guard let string, tape.tokens[string].start < tape.tokens[string].end else { return nil }
        return text(string)
    }
}

/// `llm.v1.MessagePublishedEvent` → `llm_v1_messagepublishedevent`.
func eventNameKey(_ name: String) -> [UInt8] {
    name.lowercased().unicodeScalars.map { scalar in
        switch scalar {
        case "a"..."z", "0"..."9", "_": UInt8(scalar.value)
        default: UInt8(ascii: "_")
        }
    }
}

/// A run marker's status.
enum RunMarker: String {
    case started, completed, failed, cancelled

    /// How the run ended, nil for `started`.
    func end(at time: TimeText, message: [UInt8]?) -> RunEnd? {
        switch self {
        case .started: return nil
        case .completed: return RunEnd(status: .complete, finishedAt: time)
        case .failed, .cancelled:
            let word = Array("\"\(rawValue)\"".utf8)
            return RunEnd(status: .error, finishedAt: time, errorMessage: message ?? word)
        }
    }
}

private let failedText = Array("\"failed\"".utf8)
