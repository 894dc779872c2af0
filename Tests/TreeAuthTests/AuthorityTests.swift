import Testing
import Tree

@testable import TreeAuth

private func encoded(_ text: some Sequence<UInt8>) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var out = ""
    let bits = text.flatMap { byte in (0..<8).map { byte >> (7 - UInt8($0)) & 1 } }
    for start in stride(from: 0, to: bits.count, by: 6) {
        let group = Array(bits[start..<min(start + 6, bits.count)])
        let padded = group + Array(repeating: 0, count: 6 - group.count)
        out.append(alphabet[padded.reduce(0) { $0 << 1 | Int($1) }])
    }
    return out
}

private func token(
    _ claims: String, header: String = #"{"alg":"none","typ":"JWT"}"#, signature: String = ""
) -> [UInt8] {
    Array("\(encoded(header.utf8)).\(encoded(claims.utf8)).\(encoded(signature.utf8))".utf8)
}

private let now: Int64 = 1_700_000_000_000
private let seconds = now / 1000

@Suite("Whose token it is: as in the emulator") struct EmulatorTests {
    private func identity(
        _ token: [UInt8], isAccessToken: Bool = false
    ) -> Result<Identity, TokenError> {
        Result { () throws(TokenError) in
            try Authority.emulator.identity(of: token, isAccessToken: isAccessToken, at: now)
        }
    }

    @Test("owner is the owner, wherever it stands")
    func owner() {
        #expect(identity(Array("owner".utf8)) == .success(.owner))
        #expect(identity(Array("owner".utf8), isAccessToken: true) == .success(.owner))
    }

    @Test("An access token is the owner's, what is no token where ID tokens stand is refused")
    func opaque() {
        #expect(identity(Array("ya29.x".utf8), isAccessToken: true) == .success(.owner))
        #expect(identity(Array("ya29.x".utf8)) == .failure(.malformed))
        #expect(identity([], isAccessToken: true) == .failure(.malformed))
        for text in ["a.b.c", "..", "e30.e30", "e30.e30.", "e30.e30.e30.e30", "a b.c.d"] {
            #expect(identity(Array(text.utf8)) == .failure(.malformed))
        }
        #expect(identity(token("[]")) == .failure(.malformed))
        #expect(identity(token("nonsense")) == .failure(.malformed))
    }

    @Test("A token whose header demands what is not known is refused")
    func critical() {
        let claims = #"{"sub":"ann","iat":0}"#
        #expect((try? identity(token(claims)).get()) != nil)
        let demanding = #"{"alg":"none","crit":["x"],"x":1}"#
        #expect(identity(token(claims, header: demanding)) == .failure(.malformed))
    }

