internal import JSON

/// Typed access to one record's fields, with rejections that name field, expectation and finding.
///
/// Not copyable: every copy would count its references, for every field of every record.
struct RecordReader: ~Copyable {
    let tape: JSONTape
    /// The record's key.
    let key: [UInt8]?
    /// Kafka's time of the record.
    let timestamp: Int64?
    let mapping: CompiledMapping
    let slots: [Int]
    /// nil for chunks, by far the most: they need no more of their record.
    let origin: Origin?

    /// The whole record, for what templates may name.
    struct Origin {
        let record: Record
        let source: TopicPartition
    }

    /// The value of a field, nil where it is absent or null.
    func value(_ field: Field) -> Int? {
        if !mapping.hasOverrides, !field.isInContext {
            let snake = slots[field.rawValue * 2]
            return snake >= 0 ? snake : found(slots[field.rawValue * 2 + 1])
        }
        if let pointer = mapping.overrides[field.rawValue] {
            guard let found = pointer.find(in: tape), tape.kind(found) != .null else { return nil }
            return found
        }
        if field.isInContext {
            guard let context = value(.eventContext) else { return nil }
            return member(field.name, of: context)
        }
        return found(slots[field.rawValue * 2]) ?? found(slots[field.rawValue * 2 + 1])
    }

    private func found(_ slot: Int) -> Int? { slot >= 0 ? slot : nil }

    /// A member by its snake_case or lowerCamelCase name, nil where it is absent or null.
    func member(_ name: String, of object: Int) -> Int? {
        for spelling in [name, lowerCamelCase(name)] {
            if let value = tape.member(Array(spelling.utf8), of: object),
                tape.kind(value) != .null
            {
                return value
            }
        }
        return nil
    }

    func missing(_ field: Field) -> Rejection {
        Rejection(.missingField, "\(field.name): expected a value, found none")
    }

    func invalid(_ field: Field, _ expected: String, _ found: Int) -> Rejection {
        invalid(field.name, expected, found)
    }

    func invalid(_ name: String, _ expected: String, _ found: Int) -> Rejection {
        Rejection(.invalidField, "\(name): expected \(expected), found \(describe(found))")
    }

    /// A string field's token.
    func string(_ field: Field) throws(Rejection) -> Int? {
        guard let value = value(field) else { return nil }
        guard tape.kind(value) == .string else { throw invalid(field, "a string", value) }
        return value
    }

    /// The text of an id: a string without unpaired surrogates.
    func id(_ field: Field) throws(Rejection) -> [UInt8]? {
        guard let value = try string(field) else { return nil }
        guard !tape.tokens[value].hasLoneSurrogate else {
            throw invalid(field, "text without unpaired surrogates", value)
        }
        return tape.text(value)
    }

    /// A run's id. A run that another one supersedes becomes a key of the ledger.
    func run() throws(Rejection) -> [UInt8]? {
        if let value = value(.runID), let known = mapping.runs.text(value, of: tape) {
            return known
        }
        guard let run = try id(.runID) else { return nil }
        let length = Key.member(run).count
        guard length <= Key.bytesMax else {
            throw Rejection(
                .invalidPath,
                "run_id: expected at most \(Key.bytesMax) bytes once encoded, found \(length)")
        }
        mapping.runs.keep(run)
        return run
    }

    /// The run's id where there must be one. An empty one, as a producer has it that writes out
    /// defaults, would make one run of all.
    func requiredRun() throws(Rejection) -> [UInt8] {
        guard let run = try run() else { throw missing(.runID) }
        guard !run.isEmpty else {
            throw Rejection(.missingField, "run_id: expected an id, found an empty one")
        }
        return run
    }

    /// A 64-bit integer: a JSON number or a decimal string.
    func int64(_ field: Field) throws(Rejection) -> Int64? {
        guard let value = value(field) else { return nil }
        let number: Int64? =
            switch tape.kind(value) {
            case .number: tape.int64(value)
            case .string: decimal(tape.text(value))
            default: nil
            }
        guard let number else { throw invalid(field, "a 64-bit integer", value) }
        return number
    }

    /// A 64-bit integer that is not negative.
    func natural(_ field: Field) throws(Rejection) -> Int64? {
        guard let number = try int64(field) else { return nil }
        guard number >= 0 else {
            throw Rejection(.invalidField, "\(field.name): expected 0 or more, found \(number)")
        }
        return number
    }

    func bool(_ field: Field) throws(Rejection) -> Bool? {
        guard let value = value(field) else { return nil }
        switch tape.kind(value) {
        case .true: return true
        case .false: return false
        default: throw invalid(field, "true or false", value)
        }
    }

