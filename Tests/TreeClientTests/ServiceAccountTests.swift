import BridgeCore
import EventLoop
import JSON
import ScriptedServer
import Testing

@testable import TreeClient

@Suite(.timeLimit(.minutes(1))) struct ServiceAccountTests {
    let directory: TemporaryDirectory
    let endpoint = TokenEndpoint()
    let server: ScriptedServer

    init() throws {
        directory = try TemporaryDirectory()
        let endpoint = endpoint
        server = ScriptedServer { request in
            request.target == "/token" ? endpoint.answer() : [.answer(204)]
        }
        _ = try directory.write("key.pem", Self.key.get())
    }

    /// One key for all tests: making one takes a second.
    static let key = Result {
        let directory = try TemporaryDirectory()
        try directory.run(
            "openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out",
            "\(directory.path)/key.pem")
        return try directory.read("key.pem")
    }

    /// A key file as Google gives it out.
    func keyFile(
        key: String? = nil, type: String = "service_account", tokenURI: String? = nil
    ) throws -> String {
        var json = Array(
            #"{"type":"\#(type)","project_id":"p","private_key_id":"k1","private_key":"#.utf8)
        json.appendJSONString(try key ?? directory.read("key.pem"))
        json.append(contentsOf: #","client_email":"bridge@p.iam.example","token_uri":"#.utf8)
        json.appendJSONString(tokenURI ?? server.url + "/token")
        json.append(UInt8(ascii: "}"))
        return try directory.write("key.json", String(decoding: json, as: UTF8.self))
    }

    func driver(_ file: String) throws -> Driver {
        try Driver(server.url, .serviceAccount(file: file))
    }

    @Test func `The assertion is a JWT that the key's public half verifies`() throws {
        let driver = try driver(keyFile())
        #expect(driver.patch().isDone)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.target == "/token")
        #expect(request.header("content-type") == "application/x-www-form-urlencoded")
        let form = String(decoding: request.body, as: UTF8.self)
        let head = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(form.hasPrefix(head))
        let parts = form.dropFirst(head.count).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        #expect(try decode(parts[0]) == #"{"alg":"RS256","typ":"JWT","kid":"k1"}"#)
        let time = driver.now.wall / 1000
        let claims =
            #"{"iss":"bridge@p.iam.example","scope":"#
            + #""https://www.googleapis.com/auth/userinfo.email "#
            + #"https://www.googleapis.com/auth/firebase.database","aud":"\#(server.url)/token","#
            + #""iat":\#(time),"exp":\#(time + 3600)}"#
        #expect(try decode(parts[1]) == claims)

        _ = try directory.write("text", parts[0] + "." + parts[1])
        try File.write("\(directory.path)/signature", base64(parts[2]))
        try directory.run(
            "openssl", "pkey", "-in", "\(directory.path)/key.pem", "-pubout", "-out",
            "\(directory.path)/public.pem")
        try directory.run(
            "openssl", "dgst", "-sha256", "-verify", "\(directory.path)/public.pem", "-signature",
            "\(directory.path)/signature", "\(directory.path)/text")
        #expect(server.requests.last?.header("authorization") == "Bearer token-1")
    }

    @Test func `What the endpoint says is wrong is told, with a hint, without secrets`() throws {
        let jwt = "eyJhbGciOiJSUzI1NiJ9." + String(repeating: "canary", count: 20)
        endpoint.failure = [
            .answer(
                400,
                #"{"error":"invalid_grant","error_description":"Invalid JWT Signature. \#(jwt)"}"#)
        ]
        let driver = try driver(keyFile())
        let text = try #require(driver.patch().unavailable)
        #expect(
            text == "token endpoint 127.0.0.1: HTTP 400: invalid_grant: Invalid JWT Signature. "
                + "<secret> (is this machine's clock right, and does the key still exist?)")
        #expect(driver.notices.first?.fields.first?.value == text)
        #expect(driver.events == ["token_unavailable"])
    }

    @Test func `An endpoint that repeats the assertion does not get it printed`() throws {
        let echo = ScriptedServer { request in
            let form = String(decoding: request.body, as: UTF8.self)
            let jwt = form.split(separator: "=").last ?? ""
            return [.answer(400, #"{"error":"x (\#(jwt))","error_description":"\#(jwt)"}"#)]
        }
        let file = try keyFile(tokenURI: echo.url + "/token")
        let driver = try Driver("http://127.0.0.1:1", .serviceAccount(file: file))
        let text = try #require(driver.patch().unavailable)
        #expect(
            text == "token endpoint 127.0.0.1: HTTP 400: x <secret>: <secret>")
    }

    @Test func `A key that is replaced is used for the next fetch`() throws {
        let file = try keyFile(
            key: "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n")
        let driver = try driver(file)
        let text = try #require(driver.patch().unavailable)
        #expect(
            text == "credentials: \(file): private_key: expected an unencrypted key in PEM")
        #expect(!"\(driver.notices)".contains("canary"))
        _ = try keyFile()
        driver.advance(.seconds(1))
        #expect(driver.patch().isDone)
    }

    @Test func `A key of another kind, or behind a passphrase, is refused by name`() throws {
        let path = directory.path
        try directory.run(
            "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
            "\(path)/ec.pem")
        try directory.run(
            "openssl", "pkey", "-in", "\(path)/key.pem", "-aes256", "-passout", "pass:x", "-out",
            "\(path)/locked.pem")
        for (name, reason) in [("ec", "an RSA key"), ("locked", "an unencrypted key in PEM")] {
            let file = try keyFile(key: directory.read("\(name).pem"))
            let text = try #require(driver(file).patch().unavailable)
            #expect(text == "credentials: \(file): private_key: expected \(reason)")
        }
    }

    @Test(arguments: [
        ("[]", "expected a JSON object"), ("{", "expected a JSON object"),
        (#"{"type":"authorized_user"}"#, "\"service_account\", found authorized_user"),
        (#"{"type":"service_account"}"#, "expected client_email and private_key"),
        (
            #"{"type":"service_account","client_email":"e","private_key":"canary","#
                + #""token_uri":"http://evil.example/"}"#,
            "expected an https token_uri"
        ),
    ])
    func `A file that is no key says what was expected`(json: String, reason: String) throws {
        let file = try directory.write("key.json", json)
        let driver = try driver(file)
        let text = try #require(driver.patch().unavailable)
        #expect(text.hasPrefix("credentials: \(file): ") && text.contains(reason), "\(text)")
        #expect(!text.contains("canary") && server.requests.isEmpty)
    }

    func decode(_ text: String) throws -> String {
        String(decoding: try base64(text), as: UTF8.self)
    }

    /// Decoded by the `openssl` program, so that no error of ours is on both sides.
    func base64(_ text: String) throws -> [UInt8] {
        var standard = text.replacing("-", with: "+").replacing("_", with: "/")
        while standard.utf8.count % 4 != 0 { standard += "=" }
        let file = try directory.write("base64", standard)
        try directory.run(
            "openssl", "base64", "-d", "-A", "-in", file, "-out", "\(directory.path)/raw")
        return try File.read("\(directory.path)/raw", bytesMax: 1 << 20)
    }
}

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("\u{7F}~?>", "f34_Pg"),
    ])
    func `Base64 is the URL's, without padding`(text: String, encoded: String) {
        #expect(base64URL(Array(text.utf8)) == Array(encoded.utf8))
    }

    @Test func `Base64 uses minus and underscore for its last two`() {
        #expect(base64URL([0xFB, 0xEF, 0xBE]) == Array("----".utf8))
        #expect(base64URL([0xFF, 0xFF, 0xFF]) == Array("____".utf8))
    }
}
