internal import EventLoop
internal import HTTPClient

/// How requests prove who sends them: `database.credentials`.
public enum Credentials: Equatable, Sendable {
    /// Not at all.
    case none
    /// `Bearer owner`, which the emulator takes for its administrator.
    case emulator
    /// A legacy database secret in a file. The database takes it in the query only (`auth=`), where
    /// proxies may log it: prefer any other.
    case secret(file: String)
    /// An OAuth 2 access token in a file that something else keeps fresh.
    case accessToken(file: String)
    /// A service account's key file: tokens are fetched by a signed assertion.
    case serviceAccount(file: String)
    /// Google's metadata server, on its machines: tokens are fetched from there.
    case metadataServer(host: String = Self.metadataHost())

    /// `GCE_METADATA_HOST`, else Google's name.
    public static func metadataHost() -> String {
        Environment.value("GCE_METADATA_HOST").flatMap { $0.isEmpty ? nil : $0 }
            ?? "metadata.google.internal"
    }

    /// Why these must not be sent to that database, nil where they may.
    public func objection(to url: DatabaseURL) -> String? {
        guard url.isPlain, !url.isLoopback else { return nil }
        switch self {
        case .none, .emulator: return nil
        default:
            return "these credentials need https or a database on this machine: "
                + "\(url) would send them in plain text"
        }
    }

    /// Whether the client must be allowed plain HTTP (`HTTPClient.Options.allowPlainHTTP`).
    public func needPlainHTTP(for url: DatabaseURL) -> Bool {
        if case .metadataServer = self { true } else { url.isPlain }
    }
}

/// What a request carries to prove who sends it.
struct Token {
    /// Counts the tokens, so that a late 401 is not taken for a verdict on the next one.
    var generation: Int
    /// The Authorization header's value.
    var header: Secret?
    /// The query item.
    var query: Secret?
    /// The bare secret, to be cut out of what servers say.
    var bare: Secret?
    /// By the monotonic clock; nil where it is not known.
    var expiresAt: Int64?
    /// When to fetch the next.
    var renewAt: Int64?

    static let none = Token(generation: 0)
    static let owner = Token(generation: 0, header: Secret("Bearer owner"))
}

/// What a server said, without the secrets that it may have repeated; nor the beginning of one
/// where the text was cut inside it.
func redact(_ text: String, _ secrets: [Secret?]) -> String {
    let lengthMin = 4
    var text = text
    for case let secret? in secrets where secret.reveal().count >= lengthMin {
        let shown = String(decoding: secret.reveal(), as: UTF8.self)
        text = text.replacing(shown, with: "<secret>")
        let isCut = text.hasSuffix("…")
        let kept = isCut ? text.dropLast() : text[...]
        let head = sequence(first: shown.dropLast()) { $0.dropLast() }
            .prefix { $0.count >= lengthMin }.first { kept.hasSuffix($0) }
        if let head { text = kept.dropLast(head.count) + "<secret>" + (isCut ? "…" : "") }
    }
    return text
}
