internal import JSON

/// The nodes that a template can be for one conversation: a path of keys, some of them still open.
struct ConversationPattern {
    /// What may stand at one level.
    enum Segment {
        /// This key.
        case key([UInt8])
        /// Any key that the template's segment can become.
        case any([Template.Part])
    }

    let segments: [Segment]

    /// The pattern of a template; nil where the conversation's id is not in it, or shares a segment
    /// with something else that cannot be told apart from it.
    init?(_ template: Template, conversation: [UInt8]) {
        var segments: [Segment] = []
        var isNamed = false
        for segment in template.segments {
            var key: [UInt8]? = []
            var names = false
            for part in segment {
                switch part {
                case .literal(let bytes): key?.append(contentsOf: bytes)
                case .place(.key), .place(.field("conversation_id")):
                    names = true
                    key?.append(contentsOf: conversation)
                case .place: key = nil
                }
            }
            if names, key == nil { return nil }
            isNamed = isNamed || names
            segments.append(key.map(Segment.key) ?? .any(segment))
        }
        guard isNamed else { return nil }
        self.segments = segments
    }

    /// The path where nothing is open.
    var path: [UInt8]? {
        var keys: [[UInt8]] = []
        for segment in segments {
            guard case .key(let key) = segment else { return nil }
            keys.append(key)
        }
        return Array(keys.joined(separator: [UInt8(ascii: "/")]))
    }

    /// Whether these keys are such a node's.
    func matches(_ keys: [[UInt8]]) -> Bool {
        keys.count == segments.count && zip(keys, segments).allSatisfy { $1.admits($0) }
    }
}

extension ConversationPattern.Segment {
    func admits(_ key: [UInt8]) -> Bool {
        switch self {
        case .key(let own): return own == key
        case .any([.place(.field("message_sequence"))]): return decimal(key) != nil
        case .any(let parts): return parts.canBecome(key)
        }
    }
}

extension Erasure {
    /// The nodes of a pattern that are there, found level by level.
    func nodes(of pattern: ConversationPattern, _ ask: Ask) throws(Failure) -> [[UInt8]] {
        var places: [[UInt8]] = [[]]
        var areThere = false
        for segment in pattern.segments {
            switch segment {
            case .key(let key):
                places = places.map { Self.join($0, key) }
                areThere = false
            case .any:
                let below = try Self.read(places, shallow: true, ask)
                var next: [[UInt8]] = []
                for (place, tape) in zip(places, below) {
                    for (key, _) in tape.children(of: 0) where segment.admits(key) {
                        next.append(Self.join(place, key))
                    }
                }
                places = next
                areThere = true
            }
        }
        guard !areThere else { return places }
        let found = try Self.read(places, shallow: true, ask)
        return zip(places, found).filter { $1.kind(0) != .null }.map(\.0)
    }

    static func join(_ path: [UInt8], _ key: [UInt8]) -> [UInt8] {
        path.isEmpty ? key : path + [UInt8(ascii: "/")] + key
    }
}
