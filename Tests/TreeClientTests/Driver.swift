import BridgeCore
import EventLoop
import HTTPClient
import ScriptedServer
import Testing

@testable import TreeClient

/// A tree client with its HTTP client and a clock that the test sets.
final class Driver {
    let http: HTTPClient
    let client: TreeClient
    /// Begins at 2026-04-23T22:43:44Z.
    var now = Moment(monotonic: 1_000_000_000, wall: 1_776_984_224_000)
    private var lastID = 0
    /// Everything that was said, to look for secrets in.
    private(set) var notices: [Notice] = []

    init(
        _ url: String, _ credentials: Credentials = .none, timeout: Duration = .seconds(10),
        tokenTimeout: Duration = .seconds(10), override: String? = nil
    ) throws {
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        http = HTTPClient(options)
        client = try TreeClient(
            url: DatabaseURL(parsing: url), credentials: credentials, http: http, timeout: timeout,
            tokenTimeout: tokenTimeout, authVariableOverride: override)
    }

    func advance(_ duration: Duration) {
        now.monotonic += duration.nanoseconds
        now.wall += duration.milliseconds
        client.tick(now: now)
    }

    func send(_ method: Request.Method) -> Int {
        lastID += 1
        client.send(method, requestID: lastID, now: now)
        return lastID
    }

    /// The next answer, nil where none comes within the test's limit.
    func answer() -> TreeClient.Answer? {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            defer { collectNotices() }
            if let answer = client.nextAnswer() { return answer }
            turn()
        }
        return nil
    }

    /// Works until the condition holds.
    func run(until condition: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                Issue.record("the condition did not come true in time")
                return
            }
            turn()
        }
    }

    func turn() {
        _ = http.wait(timeout: .milliseconds(10))
        while let event = http.nextEvent() { client.handle(event, now: now) }
        collectNotices()
    }

    func outcome(_ method: Request.Method) -> Outcome? {
        let id = send(method)
        let answer = answer()
        #expect(answer?.requestID == id)
        return answer?.outcome
    }

    func nextOutcome() -> Outcome? { answer()?.outcome }

    func patch(_ body: String = "{}") -> Outcome? { outcome(.patch(Array(body.utf8))) }

    var events: [String] { notices.map(\.event) }

    private func collectNotices() {
        while let notice = client.nextNotice() { notices.append(notice) }
    }
}

extension Outcome? {
    var isDone: Bool { if case .done = self { true } else { false } }
    var isUnauthorized: Bool { if case .unauthorized = self { true } else { false } }
    var unavailable: String? {
        switch self {
        case .unavailable(let text, _), .unanswered(let text, _): text
        default: nil
        }
    }
    var retryAfter: Duration? {
        if case .unavailable(_, let wait) = self { wait } else { nil }
    }
}

/// A directory that goes with the test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        let name = randomBytes(8).map { String($0, radix: 16) }.joined()
        path = "/tmp/firebridge-test-\(name)"
        try run("mkdir", path)
    }

    deinit { try? run("rm", "-rf", path) }

    func run(_ arguments: String...) throws {
        let process = try Subprocess(arguments, output: .null, error: .null)
        try #require(process.wait(timeout: .seconds(30)) == .code(0), "\(arguments)")
    }

    func write(_ name: String, _ text: String, mode: UInt32 = 0o600) throws -> String {
        try File.write("\(path)/\(name)", Array(text.utf8), mode: mode)
        return "\(path)/\(name)"
    }

    func read(_ name: String) throws -> String {
        String(decoding: try File.read("\(path)/\(name)", bytesMax: 1 << 20), as: UTF8.self)
    }
}
