/// A node's path with places for what a record says:
/// `streaming/{conversation_id}/{message_sequence}`.
///
/// A place is `{key}`, `{topic}`, `{partition}`, `{offset}`, `{header.NAME}`, `{/json/pointer}` or
/// `{field}`. What fills it becomes one path segment or a part of one (`Key.escape`).
public struct Template: Hashable, Sendable, CustomStringConvertible {
    /// A part of a segment.
    public enum Part: Hashable, Sendable {
        case literal([UInt8])
        case place(Place)
    }

    /// What fills a place.
    public enum Place: Hashable, Sendable {
        case key, topic, partition, offset
        case header(String)
        case pointer(JSONPointer)
        case field(String)
    }

    /// Why a text is no template.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// What is wrong and what was expected.
        public let description: String
    }

    /// The segments of the path.
    public let segments: [[Part]]
    /// The template as written.
    public let description: String

    /// Parses a template.
    public init(_ text: String) throws(Failure) {
        description = text
        var segments: [[Part]] = [[]]
        var literal: [UInt8] = []
        var place: [UInt8]?
        func flush() {
            if !literal.isEmpty { segments[segments.count - 1].append(.literal(literal)) }
            literal = []
        }
        for byte in text.utf8 {
            if let open = place {
                guard byte == UInt8(ascii: "}") else {
                    place = open + [byte]
                    continue
                }
                flush()
                let name = String(decoding: open, as: UTF8.self)
                segments[segments.count - 1].append(.place(try Self.place(name)))
                place = nil
                continue
            }
            switch byte {
            case UInt8(ascii: "{"): place = []
            case UInt8(ascii: "}"): throw Failure(description: "a '}' without its '{'")
            case UInt8(ascii: "/"):
                flush()
                segments.append([])
            default:
                guard !Key.isForbidden(byte) || byte == UInt8(ascii: "%") else {
                    throw Failure(
                        description:
                            "expected a path without '.', '$', '#', '[', ']' and control characters, found "
                            + "'\(Unicode.Scalar(byte))'")
                }
                literal.append(byte)
            }
        }
        guard place == nil else { throw Failure(description: "a '{' without its '}'") }
        flush()
        guard segments.allSatisfy({ !$0.isEmpty }) else {
            throw Failure(description: "expected a path without empty segments")
        }
        guard segments.count <= Key.depthMax else {
            throw Failure(description: "expected at most \(Key.depthMax) segments")
        }
        let longest = segments.map { parts in
            parts.reduce(0) { if case .literal(let bytes) = $1 { $0 + bytes.count } else { $0 } }
        }.max()
        guard let longest, longest <= Key.bytesMax else {
            throw Failure(description: "expected segments of at most \(Key.bytesMax) bytes")
        }
        self.segments = segments
    }

    private static func place(_ name: String) throws(Failure) -> Place {
        switch name {
        case "": throw Failure(description: "an empty '{}'")
        case "key": return .key
        case "topic": return .topic
        case "partition": return .partition
        case "offset": return .offset
        default: break
        }
        if name.hasPrefix("header.") { return .header(String(name.dropFirst(7))) }
        guard name.hasPrefix("/") else { return .field(name) }
        guard let pointer = JSONPointer(name) else {
            throw Failure(description: "'\(name)' is not a JSON Pointer")
        }
        return .pointer(pointer)
    }

    /// The names of the fields that fill its places.
    public var fieldNames: Set<String> {
        var names: Set<String> = []
        for case .place(.field(let name)) in segments.joined() { names.insert(name) }
        return names
    }
}