    /// A time of the record, nil where it has none.
    func time(_ field: Field) throws(Rejection) -> TimeText? {
        guard let value = try string(field) else { return nil }
        return TimeText(json: Array(tape.raw(value)), instant: try instant(of: value, field))
    }

    /// What a time of the record means.
    func instant(of value: Int, _ field: Field) throws(Rejection) -> Timestamp {
        let token = tape.tokens[value]
        let instant =
            token.isEscaped
            ? Timestamp(tape.text(value))
            : Timestamp(tape.bytes, at: Int(token.start)..<Int(token.end))
        guard let instant else {
            throw invalid(field, "an RFC 3339 time such as 2026-04-23T22:43:44.700Z", value)
        }
        return instant
    }

    /// A time of the record, else Kafka's.
    func timeOrKafka(_ field: Field) throws(Rejection) -> TimeText {
        if let time = try time(field) { return time }
        return try kafkaTime(for: field)
    }

    func kafkaTime(for field: Field) throws(Rejection) -> TimeText {
        guard let milliseconds = timestamp else {
            throw Rejection(
                .missingField,
                "\(field.name): expected a time, found none and Kafka has none either")
        }
        return TimeText(milliseconds: milliseconds)
    }

    /// The JSON of a string for writing.
    func text(_ value: Int) -> [UInt8] { PassThrough.json(value, of: tape) }

    /// The conversation's key: of the field, else of the record's key.
    func conversation() throws(Rejection) -> [UInt8] {
        if let value = value(.conversationID),
            let known = mapping.conversations.text(value, of: tape)
        {
            return known
        }
        let key = try newConversation()
        // A key is its id's text only where nothing had to be encoded.
        if !key.contains(UInt8(ascii: "%")) { mapping.conversations.keep(key) }
        return key
    }

    private func newConversation() throws(Rejection) -> [UInt8] {
        guard let id = try id(.conversationID) else {
            guard let key else {
                throw Rejection(
                    .missingField,
                    "conversation_id: expected an id, found none and the record has no key")
            }
            guard String(validating: key, as: UTF8.self) != nil else {
                throw Rejection(
                    .invalidField, "conversation_id: expected UTF-8 in the record's key")
            }
            return try segment(key, "conversation_id")
        }
        return try segment(id, "conversation_id")
    }

    /// An id as one path segment.
    func segment(_ text: [UInt8], _ name: String) throws(Rejection) -> [UInt8] {
        let key = Key.escape(text)
        let longest = Key.bytesMax - mapping.segmentOverhead
        guard !key.isEmpty, key.count <= longest else {
            throw Rejection(
                .invalidPath,
                "\(name): expected 1 to \(longest) bytes once encoded, found \(key.count)")
        }
        return key
    }

    // What was found, never a text's content: it may be private.
    private func describe(_ value: Int) -> String {
        let token = tape.tokens[value]
        return switch token.kind {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string of \(token.end - token.start) bytes"
        case .number: String(decoding: tape.raw(value).prefix(40), as: UTF8.self)
        case .true: "true"
        case .false: "false"
        case .null: "null"
        }
    }
}

/// A mapping with what its records' reading needs at hand.
final class CompiledMapping {
    let mapping: Mapping
    /// Where `fields` looks for each field, by `Field.rawValue`.
    let overrides: [JSONPointer?]
    let hasOverrides: Bool
    let isChunk: Bool
    /// The literal bytes beside an id in the same path segment, at most.
    let segmentOverhead: Int
    /// How many keys stand above a node's path: the database's limit of depth counts them.
    let rootDepth: Int
    private let names: Set<String>
    /// The runs that came last.
    let runs = KnownIDs()
    /// The conversations that came last, by ids that are keys as they are.
    let conversations = KnownIDs()

    init(_ mapping: Mapping, rootDepth: Int) {
        self.mapping = mapping
        self.rootDepth = rootDepth
        overrides = Field.allCases.map { mapping.fields[$0.name] }
        hasOverrides = overrides.contains { $0 != nil }
        isChunk = if case .chunk = mapping.form { true } else { false }
        names = mapping.form.nodes.reduce(into: []) { $0.formUnion($1.template.fieldNames) }
        segmentOverhead =
            mapping.form.nodes.flatMap { $0.template.segments }.map { segment in
                segment.reduce(0) { total, part in
                    guard case .literal(let bytes) = part, segment.count > 1 else { return total }
                    return total + bytes.count
                }
            }.max() ?? 0
    }

    /// Whether a template of the mapping has a place for the field.
    func names(_ field: Field) -> Bool { names.contains(field.name) }
}

extension MirrorPlan {
    /// The mappings by topic, each with memories of its own.
    var compiled: [String: CompiledMapping] {
        Dictionary(
            uniqueKeysWithValues: mappings.map {
                ($0.topic, CompiledMapping($0, rootDepth: rootDepth))
            })
    }
}
