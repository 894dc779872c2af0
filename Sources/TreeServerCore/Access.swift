internal import Tree

/// Whose request it is, as far as rules care.
struct Caller: Equatable, Sendable {
    /// What rules see as `auth`: null for one who is not signed in.
    var auth: Value
    /// Rules do not apply: the owner.
    var isAdmin: Bool
    /// When the credential ends, in milliseconds since 1970; nil where it never does.
    var expires: Int64?

    /// One who shows no credential.
    static let anonymous = Caller(auth: .null, isAdmin: false)
    /// The database's owner, whom no rule stops.
    static let admin = Caller(auth: .null, isAdmin: true)
}

/// What a request shows of its sender.
struct Credential: Equatable, Sendable {
    /// `owner`, an ID token, or an access token.
    var token: [UInt8]
    /// It came as an access token (`Authorization: Bearer`, `access_token`, WebSocket `gauth`)
    /// rather than as an ID token (`auth`).
    var isAccessToken = false
}

/// A credential that does not count. REST answers 401 with the message; a WebSocket session answers
/// `status` with it.
struct CredentialError: Error, Equatable {
    var message: String
    /// It was good once: WebSocket's `expired_token` rather than `invalid_token`.
    var isExpired = false

    var status: String { isExpired ? "expired_token" : "invalid_token" }
}

extension TreeServer {
    /// Whose credential it is. Without one: anonymous.
    ///
    /// - Parameter override: the JSON of `auth_variable_override` or `authvar`: as whom the owner
    ///   wants to be treated.
    func caller(
        _ credential: Credential?, override: [UInt8]? = nil, at now: Int64
    ) throws(CredentialError) -> Caller {
        .anonymous
    }
}

// Asked afresh each time: a change of the rules counts at once. Both are true at once for an
// administrator and in a database without rules.
extension Namespace {
    /// Counts the changes of the rules. Where it has moved, open listens must be asked for again
    /// (`mayRead`), and end where they are refused.
    var rulesChanges: Int { 0 }

    /// Whether the caller may read, or listen to, what stands at the path.
    func mayRead(
        _ path: Path, _ query: Query? = nil, as caller: Caller, at now: Int64
    ) -> Bool {
        true
    }

    /// Whether the caller may write all of the update. Asked before it is applied.
    ///
    /// - Parameter now: the instant of the request's server values.
    func mayWrite(_ update: Update, as caller: Caller, at now: Int64) -> Bool {
        true
    }

    /// What `.indexOn` would have to say at which place for the query to be answered by REST; nil
    /// where it needs no index or has it. (A WebSocket listen is answered all the same, with
    /// `no_index`.)
    func missingIndex(for query: Query, at path: Path) -> String? {
        nil
    }
}
