internal import CCrypto
internal import HTTPClient
internal import JSON

/// A service account's key, and the assertions that it signs (RFC 7523).
struct ServiceAccount {
    let email: String
    let tokenURI: String
    private let keyID: String?
    private let privateKey: Secret

    private static let scope =
        "https://www.googleapis.com/auth/userinfo.email "
        + "https://www.googleapis.com/auth/firebase.database"

    /// Reads a key file as Google's console gives it out.
    init(parsing json: [UInt8]) throws(TreeClientError) {
        guard let tape = try? JSONParser().parse(json), tape.kind(0) == .object else {
            throw TreeClientError("expected a JSON object")
        }
        func field(_ name: String) -> String? {
            guard let value = tape.member(Array(name.utf8), of: 0), tape.kind(value) == .string
            else { return nil }
            return String(decoding: tape.text(value), as: UTF8.self)
        }
        let type = field("type") ?? "none"
        guard type == "service_account" else {
            throw TreeClientError("expected \"type\": \"service_account\", found \(type)")
        }
        guard let email = field("client_email"), let key = field("private_key") else {
            throw TreeClientError("expected client_email and private_key, both texts")
        }
        let uri = field("token_uri") ?? "https://oauth2.googleapis.com/token"
        let parts = try URLParts(uri)
        guard parts.scheme == "https" || parts.scheme == "http" && parts.isLoopback else {
            throw TreeClientError("expected an https token_uri")
        }
        self.email = email
        tokenURI = uri
        keyID = field("private_key_id")
        privateKey = Secret(key)
    }

    /// The request for a token, its form in the body.
    ///
    /// - Parameter now: the wall clock in milliseconds.
    func tokenRequest(now: Int64) throws(TreeClientError) -> (HTTPRequest, assertion: Secret) {
        let assertion = try assertion(now: now)
        let form =
            Array(
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8)
            + assertion
        let request = HTTPRequest(
            "POST", tokenURI,
            headers: [("Content-Type", "application/x-www-form-urlencoded")], body: form,
            responseBytesMax: 65_536)
        return (request, Secret(assertion))
    }

    /// A JWT that is good for an hour.
    func assertion(now: Int64) throws(TreeClientError) -> [UInt8] {
        var header = Array(#"{"alg":"RS256","typ":"JWT""#.utf8)
        if let keyID {
            header.append(contentsOf: #","kid":"#.utf8)
            header.appendJSONString(keyID)
        }
        header.append(UInt8(ascii: "}"))
        var claims = Array(#"{"iss":"#.utf8)
        claims.appendJSONString(email)
        claims.append(contentsOf: #","scope":"#.utf8)
        claims.appendJSONString(Self.scope)
        claims.append(contentsOf: #","aud":"#.utf8)
        claims.appendJSONString(tokenURI)
        claims.append(contentsOf: #","iat":\#(now / 1000),"exp":\#(now / 1000 + 3600)}"#.utf8)
        let text = base64URL(header) + [UInt8(ascii: ".")] + base64URL(claims)
        return try text + [UInt8(ascii: ".")] + base64URL(sign(text))
    }

    private func sign(_ text: [UInt8]) throws(TreeClientError) -> [UInt8] {
        let pem = privateKey.reveal()
        var length: Int32 = 0
        let room = 2048
        let signature = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            length = unsafe fb_rs256(
                pem, Int32(pem.count), text, text.count, buffer.baseAddress, room)
            count = max(0, Int(length))
        }
        switch length {
        case -1: throw TreeClientError("private_key: expected an unencrypted key in PEM")
        case -2: throw TreeClientError("private_key: expected an RSA key")
        case ...0: throw TreeClientError("private_key: this key cannot sign")
        default: return signature
        }
    }
}

/// Base64 with the URL's alphabet and without padding (RFC 4648 section 5).
func base64URL(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count * 4 + 2) / 3)
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        var bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for _ in 0...group.count {
            out.append(alphabet[bits >> 18])
            bits = bits << 6 & 0xFF_FFFF
        }
    }
    return out
}

private let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
