/// What the core is told once: contract section 3, as values.
public struct Settings: Equatable, Sendable {
    /// The consumer group.
    public var group = "firebridge"
    /// Where a group without offset or watermark begins.
    public var start = StartPolicy.earliest
    /// What happens when retention has removed what was still to be read.
    public var onGap = GapPolicy.earliest
    /// The ordered lanes.
    public var lanes = 4
    /// The most writes in one PATCH.
    public var batchWritesMax = 10_000
    /// The most bytes in one PATCH, as far as single records allow.
    public var batchBytesMax = 1 << 20
    /// The most bytes read and not settled, over all lanes.
    public var inFlightBytesMax = 16 << 20
    /// The first wait after a failure.
    public var retryInitial = Duration.milliseconds(200)
    /// The longest wait after a failure.
    public var retryMax = Duration.seconds(30)
    /// How long a stop or a revoke waits for what was read.
    public var drain = Duration.seconds(20)
    /// What happens to a record that cannot be written.
    public var reject = RejectPolicy.deadLetter
    /// How long an open stream may be silent; zero turns the check off.
    public var stallAfter = Duration.seconds(600)
    /// Whether a stalled stream sets the status node to ERROR.
    public var stallStatus = false
    /// How many conversations of a set and partition number are remembered, beside those with
    /// unsettled writes. Not a key of the configuration.
    public var conversationsMax = 20_000
    /// How many streams of a conversation are remembered, beside those with unsettled writes. Not
    /// a key of the configuration.
    public var streamsMax = 64
    /// How long a finished stream's node stays; zero keeps it.
    public var keep = Duration.seconds(86_400)
    /// Set where a range is mirrored once more (`replaying`); nil for a bridge. Not a key of the
    /// configuration.
    public internal(set) var replay: Replay?

    /// The defaults of the contract.
    public init() {}
}

/// Where a group without offset or watermark begins.
public enum StartPolicy: Equatable, Sendable {
    case earliest, latest, error
    /// At the first record whose Kafka time is not earlier, in milliseconds since 1970.
    case time(Int64)
}

/// What happens at a retention gap. Always an alarm.
public enum GapPolicy: String, Equatable, Sendable { case earliest, latest, halt }

/// What happens to a record that cannot be written.
public enum RejectPolicy: String, Equatable, Sendable {
    case deadLetter = "dead_letter"
    case skip, stop
}
