import BridgeCore
internal import EventLoop

/// One key of `firebridge.yaml`: the only place that knows its name, what it may hold and what it
/// does. Reading, printing, the editor's schema and the tests of the manual all go by this table;
/// the defaults are those of `Configuration()`.
public struct ConfigurationKey: Sendable {
    /// The dotted name: `delivery.lanes`.
    public let path: String
    /// What it holds.
    public let kind: Kind
    /// For errors: what was expected.
    public let expected: String
    /// What it does.
    public let summary: String
    /// Reads it into a configuration.
    let read: @Sendable (Node, inout Configuration, inout Findings) -> Void
    /// Its value in a configuration.
    let write: @Sendable (Configuration) -> Rendered

    /// What a key holds.
    public enum Kind: Equatable, Sendable {
        case boolean
        case integer(ClosedRange<Int>)
        case size(ClosedRange<Int>)
        case duration(ClosedRange<Duration>, orZero: Bool)
        case choice([String])
        /// A word or a time.
        case start
        case text
        /// A list of texts.
        case list
        /// A mapping of texts.
        case map
        case mappings
        case template, pointer, pointers, pointerMap, filter

        /// What it holds, for an error.
        var noun: String {
            switch self {
            case .template: "a node's path"
            case .choice(let names): oneOf(names)
            default: "a text"
            }
        }
    }

    init<Value>(
        _ path: String, _ value: any WritableKeyPath<Configuration, Value> & Sendable,
        _ form: Form<Value>, _ summary: String
    ) {
        self.path = path
        kind = form.kind
        expected = form.expected
        self.summary = summary
        read = { node, configuration, findings in
            guard let read = form.read(node, path, &findings) else { return }
            configuration[keyPath: value] = read
        }
        write = { form.write($0[keyPath: value]) }
    }

    /// Its default, as one line of YAML.
    public var defaultValue: String { write(Configuration()).afterKey }
}

extension ConfigurationKey {
    /// Every key, in the order of the file.
    public static let all: [ConfigurationKey] = kafka + database + mappings + delivery + rest

    private static let kafka: [ConfigurationKey] = [
        .init("kafka.brokers", \.kafka.brokers, .brokers, "The brokers to ask first."),
        .init(
            "kafka.group", \.settings.group,
            .text("a consumer group's name of 1 to 255 bytes") {
                (1...255).contains($0.utf8.count)
            },
            "The consumer group. Positions and watermarks are kept under its name."),
        .init(
            "kafka.start", \.settings.start, .start,
            "Where a group without offset or watermark begins; error: it does not."),
        .init(
            "kafka.on_gap", \.settings.onGap, .choice([.earliest, .latest, .halt]),
            "What happens when retention has removed what was still to be read. Always an alarm."),
        .init(
            "kafka.properties", \.kafka.properties, .properties,
            "librdkafka's own properties, passed on verbatim: security.protocol, sasl.*, ssl.* "
                + "and the like."),
    ]

    private static let database: [ConfigurationKey] = [
        .init(
            "database.url", \.database.url, .databaseURL,
            "The tree. A path in the URL is the root below which everything is written. Plain "
                + "http only to this machine, or without credentials that are secret."),
        .init(
            "database.credentials.type", \.database.credentials.type,
            .choice(Configuration.Credentials.Kind.allCases),
            "How the bridge shows the database who it is."),
        .init(
            "database.credentials.file", \.database.credentials.file, .path,
            "The service account key, or the file that holds the token or secret. Read again "
                + "when it changes."),
        .init(
            "database.ca_file", \.database.caFile, .path,
            "Certificates to trust instead of the system's, in PEM."),
        .init(
            "database.fence", \.database.fence, .boolean,
            "Write under auth_variable_override, so that the shipped rules refuse a write whose "
                + "fence has been overtaken."),
    ]

