import EventLoop
import HTTPClient
import ScriptedServer
import Testing

/// Certificates made by the `openssl` program: an authority, and servers' ones signed by it.
final class Certificates: Sendable {
    let directory: String

    init() throws {
        directory =
            "/tmp/firebridge-tls-" + randomBytes(8).map { String($0, radix: 16) }.joined()
        try run("mkdir", directory)
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try run(
            ["openssl", "req", "-x509"] + key
                + [
                    "-subj", "/CN=Test CA", "-days", "2", "-keyout", path("ca.key"), "-out",
                    path("ca.pem"),
                ])
        try run(
            ["openssl", "req", "-x509"] + key
                + [
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days",
                    "2",
                ]
                + ["-keyout", path("self.key"), "-out", path("self.pem")])
        try sign("good", host: "localhost", days: 2)
        try sign("wrong", host: "db.example.org", days: 2)
        try sign("expired", host: "localhost", days: -1)
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    private func sign(_ name: String, host: String, days: Int) throws {
        try run(
            "openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj",
            "/CN=\(host)", "-keyout", path("\(name).key"), "-out", path("\(name).csr"))
        try File.write(path("\(name).ext"), Array("subjectAltName=DNS:\(host)\n".utf8))
        try run(
            "openssl", "x509", "-req", "-in", path("\(name).csr"), "-CA", path("ca.pem"), "-CAkey",
            path("ca.key"), "-CAcreateserial", "-extfile", path("\(name).ext"), "-days", "\(days)",
            "-out",
            path("\(name).pem"))
    }

    func run(_ arguments: String...) throws { try run(arguments) }

    private func run(_ arguments: [String]) throws {
        let process = try Subprocess(arguments, output: .null, error: .null)
        try #require(process.wait(timeout: .seconds(30)) == .code(0), "\(arguments)")
    }

    deinit { _ = try? Subprocess(["rm", "-rf", directory]).wait(timeout: .seconds(10)) }
}

@Suite(.timeLimit(.minutes(1))) struct TLSTests {
    static let certificates = Result { try Certificates() }
    let certificates: Certificates

    init() throws { certificates = try Self.certificates.get() }

    /// What a request to `openssl s_server` with that certificate gives.
    func ask(
        _ certificate: String, trusting ca: String? = "ca.pem", _ options: [String] = []
    ) throws -> Result<HTTPResponse, HTTPError> {
        let (server, port) = try serve(certificate, options)
        defer { server.send(.kill) }
        var clientOptions = HTTPClient.Options()
        clientOptions.caFile = ca.map(certificates.path)
        let client = HTTPClient(clientOptions)
        return client.send(HTTPRequest("GET", "https://localhost:\(port)/"))
    }

    /// `openssl s_server` with that certificate, listening.
    func serve(
        _ certificate: String, _ options: [String] = []
    ) throws -> (server: Subprocess, port: UInt16) {
        let port = unusedPort()
        let server = try Subprocess(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-www", "-cert",
                certificates.path("\(certificate).pem"), "-key",
                certificates.path("\(certificate).key"),
            ] + options, output: .pipe, error: .null)
        let reader = LineReader(try #require(server.output).number)
        // It says ACCEPT when it listens.
        while true {
            if case .line(let line) = try reader.next() {
                if line.starts(with: "ACCEPT".utf8) { break }
            } else {
                try #require(server.poll() == nil)
                _ = Poll.wait(for: [try #require(server.output).number], timeout: .seconds(10))
            }
        }
        return (server, port)
    }

    @Test func `A CA file that changes is read again within seconds, by the same client`() throws {
        let (server, port) = try serve("good")
        defer { server.send(.kill) }
        let file = certificates.path("changing-\(port).pem")
        func trust(_ name: String) throws {
            try File.write(
                file, File.read(certificates.path(name), bytesMax: 1 << 16))
        }
        var options = HTTPClient.Options()
        options.caFile = file
        let client = HTTPClient(options)
        let url = "https://localhost:\(port)/"
        func becomes(_ isWanted: (Result<HTTPResponse, HTTPError>) -> Bool) -> Bool {
            let deadline = Clock.monotonic() + 20_000_000_000
            while Clock.monotonic() < deadline {
                if isWanted(client.send(HTTPRequest("GET", url))) { return true }
                _ = Poll.wait(for: [], timeout: .milliseconds(200))
            }
            return false
        }
        try trust("ca.pem")
        #expect(client.send(HTTPRequest("GET", url)).status == 200)
        try trust("self.pem")
        #expect(becomes { $0.error?.kind == .tls }, "the old authority is trusted no more")
        try trust("ca.pem")
        #expect(becomes { $0.status == 200 }, "the new one is")
    }

    @Test func `A server whose certificate the CA file vouches for is trusted`() throws {
        let result = try ask("good")
        #expect(result.status == 200, "\(result)")
        #expect(result.body?.contains("TLSv1.3") == true)
    }

    @Test func `A CA file is trusted instead of the system's authorities, not beside them`() throws
    {
        let (server, port) = try serve("good")
        defer { server.send(.kill) }
        let system = certificates.path("system-\(port)")
        try File.makeDirectory(system, mode: 0o700)
        try File.write(
            system + "/ca.pem", File.read(certificates.path("ca.pem"), bytesMax: 1 << 16))
        try certificates.run("openssl", "rehash", system)
        var options = HTTPClient.Options()
        options.systemAuthorities = system
        let request = HTTPRequest("GET", "https://localhost:\(port)/")
        #expect(HTTPClient(options).send(request).status == 200, "the system vouches for it")
        options.caFile = certificates.path("self.pem")
        let error = try #require(HTTPClient(options).send(request).error)
        #expect(error.kind == .tls, "\(error)")
    }

    @Test func `Without the CA file it is not`() throws {
        let error = try #require(try ask("good", trusting: nil).error)
        #expect(error.kind == .tls && error.message.contains("certificate"), "\(error)")
    }

    @Test(arguments: [
        ("wrong", "localhost"), ("expired", "expired"), ("self", "self-signed certificate"),
    ])
    func `A certificate for another host, out of its time, or by nobody, is refused`(
        certificate: String, reason: String
    ) throws {
        let error = try #require(try ask(certificate).error)
        #expect(error.kind == .tls && error.message.contains(reason), "\(error)")
    }

    @Test func `TLS 1.1 is refused`() throws {
        let error = try #require(
            try ask("good", ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"]).error)
        #expect(error.kind == .tls, "\(error)")
    }

    @Test func `TLS 1.2 is taken`() throws {
        #expect(try ask("good", ["-tls1_2"]).body?.contains("TLSv1.2") == true)
    }

    @Test func `A CA file that is missing is an error of trust, not of the server`() throws {
        let error = try #require(try ask("good", trusting: "missing.pem").error)
        #expect(error.kind == .tls && error.message.contains("missing.pem"), "\(error)")
    }

    @Test func `A server without TLS is refused`() throws {
        let server = ScriptedServer(head: { _ in [.answer(200)] }) { _ in [.answer(200)] }
        let request = HTTPRequest(
            "GET", "https://127.0.0.1:\(server.port)/", timeout: .milliseconds(500))
        let error = try #require(HTTPClient().send(request).error)
        #expect(error.kind == .tls || error.kind == .timeout, "\(error)")
    }
}
