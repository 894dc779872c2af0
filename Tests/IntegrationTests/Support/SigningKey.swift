import EventLoop
import TestSupport

/// A key that signs tokens by the `openssl` program, so that no error of ours is on both sides.
struct SigningKey {
    private let directory: String
    private let name: String
    private let modulus: [UInt8]

    init(in directory: String, name: String) throws {
        self.directory = directory
        self.name = name
        let key = "\(directory)/\(name).pem"
        try Self.openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out '\(key)'")
        try Self.openssl("rsa -in '\(key)' -noout -modulus -out '\(key).modulus'")
        let text = String(decoding: try File.read("\(key).modulus", bytesMax: 4096), as: UTF8.self)
        let hex = Array(text.drop { $0 != "=" }.dropFirst())
        modulus = stride(from: 0, to: hex.count - 1, by: 2).compactMap {
            UInt8(String(hex[$0...$0 + 1]), radix: 16)
        }
    }

    /// The key's public half as a key set; it may make owners.
    var keySet: String {
        #"{"keys":[{"kty":"RSA","firebridge:owner":true,"alg":"RS256","use":"sig","kid":"\#(name)","n":"\#(base64URL(modulus))","e":"AQAB"}]}"#
    }

    /// A token with these claims, and `iat` and `exp` around now.
    func token(_ claims: String) throws -> String {
        let now = Clock.now().wall / 1000
        let header = base64URL(Array(#"{"alg":"RS256","kid":"\#(name)"}"#.utf8))
        let body = base64URL(Array(#"{"iat":\#(now),"exp":\#(now + 3600),\#(claims)}"#.utf8))
        let file = "\(directory)/\(uniqueName("token"))"
        try File.write(file, Array("\(header).\(body)".utf8))
        try Self.openssl(
            "dgst -sha256 -sign '\(directory)/\(name).pem' -out '\(file).sig' '\(file)'")
        return "\(header).\(body).\(base64URL(try File.read("\(file).sig", bytesMax: 4096)))"
    }

    func user(_ uid: String) throws -> String {
        try token(
            #""iss":"https://securetoken.google.com/demo","aud":"demo","sub":"\#(uid)","firebase":{"sign_in_provider":"custom"}"#
        )
    }

    func owner() throws -> String {
        try token(#""scope":"https://www.googleapis.com/auth/firebase.database""#)
    }

    private static func openssl(_ arguments: String) throws {
        guard shell("openssl \(arguments) >/dev/null 2>&1") == 0 else {
            throw SetupFailure("openssl \(arguments.prefix(10)) failed")
        }
    }
}

private func base64URL(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var out = ""
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
