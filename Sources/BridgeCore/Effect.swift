/// What the core wants done. The shell does it and answers by the method named at each case.
public enum Effect: Sendable {
    /// Send a request to the database; answer with `Bridge.settle`. A retry comes as the same
    /// request again, after its wait.
    case request(Request)
    /// Ask Kafka what it knows of these partitions; answer with `Bridge.positions` and the same
    /// serial.
    case askPositions([TopicPartition], serial: Int)
    /// Begin to read each partition at its offset: from now on `Bridge.consume` may be called with
    /// its records, in order, while `Bridge.room` is positive.
    case read([TopicPartition: Int64])
    /// Commit these offsets under the bridge's mark (`Bridge.commitMark` as metadata); answer with
    /// `Bridge.committed` and the same serial, so that a late answer is not taken for a later
    /// commit's.
    case commit([TopicPartition: Int64], serial: Int)
    /// Append a rejected record to the dead-letter topic; answer with `Bridge.deadLettered`.
    case deadLetter(DeadLetter)
    /// Let go of the partitions whose revocation was announced: their writes have settled or the
    /// drain limit has passed.
    case release
    /// Everything is drained after `Bridge.stop`; `undelivered` is how many records were read and
    /// not delivered.
    case finished(undelivered: Int)
    /// Say something to whoever is on call.
    case notice(Notice)
}

/// One request to the database.
public struct Request: Sendable {
    /// Names the request in its answer.
    public var id: Int
    /// What to do.
    public var method: Method
    /// Which attempt it is, from 1.
    public var attempt: Int

    /// What to do.
    public enum Method: Sendable {
        /// `PATCH <root>.json?print=silent` with this body.
        case patch([UInt8])
        /// `GET <root>/<path>.json`. The path is keys joined by `/`, UTF-8, not yet encoded for a
        /// URL; `shallow` adds `shallow=true`.
        case get(path: [UInt8], shallow: Bool)
        /// `GET <root>/<path>.json?orderBy="$key"&startAt="…"&endAt="…"&limitToFirst=…`: the
        /// children whose keys lie from `from` to `through`, both included (nil: from the first, to
        /// the last), the first `limit` of them.
        case list(path: [UInt8], from: [UInt8]?, through: [UInt8]?, limit: Int)
    }
}

/// How a request ended, classified once (contract section 6).
public enum Outcome: Equatable, Sendable {
    /// 2xx. `body` is a GET's JSON; `date` the server's `Date` header in milliseconds since 1970.
    case done(body: [UInt8], date: Int64?)
    /// 401 that is not `Permission denied`, after one fresh token: wait and retry.
    case unauthorized(String)
    /// No connection or a failure that passes: retry for ever. `retryAfter` is what the server
    /// asked for.
    case unavailable(String, retryAfter: Duration?)
    /// No answer came in time or at all: a write may have landed or may land yet. Unavailable, and
    /// the one failure that can come of a write's size.
    case unanswered(String, retryAfter: Duration?)
    /// 400 because the write is too big.
    case tooBig(String)
    /// The database will not have this write.
    case refused(status: Int, String)

    /// What the database has against the request; empty where it has nothing.
    var objection: String {
        switch self {
        case .done: ""
        case .unauthorized(let text), .unavailable(let text, _), .unanswered(let text, _),
            .tooBig(let text), .refused(_, let text):
            text
        }
    }
}

/// What Kafka knows of a partition.
public struct PartitionPositions: Equatable, Sendable {
    /// The first offset that is still there.
    public var low: Int64
    /// The offset that the next record will get.
    public var high: Int64
    /// The group's committed offset, nil where there is none.
    public var committed: Int64?
    /// That commit's metadata.
    public var metadata: String
    /// For `StartPolicy.time`: the first offset at or after that time (`high` where there is none).
    public var atStartTime: Int64?
    /// The Kafka cluster's id, nil where the broker does not say.
    public var clusterID: String?

    /// Makes the positions of a partition.
    public init(
        low: Int64, high: Int64, committed: Int64?, metadata: String = "",
        atStartTime: Int64? = nil,
        clusterID: String? = nil
    ) {
        self.low = low
        self.high = high
        self.committed = committed
        self.metadata = metadata
        self.atStartTime = atStartTime
        self.clusterID = clusterID
    }
}

/// A record that cannot be written, on its way to the dead-letter topic.
public struct DeadLetter: Sendable {
    /// Names it in its answer.
    public var id: Int
    /// Where it stood.
    public var source: TopicPartition
    /// The record, unchanged.
    public var record: Record
    /// Why.
    public var rejection: Rejection
    /// When it was rejected, in milliseconds since 1970.
    public var time: Int64
}

/// Why a record cannot be written.
public struct Rejection: Error, Equatable, Sendable, CustomStringConvertible {
    /// The reasons of contract section 6.
    public enum Reason: String, CaseIterable, Sendable {
        case malformedJSON = "malformed_json"
        case notAnObject = "not_an_object"
        case missingField = "missing_field"
        case invalidField = "invalid_field"
        case invalidPath = "invalid_path"
        case tooLarge = "too_large"
        case tooDeep = "too_deep"
        case nullValue = "null_value"
        case refused
    }

    /// The reason.
    public var reason: Reason
    /// What, where, expected and found, in one line.
    public var message: String

    /// Makes a rejection.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// The reason and what is wrong.
    public var description: String { "\(reason.rawValue): \(message)" }
}

/// Something that whoever is on call should know: a log event with a stable name.
public struct Notice: Equatable, Sendable {
    /// How urgent it is.
    public enum Level: String, Sendable { case info, warn, error }
    /// How urgent it is.
    public var level: Level
    /// The stable name, `snake_case`.
    public var event: String
    /// Names and values that say more.
    public var fields: [(name: String, value: String)]

    /// Makes a notice.
    public init(_ level: Level, _ event: String, _ fields: [(name: String, value: String)] = []) {
        self.level = level
        self.event = event
        self.fields = fields
    }

    /// Whether both say the same.
    public static func == (a: Self, b: Self) -> Bool {
        a.level == b.level && a.event == b.event
            && a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
    }
}
