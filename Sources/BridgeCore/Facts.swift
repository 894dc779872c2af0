internal import JSON

/// What one record says, taken out of its JSON by its topic's mapping.
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
    /// The JSON string, quotes included.
    var json: [UInt8]
    var instant: Timestamp

    /// A time of Kafka's or the bridge's own.
    init(milliseconds: Int64) {
        json = []
        json.appendJSONString(Timestamp.text(milliseconds: milliseconds))
        instant = Timestamp(milliseconds: milliseconds)
    }

    init(json: [UInt8], instant: Timestamp) {
        self.json = json
        self.instant = instant
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
struct ChunkFacts {
    var conversation: [UInt8]
    var sequence: Int64
    var run: [UInt8]
    /// nil where the record has none: index 0, or by arrival.
    var index: Int64?
    var byArrival: Bool
    var time: TimeText
    /// Set on a final chunk.
    var end: RunEnd?
    /// The chunk's node as JSON.
    var leaf: [UInt8]
}

/// An activity change, a run marker, or both.
struct RunFacts {
    var conversation: [UInt8]
    var activity: ActivityFacts?
    var marker: MarkerFacts?
    /// The marker's event node.
    var event: (path: [UInt8], value: [UInt8])?
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
struct EventFacts {
    var conversation: [UInt8]
    var path: [UInt8]
    var value: [UInt8]
}

/// A record of the general mapping.
struct ValueFacts {
    var conversation: [UInt8]?
    var path: [UInt8]
    var change: Change
    /// The guarded fields' values; empty without a guard.
    var guardValues: [GuardValue]
    var isGuarded: Bool

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
