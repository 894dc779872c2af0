internal import JSON

// The general mapping, `as: value` (contract section 3).

/// A guarded field's value, in the order of the guard: numbers, times and texts each rise in their
/// own way; of different kinds a number is lower than a time, a time lower than a text.
enum GuardValue: Comparable {
    case integer(Int64)
    /// A fraction, or an integer beyond 64 bits.
    case number(ExactDecimal)
    case time(Timestamp)
    case text([UInt8])

    init?(_ value: Int, of tape: JSONTape) {
        switch tape.kind(value) {
        case .number:
            // What is no number to the database cannot be written anyway.
            guard Double(String(decoding: tape.raw(value), as: UTF8.self))?.isFinite == true
            else { return nil }
            self.init(number: value, of: tape)
        case .string:
            let text = tape.text(value)
            if let integer = decimal(text) {
                self = .integer(integer)
            } else if let number = ExactDecimal(integer: text) {
                self = .number(number)
            } else if let time = Timestamp(text) {
                self = .time(time)
            } else {
                self = .text(text)
            }
        default: return nil
        }
    }

    private init?(number value: Int, of tape: JSONTape) {
        if let integer = tape.int64(value) {
            self = .integer(integer)
        } else if let number = ExactDecimal(Array(tape.raw(value))) {
            self = .number(number)
        } else {
            return nil
        }
    }

    static func < (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.integer(let x), .integer(let y)): x < y
        case (.integer(let x), .number(let y)): ExactDecimal(x) < y
        case (.number(let x), .integer(let y)): x < ExactDecimal(y)
        case (.number(let x), .number(let y)): x < y
        case (.time(let x), .time(let y)): x < y
        case (.text(let x), .text(let y)): x.lexicographicallyPrecedes(y)
        default: a.kind < b.kind
        }
    }

    private var kind: Int {
        switch self {
        case .integer, .number: 0
        case .time: 1
        case .text: 2
        }
    }

    /// The value as JSON, as it is kept beside the data.
    var json: [UInt8] {
        var out: [UInt8] = []
        switch self {
        case .integer(let value): out.appendDecimal(value)
        case .number(let value): out.append(contentsOf: value.json)
        case .time(let time):
            // Texts of every precision name the same instant: seconds and nanoseconds are kept.
            out.append(contentsOf: #"{"s":"#.utf8)
            out.appendDecimal(time.seconds)
            out.append(contentsOf: #","n":"#.utf8)
            out.appendDecimal(Int64(time.nanoseconds))
            out.append(UInt8(ascii: "}"))
        case .text(let text): out.appendJSONString(text)
        }
        return out
    }

    /// Reads what `json` wrote.
    init?(kept value: Int, of tape: JSONTape) {
        switch tape.kind(value) {
        case .string:
            // Integers beyond 64 bits were kept as texts once.
            let text = tape.text(value)
            self = ExactDecimal(integer: text).map(GuardValue.number) ?? .text(text)
            return
        case .number:
            self.init(number: value, of: tape)
            return
        case .object: break
        default: return nil
        }
        guard let seconds = tape.member(Array("s".utf8), of: value).flatMap(tape.int64),
            let nanoseconds = tape.member(Array("n".utf8), of: value).flatMap(tape.int64)
        else { return nil }
        self = .time(
            Timestamp(seconds: seconds, nanoseconds: Int32(truncatingIfNeeded: nanoseconds)))
    }
}

extension Interpreter {
    func valueFacts(
        of record: Record, from source: TopicPartition, by mapping: CompiledMapping,
        _ form: Mapping.ValueMapping
    ) throws(Rejection) -> Facts {
        let conversation = try record.key.flatMap { (key) throws(Rejection) -> [UInt8]? in
            let id = Key.escape(key)
            guard !id.isEmpty, id.count <= Key.bytesMax,
                String(validating: key, as: UTF8.self) != nil
            else { return nil }
            return id
        }
        var tape: JSONTape?
        if let value = record.value { tape = try parse(value) }
        if let tape, !mapping.mapping.passes(tape) { return .nothing }
        if tape == nil, !mapping.mapping.when.isEmpty { return .nothing }
        let reader = RecordReader(
            tape: tape ?? .null, key: record.key, timestamp: record.timestamp, mapping: mapping,
            slots: [], origin: RecordReader.Origin(record: record, source: source))
        let found = tape.map { form.value?.find(in: $0) ?? (form.value == nil ? 0 : nil) } ?? nil
        let isNull = tape == nil || found.map { reader.tape.kind($0) == .null } ?? false
        if isNull { return try reader.tombstone(form, conversation) }
        guard let value = found else {
            throw Rejection(
                .missingField, "\(form.value?.description ?? ""): expected a value, found none")
        }
        return try reader.written(value, form, conversation)
    }
}

extension RecordReader {
    fileprivate func tombstone(
        _ form: Mapping.ValueMapping, _ conversation: [UInt8]?
    ) throws(Rejection) -> Facts {
        switch form.tombstone {
        case .reject: throw Rejection(.nullValue, "expected a value, found a tombstone")
        case .ignore: return .nothing
        case .delete: break
        }
        let path = try render(
            form.node, conversation: nil, sequence: nil, run: nil, eventName: nil)
        return .value(
            ValueFacts(
                conversation: conversation, path: path, change: .delete, guardValues: [],
                isGuarded: !form.guardedBy.isEmpty))
    }

    fileprivate func written(
        _ value: Int, _ form: Mapping.ValueMapping, _ conversation: [UInt8]?
    ) throws(Rejection) -> Facts {
        let path = try render(
            form.node, conversation: nil, sequence: nil, run: nil, eventName: nil)
        var guards: [GuardValue] = []
        for pointer in form.guardedBy {
            guard let found = pointer.find(in: tape), tape.kind(found) != .null else {
                throw Rejection(
                    .missingField, "\(pointer): expected a value to guard by, found none")
            }
            guard let guardValue = GuardValue(found, of: tape) else {
                throw invalid(pointer.description, "a finite number or a string", found)
            }
            guards.append(guardValue)
        }
        let segments = path.count { $0 == UInt8(ascii: "/") } + 1
        try checkDepth(segments + PassThrough.depth(value, of: tape))
        try checkKeys(value)
        let change: ValueFacts.Change
        switch form.write {
        case .set: change = .set(text(value))
        case .merge:
            guard tape.kind(value) == .object else {
                throw Rejection(
                    .invalidField,
                    "\(form.value?.description ?? "the value"): expected an object to merge")
            }
            change = .merge(children(of: value))
        }
        let facts = ValueFacts(
            conversation: conversation, path: path, change: change, guardValues: guards,
            isGuarded: !form.guardedBy.isEmpty)
        try checkSize(facts.cost)
        return .value(facts)
    }

    private func children(of object: Int) -> [(key: [UInt8], value: [UInt8])] {
        var last: [[UInt8]: Int] = [:]
        var children: [(key: [UInt8], value: [UInt8])] = []
        for (name, member) in tape.members(of: object) {
            let key = Key.member(tape.text(name))
            if let earlier = last[key] {
                children[earlier].value = text(member)
            } else {
                last[key] = children.count
                children.append((key, text(member)))
            }
        }
        return children
    }
}

extension JSONTape {
    /// The tape of `null`, for records without value.
    static let null: JSONTape = {
        do { return try JSONParser().parse(JSONWord.null) } catch {
            preconditionFailure("null is JSON")
        }
    }()
}
