public import BridgeCore
public import EventLoop
import KafkaRules

/// What an operator says in `firebridge.yaml` (contract section 3), every key with its value.
public struct Configuration: Equatable, Sendable {
    /// Where records come from. The group, `start` and `on_gap` are in `settings`.
    public var kafka = Kafka()
    /// Where nodes go.
    public var database = Database()
    /// How topics are mirrored.
    public var mappings = MirrorPlan.standard.mappings
    /// What the core is told: `kafka.group`, `.start`, `.on_gap`, `delivery` and `streams`.
    public var settings = Settings()
    /// What of `delivery` concerns the shell.
    public var delivery = Delivery()
    /// The health, metrics and status endpoint.
    public var server = Server()
    /// The log.
    public var log = Log()

    /// The defaults: a local broker and a local tree.
    public init() {}

    /// How many keys the path in `database.url` has.
    public var rootDepth: Int { (try? DatabaseURL(database.url))?.rootDepth ?? 0 }

    /// The mappings, sorted into sets, below that root.
    public func plan() throws(PlanError) -> MirrorPlan {
        try MirrorPlan(mappings: mappings, rootDepth: rootDepth)
    }

    /// Where records come from.
    public struct Kafka: Equatable, Sendable {
        /// `host:port` each.
        public var brokers = ["127.0.0.1:9092"]
        /// librdkafka's own properties, in the order of the file.
        public var properties: [Property] = []
    }

    /// A librdkafka property, passed on verbatim.
    public struct Property: Equatable, Sendable {
        /// Its name.
        public var name: String
        /// Its value, possibly a secret.
        public var value: String

        /// Makes a property.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Whether its value is hidden wherever settings are shown.
        public var isSecret: Bool { PropertyRules.isSecret(name, value: value) }
    }

    /// Where nodes go.
    public struct Database: Equatable, Sendable {
        /// The tree's URL; a path in it is the root.
        public var url = "http://127.0.0.1:9000/?ns=demo"
        /// How the bridge shows who it is.
        public var credentials = Credentials()
        /// A file of certificates to trust; empty for the system's.
        public var caFile = ""
        /// Whether writes go under `auth_variable_override`.
        public var fence = false
    }

    /// How the bridge shows the database who it is.
    public struct Credentials: Equatable, Sendable {
        /// The kind.
        public var type = Kind.none
        /// The service account key, or what holds the token or secret. Never empty where the kind
        /// needs one.
        public var file = ""

        /// The kinds.
        public enum Kind: String, CaseIterable, Sendable {
            case none, emulator
            case serviceAccount = "service_account"
            case accessToken = "access_token"
            case secret
            case metadataServer = "metadata_server"

            /// Whether it reads `credentials.file`.
            public var needsFile: Bool {
                switch self {
                case .serviceAccount, .accessToken, .secret: true
                case .none, .emulator, .metadataServer: false
                }
            }
        }
    }

    /// What of `delivery` concerns the shell.
    public struct Delivery: Equatable, Sendable {
        /// How long one request may take.
        public var requestTimeout = Duration.seconds(10)
        /// Where rejected records go.
        public var deadLetterTopic = "firebridge.dead-letters"
    }

    /// The health, metrics and status endpoint.
    public struct Server: Equatable, Sendable {
        /// Where it listens.
        public var listen = ListenAddress(host: "127.0.0.1", port: 8085)
    }

    /// The log.
    public struct Log: Equatable, Sendable {
        /// The least urgent level that is written.
        public var level = Level.info
        /// How a line looks.
        public var format = Format.auto

        /// The levels, most urgent first.
        public enum Level: String, CaseIterable, Sendable { case error, warn, info, debug }
        /// How a line looks.
        public enum Format: String, CaseIterable, Sendable { case auto, logfmt, json }
    }
}

extension ListenAddress {
    /// An address as the configuration allows it: no names but `localhost`, as none is looked up.
    init?(configured text: String) {
        guard let address = splitHostAndPort(text), let port = address.port,
            isListenHost(address.host)
        else { return nil }
        self.init(host: address.host, port: port)
    }
}