    @Test("A token without signature is a user's: uid, provider and all its claims")
    func user() throws {
        let text = #"""
            {"sub":"ann","aud":"demo","iat":\#(seconds - 10),"exp":\#(seconds + 3590),"email":"a@b.c",
             "roles":["x","y"],"none":null,"https://x.y/z":{"n":1.5},"firebase":{"sign_in_provider":"password"}}
            """#
        let identity = try identity(token(text)).get()
        #expect(identity.expires == now + 3_590_000)
        #expect(!identity.isOwner)
        #expect(identity.auth["uid"] == "ann" && identity.auth["provider"] == "password")
        let claims = identity.auth["token"]
        #expect(claims[Array("email".utf8)] == "a@b.c")
        #expect(claims[Array("roles".utf8)] == ["0": "x", "1": "y"])
        #expect(claims[Array("https://x.y/z".utf8)] == ["n": 1.5])
        #expect(claims[Array("none".utf8)] == .null)
    }

    @Test("A token that is over is refused, but not a mock token, which was issued at 0")
    func expiry() throws {
        let over = token(#"{"sub":"ann","iat":\#(seconds - 3600),"exp":\#(seconds)}"#)
        #expect(identity(over) == .failure(.expired))
        let mock = token(#"{"sub":"ann","iat":0,"exp":3600}"#)
        #expect(try identity(mock).get().expires == nil)
    }

    @Test("A token of nobody is refused; older ones name their user otherwise")
    func nobody() throws {
        #expect(identity(token("{}")) == .failure(.invalid("it has no sub")))
        #expect(identity(token(#"{"sub":""}"#)) == .failure(.invalid("it has no sub")))
        #expect(try identity(token(#"{"user_id":"a"}"#)).get().auth["uid"] == "a")
        #expect(try identity(token(#"{"uid":"a"}"#)).get().auth["provider"] == "custom")
    }
}

@Suite("Whose token it is: signed ones") struct KeyTests {
    private static let modulus = Array(repeating: UInt8(0xAB), count: 256)
    private static let keys = #"""
        {"keys":[{"kty":"RSA","kid":"k1","alg":"RS256","use":"sig","n":"\#(encoded(modulus))","e":"AQAB"},
                 {"kty":"EC","kid":"k2","crv":"P-256"},
                 {"kty":"RSA","kid":"k3","alg":"RS512","n":"x","e":"x"}]}
        """#

    /// Believes the signature "good" alone.
    private func identity(
        _ token: [UInt8], isAccessToken: Bool = false, keys: String = keys
    ) throws -> Result<Identity, TokenError> {
        let set = try KeySet(parsing: Array(keys.utf8))
        let authority = Authority.keys(set) { key, text, signature in
            key.modulus == Self.modulus && key.exponent == [1, 0, 1]
                && token.starts(with: text + [UInt8(ascii: ".")])
                && signature == Array("good".utf8)
        }
        return Result { () throws(TokenError) in
            try authority.identity(of: token, isAccessToken: isAccessToken, at: now)
        }
    }

    private func signed(
        _ change: [String: String?] = [:], key: String = "k1", signature: String = "good"
    ) -> [UInt8] {
        var claims: [String: String] = [
            "iss": #""https://securetoken.google.com/p""#, "aud": #""p""#, "sub": #""ann""#,
            "iat": "\(seconds - 60)", "exp": "\(seconds + 60)",
        ]
        for (name, value) in change { claims[name] = value }
        let body = claims.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return token(
            "{\(body)}", header: #"{"alg":"RS256","kid":"\#(key)"}"#, signature: signature)
    }

    @Test("Neither owner, nor an access token, nor a token without signature counts")
    func unsigned() throws {
        for isAccessToken in [false, true] {
            for text in ["owner", "ya29.x", ""] {
                let found = try identity(Array(text.utf8), isAccessToken: isAccessToken)
                #expect(found == .failure(.malformed))
            }
            for algorithm in ["none", "HS256", "RS512", "rs256", "None"] {
                let claims = #"{"sub":"ann","iat":0,"exp":99999999999}"#
                let text = token(claims, header: #"{"alg":"\#(algorithm)"}"#, signature: "good")
                #expect(
                    try identity(text, isAccessToken: isAccessToken)
                        == .failure(.invalid("it must be signed with RS256")))
            }
        }
    }

    @Test("A good signature of a known key makes a user")
    func good() throws {
        for isAccessToken in [false, true] {
            let found = try identity(signed(), isAccessToken: isAccessToken).get()
            #expect(found.auth["uid"] == "ann" && !found.isOwner)
            #expect(found.expires == now + 60_000)
        }
    }

    @Test(
        "All that Firebase asks of an ID token is asked",
        arguments: [
            (["exp": nil], "it has no exp"), (["iat": nil], "it has no iat"),
            (["iat": "\(seconds + 301)"], "it was issued in the future"),
            (["aud": nil], "it has no aud"), (["iss": nil], "its iss is not that of its aud"),
            (["iss": #""https://securetoken.google.com/q""#], "its iss is not that of its aud"),
            (["sub": nil], "it has no sub"), (["sub": #""""#], "it has no sub"),
            (["sub": "1"], "it has no sub"), (["exp": #""soon""#], "it has no exp"),
        ] as [([String: String?], String)])
    func claims(change: [String: String?], message: String) throws {
        #expect(try identity(signed(change)) == .failure(.invalid(message)))
    }

    @Test("A bad signature, an unknown key and a token that is over are refused")
    func bad() throws {
        #expect(
            try identity(signed(signature: "bad"))
                == .failure(.invalid("its signature is not the key's")))
        #expect(try identity(signed(key: "k9")) == .failure(.invalid("its key is not known")))
        #expect(try identity(signed(key: "k3")) == .failure(.invalid("its key is not known")))
        #expect(try identity(signed(["exp": "\(seconds)"])) == .failure(.expired))
    }

