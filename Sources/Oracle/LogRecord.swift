internal import JSON

/// One record of a mirrored topic.
public struct LogRecord: Hashable, Sendable {
    /// The topic.
    public var topic: String
    /// The key, nil where it has none.
    public var key: [UInt8]?
    /// The value: JSON.
    public var value: [UInt8]
    /// Kafka's own time of it in milliseconds since 1970.
    public var timestamp: Int64?

    /// Makes a record.
    public init(topic: String, key: [UInt8]?, value: [UInt8], timestamp: Int64?) {
        self.topic = topic
        self.key = key
        self.value = value
        self.timestamp = timestamp
    }

    /// The topic of token chunks under the default mappings.
    public static let chunks = "llm.token-chunks"
    /// The topic of activity changes and run markers under the default mappings.
    public static let runs = "llm.run-lifecycle"
    /// The topic of finalized messages under the default mappings.
    public static let messages = "llm.finalized-messages"
}

/// The fields of a record's JSON object, found by snake_case or lowerCamelCase name; a null is as
/// good as absent.
struct Fields {
    private let tape: JSONTape
    private let object: Int

    init?(_ json: [UInt8], parser: JSONParser) {
        guard let tape = try? parser.parse(json), tape.kind(0) == .object else { return nil }
        self.init(tape: tape, object: 0)
    }

    private init(tape: JSONTape, object: Int) {
        self.tape = tape
        self.object = object
    }

    private func find(_ name: String) -> Int? {
        for spelling in [name, lowerCamelCase(name)] {
            if let value = tape.member(Array(spelling.utf8), of: object), tape.kind(value) != .null
            {
                return value
            }
        }
        return nil
    }

    func text(_ name: String) -> [UInt8]? {
        guard let value = find(name), tape.kind(value) == .string else { return nil }
        return tape.text(value)
    }

    /// A text that is not empty.
    func words(_ name: String) -> [UInt8]? {
        guard let text = text(name), !text.isEmpty else { return nil }
        return text
    }

    /// A number or a decimal string.
    func integer(_ name: String) -> Int64? {
        guard let value = find(name) else { return nil }
        guard tape.kind(value) == .string else { return tape.int64(value) }
        let digits = tape.text(value)
        let isNegative = digits.first == UInt8(ascii: "-")
        return plainDecimal(isNegative ? digits.dropFirst() : digits[...], negative: isNegative)
    }

    func isTrue(_ name: String) -> Bool { find(name).map { tape.kind($0) == .true } ?? false }

    func object(_ name: String) -> Fields? {
        guard let value = find(name), tape.kind(value) == .object else { return nil }
        return Fields(tape: tape, object: value)
    }

    /// The field as the bridge writes it: the names inside become keys.
    func node(_ name: String) -> Node? {
        guard let value = find(name) else { return nil }
        return Node(tape, value) { $0.isEmpty ? [UInt8(ascii: "%")] : key(of: $0) }
    }
}

private func lowerCamelCase(_ name: String) -> String {
    let parts = name.split(separator: "_")
    return parts.dropFirst().reduce(String(parts[0])) {
        $0 + $1.prefix(1).uppercased() + $1.dropFirst()
    }
}

/// The key of an id: what the database forbids is percent-encoded, byte by byte.
func key(of id: [UInt8]) -> [UInt8] {
    id.flatMap { byte -> [UInt8] in
        guard byte < 0x20 || byte == 0x7F || ".$#[]/%".utf8.contains(byte) else { return [byte] }
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
