internal import TreeWire

/// What becomes of a request that meets a fault: it waits, the tree sees it or not, the answer
/// waits, and comes whole, slowly, in part or never.
public struct FaultAction: Equatable, Sendable {
    /// How long it waits before anything, in milliseconds: a write lands late.
    public var delay: Int64 = 0
    /// As much more, at most, by chance.
    public var jitter: Int64 = 0
    /// What is answered instead of the tree's answer.
    public var reply: Reply?
    /// Whether the tree sees the request although its own answer is not given.
    public var isApplied = false
    /// How long the answer waits, in milliseconds: a write has landed, and nobody knows.
    public var hold: Int64 = 0
    /// Where the connection ends instead of going on.
    public var cut: Cut?
    /// The answer's pace; nil: at once.
    public var bytesPerSecond: Int?

    /// Where a connection is cut.
    public enum Cut: String, Sendable {
        /// Before the tree sees the request.
        case before
        /// When the tree has seen it, before its answer.
        case after
        /// Within the answer's body.
        case inside
    }

    /// An answer that is not the tree's.
    public struct Reply: Equatable, Sendable {
        /// The HTTP status.
        public var status: Int
        /// Names and values.
        public var headers: [(name: String, value: String)]
        /// The body.
        public var body: [UInt8]

        /// Makes an answer.
        public init(
            _ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
        ) {
            self.status = status
            self.headers = headers
            self.body = body ?? errorBody(Self.words[status] ?? "a fault, as the rules demand")
        }

        /// The database's own words.
        static let words: [Int: String] = [
            400: "Invalid data; couldn't parse JSON object. Are you sending a JSON object with "
                + "valid key names?",
            401: "Auth token is expired",
            423: "The Firebase database has been deactivated.",
            500: "Internal server error.",
            503: "Service Unavailable",
        ]

        /// Whether two are the same answer.
        public static func == (left: Reply, right: Reply) -> Bool {
            left.status == right.status && left.body == right.body
                && left.headers.elementsEqual(right.headers) { $0 == $1 }
        }
    }

    /// Nothing happens.
    public init() {}

    /// Whether the tree sees the request.
    public var reachesTree: Bool { cut != .before && (reply == nil || isApplied) }
}

/// A fault: who meets it, and what it does.
public struct FaultRule: Equatable, Sendable {
    /// Its name in the count of hits.
    public var name: String
    /// Whom it meets.
    public var condition: FaultCondition
    /// What it does.
    public var action: FaultAction

    /// Makes a rule.
    public init(_ name: String, when condition: FaultCondition, do action: FaultAction) {
        self.name = name
        self.condition = condition
        self.action = action
    }
}

/// Everything that a file of faults says.
public struct FaultPlan: Equatable, Sendable {
    /// Where chance begins.
    public var seed: UInt64 = 0
    /// In this order; the first that meets a request decides.
    public var rules: [FaultRule] = []
    /// Writes that pass without waiting in a second; nil: any number.
    public var writesPerSecond: Int?
    /// Bytes of writes that pass without waiting in a minute; nil: any number.
    public var writeBytesPerMinute: Int?

    /// No faults.
    public init() {}
}
