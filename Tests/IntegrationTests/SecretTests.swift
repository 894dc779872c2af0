import EventLoop
import Glibc
import JSON
import Oracle
import ScriptedServer
import Synchronization
import TestSupport
import Testing

/// SECURITY.md, "Where secrets are": a real bridge at log level debug against a database that
/// repeats every secret it gets in its errors, and sends the bridge elsewhere.
@Suite(
    "No secret is in anything that a bridge prints, serves or sends elsewhere", .serialized,
    .ownThreads)
struct SecretTests {
    /// Each secret of these tests has this in it.
    private static let canary = "cAnArY7"

    @Test(
        "Whatever the credentials: log, status, metrics, readiness and arguments hold none",
        arguments: ["access_token", "secret", "service_account", "metadata_server"])
    func canaries(type: String) throws {
        let world = try World()
        let elsewhere = ScriptedServer { _ in [.answer(204)] }
        let proxy = ScriptedServer { _ in [.answer(502)] }
        let database = Database(elsewhere: elsewhere.url)
        let server = ScriptedServer { database.answer($0) }
        let file = try credentials(type, in: world, tokensFrom: server.url)
        let settings = world.settings {
            $0.url = server.url
            $0.credentials = ["type: \(type)"] + (file.map { ["file: \($0)"] } ?? [])
            $0.logLevel = "debug"
            $0.properties = ["ssl.key.password: ${SECRET_OF_KAFKA}"]
            $0.delivery = ["retry_initial: 10ms", "retry_max: 100ms"]
        }
        var environment = Environment.all()
        environment["SECRET_OF_KAFKA"] = "\(Self.canary)-kafka"
        environment["GCE_METADATA_HOST"] = "127.0.0.1:\(server.port)"
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
            environment[name] = proxy.url
        }
        // What a crash prints, where the toolchain's helper is there to print it.
        environment["SWIFT_BACKTRACE"] = "enable=yes,symbolicate=off,color=no"
        environment["no_proxy"] = nil
        environment["NO_PROXY"] = nil
        let bridge = try BridgeProcess(settings, in: world.directory, environment: environment)
        defer { bridge.child.process.send(.kill) }

