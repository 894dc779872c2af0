internal import JSON

/// What one record says, taken out of its JSON by its topic's mapping. Classes, as a record's facts
/// are handed from queue to queue: one reference is counted, not a dozen.
enum Facts {
    /// A filter passed the record over.
    case nothing
    case chunk(ChunkFacts)
    case run(RunFacts)
    case event(EventFacts)
    case value(ValueFacts)

    /// The conversation that the record belongs to, as a key; nil where a value record has no key.
    var conversation: [UInt8]? {
        switch self {
        case .nothing: nil
        case .chunk(let chunk): chunk.conversation
        case .run(let run): run.conversation
        case .event(let event): event.conversation
        case .value(let value): value.conversation
        }
    }

    /// Bytes of what it may write, roughly: for a batch's bound.
    var cost: Int {
        switch self {
        case .nothing: 0
        case .chunk(let chunk): chunk.leaf.count + 96
        case .run: 600
        case .event(let event): event.path.count + event.value.count + 64
        case .value(let value): value.cost
        }
    }
}

/// A time as the record wrote it, and what it means.
struct TimeText: Equatable {
    private let bytes: [UInt8]
    private let range: Range<Int>
    let instant: Timestamp

    /// The JSON string, quotes included.
    var json: [UInt8] { range.count == bytes.count ? bytes : Array(bytes[range]) }

    /// A time of Kafka's or the bridge's own.
    init(milliseconds: Int64) {
        var json: [UInt8] = []
        json.appendJSONString(Timestamp.text(milliseconds: milliseconds))
        self.init(json: json, instant: Timestamp(milliseconds: milliseconds))
    }

    init(json: [UInt8], instant: Timestamp) {
        self.init(in: json, at: 0..<json.count, instant: instant)
    }

    /// A time that stands in a longer text. Most chunks' times are compared and never kept, so they
    /// get no bytes of their own.
    init(in bytes: [UInt8], at range: Range<Int>, instant: Timestamp) {
        self.bytes = bytes
        self.range = range
        self.instant = instant
    }

    /// The time without the text around it, to be kept.
    var alone: TimeText { TimeText(json: json, instant: instant) }

    /// The longer text without the time.
    var surroundings: [UInt8] { Array(bytes[..<range.lowerBound] + bytes[range.upperBound...]) }

    static func == (a: Self, b: Self) -> Bool {
        a.instant == b.instant && a.bytes[a.range] == b.bytes[b.range]
    }
}

/// How a run ended: what `meta` says of it.
struct RunEnd: Equatable {
    var status: RunStatus
    var finishedAt: TimeText?
    /// A JSON string, quotes included; nil where there is none.
    var errorMessage: [UInt8]?
}

/// `meta.status`.
enum RunStatus: String {
    case streaming, complete, error
}

/// A token chunk.
final class ChunkFacts {
    let conversation: [UInt8]
    let sequence: Int64
    let run: [UInt8]
    /// nil where the record has none: index 0, or by arrival.
    let index: Int64?
    let byArrival: Bool
    let time: TimeText
    /// The record has none: a record that says the same may come at another time.
    let isTimeKafkas: Bool
    /// Set on a final chunk.
    let end: RunEnd?
    /// The chunk's node as JSON.
    let leaf: [UInt8]

    init(
        conversation: [UInt8], sequence: Int64, run: [UInt8], index: Int64?, byArrival: Bool,
        time: TimeText, isTimeKafkas: Bool = false, end: RunEnd?, leaf: [UInt8]
    ) {
        self.conversation = conversation
        self.sequence = sequence
        self.run = run
        self.index = index
        self.byArrival = byArrival
        self.time = time
        self.isTimeKafkas = isTimeKafkas
        self.end = end
        self.leaf = leaf
    }

    /// What the record itself says.
    var said: [UInt8] { isTimeKafkas ? time.surroundings : leaf }
}

/// An activity change, a run marker, or both.
final class RunFacts {
    let conversation: [UInt8]
    var activity: ActivityFacts?
    var marker: MarkerFacts?
    /// The marker's event node.
    var event: (path: [UInt8], value: [UInt8])?

    init(conversation: [UInt8]) { self.conversation = conversation }
}

/// An activity change.
struct ActivityFacts {
    var path: [UInt8]
    var rank: StatusRank
    /// The state expects no chunks.
    var isWorking: Bool
    /// The status node as JSON.
    var node: [UInt8]
}

/// A run marker that touches a stream.
struct MarkerFacts {
    var sequence: Int64
    var run: [UInt8]
    var time: TimeText
    /// nil for `started`.
    var end: RunEnd?
}

/// A finalized message.
final class EventFacts {
    let conversation: [UInt8]
    let path: [UInt8]
    let value: [UInt8]

    init(conversation: [UInt8], path: [UInt8], value: [UInt8]) {
        self.conversation = conversation
        self.path = path
        self.value = value
    }
}

/// A record of the general mapping.
final class ValueFacts {
    let conversation: [UInt8]?
    let path: [UInt8]
    let change: Change
    /// The guarded fields' values; empty without a guard.
    let guardValues: [GuardValue]
    let isGuarded: Bool

    init(
        conversation: [UInt8]?, path: [UInt8], change: Change, guardValues: [GuardValue],
        isGuarded: Bool
    ) {
        self.conversation = conversation
        self.path = path
        self.change = change
        self.guardValues = guardValues
        self.isGuarded = isGuarded
    }

    enum Change {
        case set([UInt8])
        case merge([(key: [UInt8], value: [UInt8])])
        case delete
        case ignore
    }

    var cost: Int {
        switch change {
        case .set(let value): path.count + value.count + 64
        case .merge(let children):
            children.reduce(64) { $0 + path.count + $1.key.count + $1.value.count + 8 }
        case .delete, .ignore: path.count + 64
        }
    }
}
