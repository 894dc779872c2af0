public import Tree

/// Who a credential stands for.
public struct Identity: Equatable, Sendable {
    /// What rules see as `auth`: `uid`, `provider`, `token`.
    public var auth: Value
    /// Rules do not apply.
    public var isOwner: Bool
    /// When the credential ends, in milliseconds since 1970; nil where it never does.
    public var expires: Int64?
}

/// Why a credential does not count.
public enum TokenError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It is no token.
    case malformed
    /// Its time is over.
    case expired
    /// It says what it may not, or nothing vouches for it.
    case invalid(String)

    /// What REST answers.
    public var description: String {
        switch self {
        case .malformed: "Could not parse auth token."
        case .expired: "Auth token is expired"
        case .invalid(let reason): "Invalid auth token: \(reason)"
        }
    }
}

/// What decides whom a credential stands for.
public enum Authority: Sendable {
    /// As Firebase's emulator does: `owner` and any access token are the owner's, any ID token is
    /// believed, signed or not.
    case emulator
    /// ID tokens signed with RS256 by one of these keys count, and access tokens signed by one that
    /// may make owners; nothing else.
    case keys(KeySet, verify: Verify)

    /// Whether a signature (RSASSA-PKCS1-v1_5 with SHA-256) is the key's over the text.
    public typealias Verify =
        @Sendable (_ key: RSAPublicKey, _ text: [UInt8], _ signature: [UInt8]) -> Bool

    /// How far the clock of who issues a token may be ahead, in milliseconds.
    static let skew: Int64 = 300_000
    private static let issuer = Array("https://securetoken.google.com/".utf8)
    private static let scope = Array("https://www.googleapis.com/auth/firebase.database".utf8)

    /// Whom the credential stands for.
    ///
    /// - Parameter isAccessToken: it came where access tokens come, not where ID tokens do.
    /// - Parameter now: milliseconds since 1970.
    public func identity(
        of credential: [UInt8], isAccessToken: Bool, at now: Int64
    ) throws(TokenError) -> Identity {
        switch self {
        case .emulator:
            if credential == Array("owner".utf8) { return .owner }
            guard let token = Token(credential) else {
                guard isAccessToken, !credential.isEmpty else { throw .malformed }
                return .owner
            }
            return try unverified(token, at: now)
        case .keys(let keys, let verify):
            guard let token = Token(credential) else { throw .malformed }
            guard token.algorithm == Array("RS256".utf8) else {
                throw .invalid("it must be signed with RS256")
            }
            let candidates = keys.candidates(for: token.keyID)
            guard !candidates.isEmpty else { throw .invalid("its key is not known") }
            let key = candidates.first { verify($0.key, token.signed, token.signature) }
            guard let key else { throw .invalid("its signature is not the key's") }
            return try verified(token, key, keys, isAccessToken: isAccessToken, at: now)
        }
    }

    /// An ID token that is believed as it is. Mock tokens of Firebase's SDKs were issued at 0 and
    /// ended an hour later: those never end.
    private func unverified(_ token: Token, at now: Int64) throws(TokenError) -> Identity {
        let claims = token.claims
        guard let uid = claims.text("sub") ?? claims.text("user_id") ?? claims.text("uid"),
            !uid.isEmpty
        else { throw .invalid("it has no sub") }
        var expires = claims.milliseconds("exp")
        if (claims.milliseconds("iat") ?? 0) == 0 { expires = nil }
        if let expires, expires <= now { throw .expired }
        return Identity(auth: auth(uid, claims), isOwner: false, expires: expires)
    }

    /// A token that is signed: an ID token ("Verify ID tokens using a third-party JWT library"), or
    /// an access token with the database's scope by a key that may make owners.
    ///
    /// Everyone may have a Firebase project and give its users a claim `scope`: what Firebase
    /// issued is an ID token, whatever else it says.
    private func verified(
        _ token: Token, _ key: KeySet.Key, _ keys: KeySet, isAccessToken: Bool, at now: Int64
    ) throws(TokenError) -> Identity {
        let claims = token.claims
        guard let expires = claims.milliseconds("exp") else { throw .invalid("it has no exp") }
        guard expires > now else { throw .expired }
        guard let issued = claims.milliseconds("iat") else { throw .invalid("it has no iat") }
        guard issued <= now + Self.skew else { throw .invalid("it was issued in the future") }
        let audience = claims.text("aud") ?? []
        if let audiences = keys.audiences, !audience.isEmpty, !audiences.contains(audience) {
            throw .invalid("it is for another project")
        }
        if isAccessToken, let scopes = claims.text("scope"), !isFirebases(claims) {
            guard key.isOwners else {
                throw .invalid("its key is not marked \"\(KeySet.ownerMark)\": true")
            }
            guard keys.audiences == nil || !audience.isEmpty else {
                throw .invalid("it has no aud")
            }
            guard scopes.split(separator: UInt8(ascii: " ")).contains(Self.scope[...]) else {
                throw .invalid("its scope is not the database's")
            }
            return Identity(auth: .null, isOwner: true, expires: expires)
        }
        guard !audience.isEmpty else { throw .invalid("it has no aud") }
        guard claims.text("iss") == Self.issuer + audience else {
            throw .invalid("its iss is not that of its aud")
        }
        guard let uid = claims.text("sub"), !uid.isEmpty, uid.count <= 512 else {
            throw .invalid("it has no sub")
        }
        return Identity(auth: auth(uid, claims), isOwner: false, expires: expires)
    }

    /// Whether Firebase has issued the token to a user.
    private func isFirebases(_ claims: Value) -> Bool {
        claims.text("iss")?.starts(with: Self.issuer) == true
            || !claims[Array("firebase".utf8)].isNull
    }

    /// `auth` for rules. A token that does not say how its user signed in is a custom one.
    private func auth(_ uid: [UInt8], _ claims: Value) -> Value {
        let firebase = claims[Array("firebase".utf8)]
        return [
            "uid": .string(uid),
            "provider": .string(
                firebase.text("sign_in_provider") ?? claims.text("provider_id")
                    ?? Array("custom".utf8)),
            "token": claims,
        ]
    }
}

extension Identity {
    static let owner = Identity(auth: .null, isOwner: true)
}
