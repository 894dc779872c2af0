import Configuration
import Daemon
import EventLoop
import Telemetry
import TestSupport
import Testing

@Suite("Reloads that fail", .ownThreads, .timeLimit(.minutes(2))) struct ReloadTests {
    @Test("Where neither the new configuration nor the old one can begin, it is started again")
    func neitherBegins() throws {
        let authority =
            "/tmp/firebridge-reload-"
            + randomBytes(8).map { String($0, radix: 16) }.joined() + ".pem"
        let made = try Subprocess(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a", "-keyout", "/dev/null",
                "-out", authority,
            ], output: .null, error: .null)
        try #require(made.wait(timeout: .seconds(30)) == .code(0))
        defer { _ = try? Subprocess(["rm", "-f", authority]).wait(timeout: .seconds(10)) }
        let text = """
            kafka:
              brokers: [127.0.0.1:1]
              properties: {security.protocol: ssl, ssl.ca.location: \(authority)}
            server: {listen: 127.0.0.1:0}
            """
        let configuration = try Configuration(Array(text.utf8), file: "test")
        var lines: [String] = []
        let log = Log(level: .info, style: .logfmt, clock: Clock.now) { bytes in
            let line = String(decoding: bytes, as: UTF8.self)
            lines.append(line)
            // A renewed file is what it reads its configuration anew for.
            if line.contains("event=started") {
                try? File.write(
                    authority, File.read(authority, bytesMax: 1 << 16) + Array("\n".utf8))
            }
            return bytes.count
        }
        let daemon = try Daemon(configuration, log: log) { () throws(ReloadFailure) in
            // Gone before either can read it.
            _ = try? Subprocess(["rm", authority]).wait(timeout: .seconds(10))
            return configuration
        }
        #expect(daemon.run() == .undelivered, "\(lines)")
        #expect(lines.contains { $0.contains("cannot_start") }, "\(lines)")
    }
}
