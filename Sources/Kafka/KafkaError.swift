public import BridgeCore
import CRdKafka

/// What went wrong with Kafka, in librdkafka's own words, and what is to be done about it.
public struct KafkaError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What the caller does about an error: each code is classified once, here.
    public enum Action: String, Sendable {
        /// It passes by itself: count it; it matters only when it lasts.
        case note
        /// Configuration or access rights are wrong: say so, not ready, and go on trying.
        case alarm
        /// The group moved on: forget what was in flight and wait for the next assignment.
        case awaitAssignment
        /// This partition cannot be read on: it stands still until someone decides.
        case haltPartition
        /// The handle is dead: exit, and let the next start begin anew.
        case fatal
    }

    /// librdkafka's name of the code, `TOPIC_AUTHORIZATION_FAILED` or `_TRANSPORT` (an underscore
    /// marks the client's own).
    public var code: String
    /// What happened, never with a secret in it.
    public var text: String
    /// What is to be done.
    public var action: Action
    /// The partition that it concerns, if one.
    public var partition: TopicPartition?
    /// Where in the partition, if known.
    public var offset: Int64?

    /// Makes an error of this package's own.
    public init(code: String, text: String, action: Action) {
        self.code = code
        self.text = text
        self.action = action
    }

    /// Whether a record was too large for the broker, the topic or one of its segments: it may fit
    /// without its value.
    public var isTooLarge: Bool { ["MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"].contains(code) }

    /// Whether the group refuses this member, not a broker this client.
    public var isOfGroup: Bool {
        [
            "GROUP_AUTHORIZATION_FAILED", "INVALID_GROUP_ID", "INCONSISTENT_GROUP_PROTOCOL",
            "INVALID_SESSION_TIMEOUT",
        ].contains(code)
    }

    /// The partition, the code and the text.
    public var description: String {
        let place =
            partition.map { partition in
                offset.map { "\(partition)@\($0): " } ?? "\(partition): "
            } ?? ""
        return "\(place)\(text) (\(code))"
    }
}

extension KafkaError {
    /// The error of a code, with librdkafka's general text unless a better one is known.
    init(_ code: rd_kafka_resp_err_t, text: String? = nil, isFatal: Bool = false) {
        self.code = unsafe String(cString: rd_kafka_err2name(code))
        self.text = unsafe text ?? String(cString: rd_kafka_err2str(code))
        action = isFatal ? .fatal : Action(code)
    }

    /// Takes over and frees one of librdkafka's error objects, nil for none.
    init?(consuming error: OpaquePointer?) {
        guard let error = unsafe error else { return nil }
        unsafe self.init(
            rd_kafka_error_code(error), text: String(cString: rd_kafka_error_string(error)),
            isFatal: rd_kafka_error_is_fatal(error) != 0)
        unsafe rd_kafka_error_destroy(error)
    }

    /// Why the handle is dead, nil while it is not.
    static func fatal(_ handle: OpaquePointer) -> KafkaError? {
        let text = CText()
        let code = unsafe rd_kafka_fatal_error(handle, text.pointer, text.size)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return KafkaError(code, text: text.string, isFatal: true)
    }

    /// Whether the log no longer has, or does not have yet, the offset that was to be read.
    public var saysThatOffsetIsGone: Bool {
        ["_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"].contains(code)
    }

    /// Throws unless the code says that all is well.
    static func check(_ code: rd_kafka_resp_err_t) throws(KafkaError) {
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
    }
}

extension KafkaError.Action {
    /// The action for each code that an application can meet.
    init(_ code: rd_kafka_resp_err_t) {
        self =
            switch code {
            case RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: .fatal
            case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR__BAD_MSG,
                RD_KAFKA_RESP_ERR__BAD_COMPRESSION, RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED,
                RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
                .haltPartition
            case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
                RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
                RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
                RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR__AUTHENTICATION,
                RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
                RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, RD_KAFKA_RESP_ERR__SSL,
                RD_KAFKA_RESP_ERR_INVALID_GROUP_ID, RD_KAFKA_RESP_ERR__INVALID_ARG,
                RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL,
                RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT,
                RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
                .alarm
            case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
                RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
                RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST, RD_KAFKA_RESP_ERR__STATE:
                .awaitAssignment
            default: .note
            }
    }
}

/// Room for one of librdkafka's error texts.
@safe
struct CText: ~Copyable {
    let pointer: UnsafeMutablePointer<CChar>
    let size = 512

    init() {
        unsafe pointer = .allocate(capacity: size)
        unsafe pointer.initialize(repeating: 0, count: size)
    }

    var string: String { unsafe String(cString: pointer) }

    deinit { unsafe pointer.deallocate() }
}
