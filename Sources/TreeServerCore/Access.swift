internal import JSON
internal import Tree
internal import TreeAuth
internal import TreeRules
internal import TreeWire

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
struct Credential: Hashable, Sendable {
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
        var caller = Caller.anonymous
        if let credential {
            let identity = try identity(credential, at: now)
            caller = Caller(
                auth: identity.auth, isAdmin: identity.isOwner, expires: identity.expires)
        }
        guard let override else { return caller }
        guard caller.isAdmin else {
            throw CredentialError(
                message: "auth_variable_override needs an administrator's credential")
        }
        caller.isAdmin = false
        if override == Array("null".utf8) { return caller }
        guard let auth = claims(parsing: override) else {
            throw CredentialError(message: "auth_variable_override must be a JSON object or null")
        }
        caller.auth = auth
        return caller
    }

    private func identity(
        _ credential: Credential, at now: Int64
    ) throws(CredentialError) -> Identity {
        do throws(TokenError) {
            if case .emulator = authority { return try authority.identity(of: credential, at: now) }
            if let known = identities[credential] {
                if let expires = known.expires, expires <= now { throw TokenError.expired }
                return known
            }
            let identity = try authority.identity(of: credential, at: now)
            if identities.count >= identitiesMax { identities.removeAll(keepingCapacity: true) }
            identities[credential] = identity
            return identity
        } catch {
            throw CredentialError(message: error.description, isExpired: error == .expired)
        }
    }

    /// Whether it matters who asks.
    func isGuarded(_ namespace: Namespace) -> Bool {
        if namespace.rules != nil { return true }
        if case .emulator = authority { return false }
        return true
    }

    /// Whose REST request it is. In an open database that is not looked at, save for a stream,
    /// which may see rules come.
    func caller(
        _ request: TreeRequest, _ target: RESTTarget, in namespace: Namespace, at now: Int64
    ) throws(Refusal) -> Caller {
        let isOpen = !isGuarded(namespace)
        if isOpen, !request.wantsEvents { return .anonymous }
        do {
            return try caller(
                credential(request, target), override: target.parameter("auth_variable_override"),
                at: now)
        } catch {
            if isOpen { return .anonymous }
            throw Refusal(401, error.message)
        }
    }

    private func credential(_ request: TreeRequest, _ target: RESTTarget) -> Credential? {
        if let header = request.headers.authorization {
            let words = header.split(separator: " ", maxSplits: 1)
            if words.count == 2, words[0].lowercased() == "bearer" {
                return Credential(token: Array(words[1].utf8), isAccessToken: true)
            }
        }
        if let token = target.parameter("access_token") {
            return Credential(token: token, isAccessToken: true)
        }
        return target.parameter("auth").map { Credential(token: $0) }
    }
}

/// So many credentials are remembered.
private let identitiesMax = 1000

extension Authority {
    fileprivate func identity(
        of credential: Credential, at now: Int64
    ) throws(TokenError) -> Identity {
        try identity(of: credential.token, isAccessToken: credential.isAccessToken, at: now)
    }
}

// Asked afresh each time: a change of the rules counts at once. Both are true at once for an
// administrator and in a database without rules.
extension Namespace {
    /// Whether the caller may read, or listen to, what stands at the path.
    func mayRead(
        _ path: Path, _ query: Query? = nil, as caller: Caller, at now: Int64
    ) -> Bool {
        guard let rules, !caller.isAdmin else { return true }
        return rules.mayRead(
            path, query: RuleQuery(query), auth: caller.auth, now: now, in: tree)
    }

    /// Whether the caller may write all of the update. Asked before it is applied.
    ///
    /// - Parameter now: the instant of the request's server values.
    func mayWrite(_ update: Update, as caller: Caller, at now: Int64) -> Bool {
        guard let rules, !caller.isAdmin else { return true }
        return rules.mayWrite(update, auth: caller.auth, now: now, in: tree)
    }

    /// The complaint where rules declare no index for the query; nil where it needs none or has
    /// it. REST answers 400 with it, a WebSocket `get` an error; a listen is answered all the same,
    /// with `no_index`.
    func missingIndex(for query: Query, at path: Path) -> String? {
        guard let rules else { return nil }
        let index: [UInt8]
        switch query.order {
        case .key, .priority: return nil
        case .value: index = Array(".value".utf8)
        case .child(let path): index = path.joined
        }
        guard !rules.indexes(at: path).contains(index) else { return nil }
        return
            "Index not defined, add \".indexOn\": \"\(String(decoding: index, as: UTF8.self))\", "
            + "for path \"\(path)\", to the rules"
    }
}

extension RuleQuery {
    /// A query as rules see it; none is the order by key.
    init(_ query: Query?) {
        self.init()
        guard let query else { return }
        switch query.order {
        case .key: order = .key
        case .value: order = .value
        case .priority: order = .priority
        case .child(let path): order = .child(path.joined)
        }
        if let start = query.start { startAt = start.value }
        if let end = query.end { endAt = end.value }
        if let start = query.start, let end = query.end, start.inclusive, end.inclusive,
            start.value == end.value, start.key == end.key
        {
            equalTo = start.value
        }
        switch query.limit {
        case nil: break
        case .first(let count): limitToFirst = count
        case .last(let count): limitToLast = count
        }
    }
}
