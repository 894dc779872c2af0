/// What the core has counted since it was made, for the metrics of contract section 5.
public struct Counters: Sendable {
    /// Nothing counted yet.
    public init() {}

    /// Records consumed, by topic.
    public internal(set) var consumed: [String: Int] = [:]
    /// Records rejected, by topic and reason.
    public internal(set) var rejected: [RejectionKey: Int] = [:]
    /// Writes planned, by kind: chunk, meta, status, event, value, state.
    public var writes: [WriteKind: Int] {
        Dictionary(uniqueKeysWithValues: WriteKind.allCases.map { ($0, writeCounts[$0.rawValue]) })
    }
    private var writeCounts = [Int](repeating: 0, count: WriteKind.allCases.count)
    /// Activities that were older than the status node.
    public internal(set) var staleStatuses = 0
    /// Records of runs that cannot win, and chunks beyond the end.
    public internal(set) var lateChunks = 0
    /// Runs that ended with missing chunks.
    public internal(set) var runsWithGaps = 0
    /// Retries, by class.
    public internal(set) var retries: [String: Int] = [:]
    /// Dead letters acknowledged, by reason.
    public internal(set) var deadLetters: [String: Int] = [:]
    /// Retention gaps, by topic.
    public internal(set) var logGaps: [String: Int] = [:]
    /// Claims lost to another owner of the fence.
    public internal(set) var fenced = 0
    /// Records dropped because their conversation was erased.
    public internal(set) var erased = 0
    /// Runs judged as stalled.
    public internal(set) var stalled = 0
    /// Records of a replay that have settled and wrote nothing, by why.
    public internal(set) var passedOver: [PassedOver: Int] = [:]
    /// Bytes of PATCH bodies handed out for sending, retries included.
    public internal(set) var bytesSent = 0
    /// PATCH requests handed out for sending, retries included.
    public internal(set) var patchesSent = 0
    /// From a record's Kafka time to its acknowledged write.
    public internal(set) var delivery = LatencyHistogram()

    /// A topic and why its records were rejected.
    public struct RejectionKey: Hashable, Sendable {
        /// The topic.
        public var topic: String
        /// The reason.
        public var reason: Rejection.Reason
    }

    /// What is written.
    public enum WriteKind: Int, CaseIterable, Sendable {
        case chunk, meta, status, event, value, state
    }

    /// Why a replay writes nothing of a record that could be written.
    public enum PassedOver: Hashable, Sendable {
        /// The mapping's filter or the replay leaves it out, or a later value of the range follows.
        case leftOut
        /// Its conversation was erased later.
        case erased
        /// The tree holds the same, or something later.
        case known
    }

    mutating func add(_ kind: WriteKind) { writeCounts[kind.rawValue] += 1 }

    /// Writes planned, the bridge's own state left out.
    var dataWrites: Int { writeCounts.reduce(0, +) - writeCounts[WriteKind.state.rawValue] }
}

/// Latencies in buckets, those of `delivery_seconds`.
public struct LatencyHistogram: Sendable {
    /// The upper bounds of the buckets, in milliseconds; one more bucket is above the last.
    public static let boundsMilliseconds: [Int64] = [
        10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 3_600_000,
    ]
    /// How many fell into each bucket.
    public internal(set) var counts = [Int](repeating: 0, count: boundsMilliseconds.count + 1)
    /// The sum of all, in milliseconds; a record may say that it is ten thousand years old.
    public internal(set) var sumMilliseconds = 0.0

    mutating func add(_ milliseconds: Int64) {
        let value = max(0, milliseconds)
        sumMilliseconds += Double(value)
        counts[Self.boundsMilliseconds.firstIndex { value <= $0 } ?? counts.count - 1] += 1
    }
}