    private static let mappings: [ConfigurationKey] = [
        .init(
            "mappings", \.mappings, .mappings,
            "How topics are mirrored, one mapping a topic. A list here replaces the default one.")
    ]

    private static let delivery: [ConfigurationKey] = [
        .init(
            "delivery.lanes", \.settings.lanes, .integer(1...256),
            "Independent ordered lanes, each with one request in flight."),
        .init(
            "delivery.batch_writes_max", \.settings.batchWritesMax, .integer(1...100_000),
            "The most writes in one request."),
        .init(
            "delivery.batch_bytes_max", \.settings.batchBytesMax, .size(1024...(10 << 20)),
            "The most bytes in one request, as far as single records allow."),
        .init(
            "delivery.in_flight_bytes_max", \.settings.inFlightBytesMax,
            .size((64 << 10)...(4 << 30)),
            "The most bytes that were read and are not delivered. At the limit, reading stops "
                + "until there is room."),
        .init(
            "delivery.request_timeout", \.delivery.requestTimeout,
            .duration(.milliseconds(100)...(.seconds(600))), "How long one request may take."),
        .init(
            "delivery.retry_initial", \.settings.retryInitial,
            .duration(.milliseconds(1)...(.seconds(3600))), "The first wait after a failure."),
        .init(
            "delivery.retry_max", \.settings.retryMax,
            .duration(.milliseconds(1)...(.seconds(3600))),
            "The longest wait after a failure."),
        .init(
            "delivery.drain", \.settings.drain, .duration(.zero...(.seconds(3600))),
            "How long a stop, a revoke or a reload waits for what was read."),
        .init(
            "delivery.reject", \.settings.reject, .choice([.deadLetter, .skip, .stop]),
            "What happens to a record that cannot be written; stop: its partition stands still "
                + "there, not ready, and the others go on."),
        .init(
            "delivery.dead_letter_topic", \.delivery.deadLetterTopic, .topic,
            "Where rejected records go."),
    ]

    private static let rest: [ConfigurationKey] = [
        .init(
            "streams.stall_after", \.settings.stallAfter,
            .duration(.seconds(1)...(.seconds(30 * 86_400)), orZero: true),
            "A stream without a chunk for so long, while nothing else explains it, ends as an "
                + "error. 0 turns this off."),
        .init(
            "streams.stall_status", \.settings.stallStatus, .boolean,
            "Whether the status node says CONVERSATION_ACTIVITY_STATE_ERROR then too."),
        .init(
            "streams.keep", \.settings.keep,
            .duration(.seconds(1)...(.seconds(366 * 86_400)), orZero: true),
            "How long after its end a finished stream's node is removed. 0 keeps it."),
        .init(
            "server.listen", \.server.listen, .listen,
            "Where /healthz, /readyz, /metrics and /status are served."),
        .init(
            "log.level", \.log.level, .choice(Configuration.Log.Level.allCases),
            "The least urgent level that is written."),
        .init(
            "log.format", \.log.format, .choice(Configuration.Log.Format.allCases),
            "How a line looks; auto: readable on a terminal, logfmt under systemd, else JSON."),
    ]
}

extension Form<String> {
    /// A database's URL. It is never quoted: a secret may have been left in it.
    static let databaseURL = Form(
        .text, expected: "a database's URL",
        write: { .text($0) },
        read: { node, key, findings in
            guard !node.isNull, case .scalar(let scalar) = node.content else {
                findings.add(node, key, expected: "a database's URL")
                return nil
            }
            do throws(DatabaseURL.Mismatch) {
                _ = try DatabaseURL(scalar.text)
                return scalar.text
            } catch {
                findings.add(node.place, key, "expected \(error.expected), found another URL")
                return nil
            }
        })
}

extension Form<ListenAddress> {
    static let listen = Form(
        .text, expected: "an address and a port such as 127.0.0.1:8085 or [::1]:8085",
        parse: { ListenAddress(configured: $0.text) },
        write: { .text($0.description) })
}