    @Test("Where the key set names projects, others' users do not count")
    func audiences() throws {
        let one = Self.keys.dropLast() + #","aud":"p"}"#
        let other = Self.keys.dropLast() + #","aud":["q","r"]}"#
        #expect(try identity(signed(), keys: String(one)).get().auth["uid"] == "ann")
        #expect(
            try identity(signed(), keys: String(other))
                == .failure(.invalid("it is for another project")))
    }

    private static let scope =
        #""https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/firebase.database""#
    private static let marked = keys.replacing(
        #""kid":"k1""#, with: #""kid":"k1","firebridge:owner":true"#)

    @Test("An access token with the database's scope is the owner's, by a key that is marked so")
    func scope() throws {
        let access = ["scope": Self.scope, "sub": nil, "aud": nil, "iss": nil] as [String: String?]
        let text = signed(access)
        let found = try identity(text, isAccessToken: true, keys: Self.marked).get()
        #expect(found.isOwner && found.expires == now + 60_000)
        #expect(
            try identity(text, keys: Self.marked) == .failure(.invalid("it has no aud")))
        #expect(
            try identity(text, isAccessToken: true)
                == .failure(.invalid(#"its key is not marked "firebridge:owner": true"#)))
        let other = signed(access.merging(["scope": #""email""#]) { $1 })
        #expect(
            try identity(other, isAccessToken: true, keys: Self.marked)
                == .failure(.invalid("its scope is not the database's")))
    }

    @Test("What Firebase has issued is an ID token, whatever scope its project gave it")
    func foreignScope() throws {
        let firebase = #"{"sign_in_provider":"custom"}"#
        for keys in [Self.keys, Self.marked] {
            let own = signed(["scope": Self.scope])
            let found = try identity(own, isAccessToken: true, keys: keys).get()
            #expect(!found.isOwner && found.auth["uid"] == "ann")
            let audience = String(keys.dropLast()) + #","aud":"q"}"#
            #expect(
                try identity(own, isAccessToken: true, keys: audience)
                    == .failure(.invalid("it is for another project")))
            let elsewhere = signed(["scope": Self.scope, "iss": #""x""#, "firebase": firebase])
            #expect(
                try identity(elsewhere, isAccessToken: true, keys: keys)
                    == .failure(.invalid("its iss is not that of its aud")))
        }
    }

    @Test("Where the key set names projects, an access token is for one of them")
    func scopeOfAudience() throws {
        let keys = String(Self.marked.dropLast()) + #","aud":"p"}"#
        let access = ["scope": Self.scope, "iss": nil] as [String: String?]
        #expect(try identity(signed(access), isAccessToken: true, keys: keys).get().isOwner)
        for (audience, message) in [(nil, "it has no aud"), (#""q""#, "it is for another project")]
            as [(String?, String)]
        {
            let text = signed(access.merging(["aud": audience]) { $1 })
            #expect(
                try identity(text, isAccessToken: true, keys: keys) == .failure(.invalid(message)))
        }
    }

    @Test(
        "A file that is no key set is refused",
        arguments: [
            ("", "expected JSON"), ("[]", #"expected an object with a list "keys""#),
            (#"{"keys":{}}"#, #"expected an object with a list "keys""#),
            (#"{"keys":[]}"#, "expected at least one RSA key for RS256, found none"),
            (#"{"keys":[1]}"#, #"keys[0]: expected an object with "kty""#),
            (#"{"keys":[{"kty":"RSA"}]}"#, #"keys[0]: expected "n" and "e" in base64url"#),
            (
                #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#,
                "keys[0]: expected an RSA key of at least 2048 bits with an odd exponent, found 24 bits"
            ),
            (
                keys.replacing(#""kid":"k1""#, with: #""firebridge:owner":"yes""#),
                "keys[0]: firebridge:owner: expected true or false"
            ),
        ])
    func notAKeySet(text: String, message: String) {
        #expect(throws: KeySetError(description: message)) {
            try KeySet(parsing: Array(text.utf8))
        }
    }
}

extension Value {
    fileprivate subscript(name: String) -> Value { self[Array(name.utf8)] }
}
