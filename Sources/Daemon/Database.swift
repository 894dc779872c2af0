internal import BridgeCore
public import Configuration
internal import EventLoop
internal import HTTPClient
internal import TreeClient

/// The database that a configuration names, and the client that the loop sleeps in.
struct Database {
    let http: HTTPClient
    let tree: TreeClient

    /// What the core asks at once beside a write for each lane: 32 reads; and a few for claims,
    /// chores and tokens.
    private static let othersMax = 32 + 8

    init(_ configuration: Configuration) throws {
        let url = try DatabaseURL(parsing: configuration.database.url)
        let credentials = Credentials(configuration.database.credentials)
        var options = HTTPClient.Options()
        options.caFile = configuration.database.caFile.isEmpty ? nil : configuration.database.caFile
        options.allowPlainHTTP = credentials.needPlainHTTP(for: url)
        // Where requests queued, lanes would wait for one another.
        options.requestsMax = configuration.settings.lanes + Self.othersMax
        options.userAgent = "firebridge/\(Mirror.version)"
        http = HTTPClient(options)
        tree = try TreeClient(
            url: url, credentials: credentials, http: http,
            timeout: configuration.delivery.requestTimeout,
            authVariableOverride: configuration.database.fence ? TreeClient.fenceIdentity : nil)
    }

    /// What tells a process from every other that may write.
    static func randomOwner() -> String {
        randomBytes(8).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}

extension Configuration {
    /// librdkafka's properties as its clients take them.
    public var properties: [(name: String, value: String)] {
        kafka.properties.map { ($0.name, $0.value) }
    }

    /// The same for those that produce: dead letters, and what is replayed of them. What no broker
    /// takes within this time has failed, unless they say otherwise: by librdkafka's own five
    /// minutes the bridge would long seem ready, and a command hang.
    public var producerProperties: [(name: String, value: String)] {
        [("message.timeout.ms", "30000")] + properties
    }
}

extension Credentials {
    /// The configuration's words as credentials.
    init(_ configuration: Configuration.Credentials) {
        self =
            switch configuration.type {
            case .none: .none
            case .emulator: .emulator
            case .serviceAccount: .serviceAccount(file: configuration.file)
            case .accessToken: .accessToken(file: configuration.file)
            case .secret: .secret(file: configuration.file)
            case .metadataServer: .metadataServer()
            }
    }
}