        var streams = HardStreams(seed: 90)
        let records = streams.records(conversations: 5)
        try world.log.append(records)
        try world.log.append(
            LogRecord.messages, partition: 0, key: nil,
            value: Array(
                #"{"event":"poison","conversation_id":"c","message":{"role":"poison"}}"#.utf8))
        try world.log.flush()
        var served = ""
        try eventually(
            "the database has misbehaved in all ways, and the bridge has seen it",
            within: .seconds(90), details: { bridge.child.tail }
        ) {
            for page in ["/healthz", "/readyz", "/status", "/metrics", "/nothing"] {
                served += bridge.page(page)?.body ?? ""
            }
            pause(.milliseconds(50))
            return database.isThrough && database.writes > 3 && bridge.child.says("<secret>")
        }
        let arguments = try File.read("/proc/\(bridge.child.pid)/cmdline", bytesMax: 1 << 16)
        kill(bridge.child.pid, SIGABRT)
        try eventually("it has dumped", within: .seconds(60), details: { bridge.child.tail }) {
            bridge.child.says("Program crashed") && bridge.child.says("Registers:")
                || bridge.child.process.poll() != nil
        }

        #expect(database.sawCanary, "else the test proves nothing")
        #expect(served.contains("firebridge_requests_total"))
        for line in bridge.child.lines where line.contains(Self.canary) {
            Issue.record("the log has a secret: \(line)")
        }
        #expect(!served.contains(Self.canary))
        #expect(!String(decoding: arguments, as: UTF8.self).contains(Self.canary))
        #expect(elsewhere.requests.isEmpty, "a redirect carried a request to another host")
        #expect(proxy.requests.isEmpty, "the environment's proxy was asked")
        let hasMode = bridge.child.says("credentials_file_mode")
        #expect(hasMode == (file != nil), "a key that others may read is warned of")
    }

    @Test("check prints no secret either")
    func check() throws {
        let world = try World(partitions: nil)
        var environment = Environment.all()
        environment["SECRET_OF_KAFKA"] = "\(Self.canary)-kafka"
        let settings = world.settings {
            $0.properties = ["ssl.key.password: ${SECRET_OF_KAFKA}"]
            $0.delivery = ["request_timeout: wrong"]
        }
        let file = "\(world.directory)/check.yaml"
        for text in [settings.yaml, settings.yaml.replacing("request_timeout: wrong", with: "")] {
            try File.write(file, Array(text.utf8))
            let check = try Child(
                "check", ["check", "--config", file], in: world.directory,
                environment: environment)
            _ = try check.exit(within: .seconds(30))
            #expect(!check.lines.isEmpty)
            #expect(!check.lines.contains { $0.contains(Self.canary) })
        }
    }

    @Test("get, set and watch send the token of a file, and print it nowhere")
    func tokenFile() throws {
        let world = try World(partitions: nil)
        let file = try #require(try credentials("access_token", in: world, tokensFrom: ""))
        let elsewhere = ScriptedServer { _ in [.answer(204)] }
        let server = ScriptedServer { request in
            let came = request.lines.joined(separator: " ")
            var echo = Array(#"{"error":"#.utf8)
            echo.appendJSONString(Array(came.utf8))
            let text = String(decoding: echo + "}".utf8, as: UTF8.self)
            let place = "Location: \(elsewhere.url)/\(Self.canary)"
            return request.target.hasPrefix("/moved")
                ? [.answer(307, text, headers: [place])] : [.answer(401, text)]
        }
        for path in ["x", "moved"] {
            for command in [["get", path], ["set", path, "7"], ["watch", path]] {
                let child = try Child(
                    command[0], command + ["--url", server.url, "--token-file", file],
                    in: world.directory)
                #expect(try child.exit(within: .seconds(30)) == .code(69))
                #expect(child.says("chmod 0600"), "\(child.lines)")
                #expect(child.says(path == "x" ? "HTTP 401" : "HTTP 307"), "\(child.lines)")
                #expect(!child.says(Self.canary), "\(child.lines)")
            }
        }
        let sent = Set(server.requests.map { $0.header("authorization") })
        #expect(sent == ["Bearer \(Self.canary)-file"])
        #expect(elsewhere.requests.isEmpty)

        let wrong = [
            ["--url", server.url, "--token-file", "\(world.directory)/none"],
            ["--url", "http://192.0.2.1", "--token-file", file],
        ]
        for arguments in wrong {
            let child = try Child("get", ["get", "x"] + arguments, in: world.directory)
            #expect(try child.exit(within: .seconds(30)) == .code(64), "\(child.lines)")
        }
    }

    /// Makes what `credentials.file` names, readable by everyone.
    private func credentials(
        _ type: String, in world: World, tokensFrom server: String
    ) throws -> String? {
        let file = "\(world.directory)/credentials"
        switch type {
        case "access_token", "secret":
            try File.write(file, Array("\(Self.canary)-file\n".utf8), mode: 0o644)
        case "service_account":
            _ = try SigningKey(in: world.directory, name: "account")
            let key = try File.read("\(world.directory)/account.pem", bytesMax: 1 << 16)
            var json = Array(
                #"{"type":"service_account","private_key_id":"k","private_key":"#.utf8)
            json.appendJSONString(key)
            json.append(
                contentsOf: #","client_email":"b@p.example","token_uri":"\#(server)/token"}"#.utf8)
            try File.write(file, json, mode: 0o644)
        default: return nil
        }
        return file
    }

    /// What database and token endpoints answer: at first everything that repeats what came.
    private final class Database: Sendable {
        private let elsewhere: String
        private let state = Mutex((asked: 0, writes: 0, sawCanary: false))

        init(elsewhere: String) { self.elsewhere = elsewhere }

        var isThrough: Bool { state.withLock { $0.asked > 12 } }
        var writes: Int { state.withLock { $0.writes } }
        var sawCanary: Bool { state.withLock { $0.sawCanary } }

        func answer(_ request: ReceivedRequest) -> [Step] {
            let token = #"{"access_token":"\#(SecretTests.canary)-fetched","expires_in":3600}"#
            if request.target == "/token" || request.target.contains("/computeMetadata/") {
                return [.answer(200, token)]
            }
            let came = ([request.target] + request.lines).joined(separator: " ")
            var echo = Array(#"{"error":"#.utf8)
            echo.appendJSONString(Array(came.utf8))
            echo.append(UInt8(ascii: "}"))
            let text = String(decoding: echo, as: UTF8.self)
            let isPatch = request.method == "PATCH"
            let turn = state.withLock { state in
                state.asked += 1
                if isPatch { state.writes += 1 }
                if came.contains(SecretTests.canary) { state.sawCanary = true }
                return state.asked
            }
            switch turn {
            case 2: return [.answer(503, text)]
            case 4: return [.answer(307, text, headers: ["Location: \(elsewhere)/x.json"])]
            case 6: return [.answer(308, text, headers: ["Location: https://evil.test/x.json"])]
            case 8: return [.answer(401, text)]
            case 10: return [.answer(429, text, headers: ["Retry-After: 0"])]
            default: break
            }
            if String(decoding: request.body, as: UTF8.self).contains("poison") {
                return [.answer(400, text)]
            }
            return isPatch ? [.answer(204)] : [.answer(200, "null")]
        }
    }
}
