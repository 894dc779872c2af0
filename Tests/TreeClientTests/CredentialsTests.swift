import BridgeCore
import EventLoop
import ScriptedServer
import Synchronization
import Testing

@testable import TreeClient

@Suite(.timeLimit(.minutes(1))) struct TokenFileTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A database that takes one token only.
    func database(taking token: @escaping @Sendable () -> String) -> ScriptedServer {
        ScriptedServer { request in
            request.header("authorization") == "Bearer \(token())"
                ? [.answer(204)] : [.answer(401, #"{"error":"Auth token is expired"}"#)]
        }
    }

    @Test func `The token is the file's text without the blanks around it`() throws {
        let server = database { "t.1-2_3" }
        let file = try directory.write("token", "\n t.1-2_3 \r\n")
        let driver = try Driver(server.url, .accessToken(file: file))
        #expect(driver.patch().isDone)
        #expect(driver.events == [])
    }

    @Test func `A file that changes is read again within a second`() throws {
        let server = database { "new" }
        let file = try directory.write("token", "old")
        let driver = try Driver(server.url, .accessToken(file: file))
        #expect(driver.patch().isUnauthorized)
        #expect(server.requests.count == 1, "the same token is not tried twice")
        _ = try directory.write("token", "new")
        driver.advance(.seconds(1))
        #expect(driver.patch().isDone)
        #expect(server.requests.count == 2)
    }

    @Test func `A 401 reads the file at once and sends again with the new token, once`() throws {
        let server = database { "new" }
        let file = try directory.write("token", "old")
        let driver = try Driver(server.url, .accessToken(file: file))
        _ = driver.send(.patch([]))
        _ = try directory.write("token", "new")
        #expect(driver.nextOutcome().isDone)
        #expect(
            server.requests.map { $0.header("authorization") } == ["Bearer old", "Bearer new"])

        let never = database { "another" }
        let second = try Driver(never.url, .accessToken(file: file))
        _ = second.send(.patch([]))
        _ = try directory.write("token", "newer")
        #expect(second.nextOutcome().isUnauthorized)
        #expect(never.requests.count == 2)
    }

    @Test func `A file that is gone for a moment does not take the token away`() throws {
        let server = database { "t" }
        let file = try directory.write("token", "t")
        let driver = try Driver(server.url, .accessToken(file: file))
        #expect(driver.patch().isDone)
        try directory.run("rm", file)
        driver.advance(.seconds(2))
        #expect(driver.patch().isDone)
    }

    @Test(arguments: [
        ("", "expected a token of visible ASCII"), ("two words", "expected a token of visible"),
        ("a\nX-Evil: 1", "expected a token"), ("é", "expected a token"),
    ])
    func `A file without a token is unavailable and says so`(text: String, reason: String) throws {
        let server = database { "t" }
        let file = try directory.write("token", text)
        let driver = try Driver(server.url, .accessToken(file: file))
        let outcome = driver.patch()
        #expect(outcome.unavailable?.contains(reason) == true, "\(outcome as Any)")
        #expect(server.requests.isEmpty)
        #expect(driver.events == ["token_unavailable"])
        _ = try directory.write("token", "t")
        driver.advance(.seconds(1))
        #expect(driver.patch().isDone)
    }

    @Test func `A missing file is unavailable and names it`() throws {
        let driver = try Driver("http://127.0.0.1:1", .accessToken(file: "/no/such/token"))
        #expect(
            driver.patch()
                == .unavailable(
                    "credentials: open /no/such/token: No such file or directory",
                    retryAfter: .seconds(1)))
    }

    @Test func `A file that others may read gives a warning`() throws {
        let server = database { "t" }
        let file = try directory.write("token", "t", mode: 0o644)
        let driver = try Driver(server.url, .accessToken(file: file))
        #expect(driver.patch().isDone)
        #expect(driver.events == ["credentials_file_mode"])
        #expect(driver.notices.first?.fields.first?.value.contains("0644") == true)
    }

    @Test(arguments: [0, 150, 250, 270, 295, 1150])
    func `No piece of a token is left where an answer that repeats it is cut`(_ before: Int) throws
    {
        let token = (0..<60).map { "k\(100 + $0)z" }.joined()
        let server = ScriptedServer { request in
            let came = request.header("authorization") ?? ""
            return [.answer(502, String(repeating: "x ", count: before / 2) + came)]
        }
        let driver = try Driver(
            server.url, .accessToken(file: directory.write("token", token, mode: 0o600)))
        let text = "\(driver.patch() as Any)"
        #expect(text.contains("HTTP 502"))
        for number in 0..<60 { #expect(!text.contains("k\(100 + number)z"), "\(text)") }
    }

    @Test func `A legacy secret goes in the query and in no text`() throws {
        let server = ScriptedServer { request in
            [.answer(401, #"{"error":"Could not parse auth token: \#(request.target) c+nary"}"#)]
        }
        let file = try directory.write("secret", "c+nary")
        let driver = try Driver(server.url + "/?ns=x", .secret(file: file))
        let outcome = driver.patch()
        #expect(server.requests.first?.target == "/.json?print=silent&ns=x&auth=c%2Bnary")
        #expect(outcome.isUnauthorized)
        #expect(!"\(outcome as Any)".contains("nary"))
        #expect("\(outcome as Any)".contains("<secret>"))
    }
}

/// What a token endpoint answers: `token-1`, `token-2`, … unless it is told to fail.
final class TokenEndpoint: Sendable {
    private let state = Mutex((count: 0, failure: [Step]?.none))
    let lifetime: Int

    init(lifetime: Int = 3600) { self.lifetime = lifetime }

    var failure: [Step]? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    func answer() -> [Step] {
        state.withLock { state in
            if let failure = state.failure { return failure }
            state.count += 1
            return [
                .answer(
                    200,
                    #"{"access_token":"token-\#(state.count)","expires_in":\#(lifetime),"#
                        + #""token_type":"Bearer"}"#
                )
            ]
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct FetchedTokenTests {
    let endpoint = TokenEndpoint(lifetime: 1000)
    /// Tokens and database on one server: what does not ask for a token is the database.
    let server: ScriptedServer

    init() {
        let endpoint = endpoint
        server = ScriptedServer { request in
            if request.target.hasPrefix("/computeMetadata/") {
                return request.header("metadata-flavor") == "Google"
                    ? endpoint.answer() : [.answer(403)]
            }
            let token = request.header("authorization") ?? "none"
            return request.target.hasPrefix("/\(token.split(separator: " ").last!)")
                || request.target.hasPrefix("/any")
                ? [.answer(204)] : [.answer(401, #"{"error":"Could not parse auth token."}"#)]
        }
    }

    var authorizations: [String] {
        server.requests.filter { $0.method == "PATCH" }.map { $0.header("authorization") ?? "" }
    }

    var fetches: Int { server.requests.count { $0.method == "GET" } }

    /// A database whose root's name is the one token that it takes; `any` takes all.
    func driver(_ root: String) throws -> Driver {
        try Driver(
            "\(server.url)/\(root)", .metadataServer(host: "127.0.0.1:\(server.port)"))
    }

    @Test func `Requests wait for the first token, which is fetched once for all`() throws {
        let driver = try driver("any")
        for _ in 0..<5 { _ = driver.send(.patch([])) }
        for _ in 0..<5 { #expect(driver.nextOutcome().isDone) }
        #expect(fetches == 1)
        #expect(authorizations == Array(repeating: "Bearer token-1", count: 5))
        #expect(driver.events == ["token_fetched"])
    }

    @Test func `A token is renewed at four fifths of its life, while the old one serves`() throws {
        let driver = try driver("any")
        #expect(driver.patch().isDone)
        #expect(driver.client.deadline == driver.now.after(.seconds(800)))
        driver.advance(.seconds(799))
        #expect(driver.patch().isDone)
        #expect(fetches == 1)
        endpoint.failure = [.hang]
        driver.advance(.seconds(1))
        #expect(driver.patch().isDone, "the renewal hangs, the old token is still good")
        #expect(authorizations.last == "Bearer token-1")
        driver.run { fetches == 2 }
    }

    @Test func `A token that has ended is not used`() throws {
        let driver = try driver("any")
        #expect(driver.patch().isDone)
        driver.now.monotonic += Duration.seconds(1000).nanoseconds
        #expect(driver.patch().isDone)
        #expect(authorizations == ["Bearer token-1", "Bearer token-2"])
    }

    @Test func `A 401 fetches a new token once and sends again`() throws {
        let driver = try driver("token-2")
        #expect(driver.patch().isDone)
        #expect(authorizations == ["Bearer token-1", "Bearer token-2"])
        #expect(driver.events == ["token_fetched", "token_rejected", "token_fetched"])
    }

    @Test func `Requests rejected together share the new token`() throws {
        let driver = try driver("token-2")
        for _ in 0..<4 { _ = driver.send(.patch([])) }
        for _ in 0..<4 { #expect(driver.nextOutcome().isDone) }
        #expect(fetches == 2)
    }

    @Test func `Tokens rejected again and again are fetched ever more slowly`() throws {
        let driver = try driver("token-99")
        #expect(driver.patch().isUnauthorized)
        #expect(fetches == 2 && authorizations.count == 2)
        #expect(driver.patch().unavailable?.contains("rejected 2 fresh tokens in a row") == true)
        #expect(fetches == 2)
        driver.advance(.seconds(1))
        #expect(driver.patch().isUnauthorized)
        #expect(fetches == 3)
        driver.advance(.seconds(1))
        #expect(driver.patch().retryAfter == .seconds(1))
        #expect(fetches == 3)
    }

    @Test func `A failing endpoint is asked after 1, 2, 4 … seconds, and the reason is told`()
        throws
    {
        endpoint.failure = [.answer(503, "down")]
        let driver = try driver("any")
        for (attempt, wait) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
            let outcome = driver.patch()
            #expect(
                outcome.unavailable == "metadata server 127.0.0.1:\(server.port): HTTP 503")
            #expect(outcome.retryAfter == .seconds(wait))
            #expect(driver.patch().retryAfter == .seconds(wait), "no fetch between")
            #expect(fetches == attempt + 1)
            driver.advance(.seconds(wait))
            driver.run { driver.events.count == attempt + 2 }
        }
        #expect(Set(driver.events) == ["token_unavailable"])
        endpoint.failure = nil
        driver.advance(.seconds(60))
        #expect(driver.patch().isDone)
    }

    @Test func `An endpoint that hangs is given up after its time, and asked again later`() throws {
        endpoint.failure = [.hang]
        let driver = try Driver(
            "\(server.url)/any", .metadataServer(host: "127.0.0.1:\(server.port)"),
            tokenTimeout: .milliseconds(200))
        let began = ContinuousClock.now
        let outcome = driver.patch()
        #expect(ContinuousClock.now - began < .seconds(5))
        let reason = "metadata server 127.0.0.1:\(server.port): timeout: "
        #expect(outcome.unavailable?.hasPrefix(reason) == true, "\(outcome as Any)")
        #expect(outcome.retryAfter == .seconds(1))
        #expect(driver.events == ["token_unavailable"])
        #expect(fetches == 1 && authorizations.isEmpty)
        endpoint.failure = nil
        driver.advance(.seconds(1))
        #expect(driver.patch().isDone)
        #expect(fetches == 2)
    }

    @Test(arguments: [
        [Step.answer(200, "not JSON")], [.answer(200, "{}")], [.answer(200, "[]")],
        [.answer(200, #"{"access_token":7}"#)], [.answer(200, #"{"access_token":""}"#)],
        [.answer(200, #"{"access_token":"a\nX: b"}"#)], [.answer(404)], [.reset], [.close],
        [.answer(200, #"{"access_token":"\#(String(repeating: "x", count: 70_000))"}"#)],
    ])
    func `An endpoint that gives no token makes the database unavailable`(steps: [Step]) throws {
        endpoint.failure = steps
        let driver = try driver("any")
        #expect(driver.patch().unavailable?.hasPrefix("metadata server 127.0.0.1") == true)
        #expect(authorizations.isEmpty)
    }

    @Test func `A lifetime of nothing does not become a loop`() throws {
        let server = ScriptedServer { request in
            request.method == "GET"
                ? [.answer(200, #"{"access_token":"t","expires_in":0}"#)] : [.answer(204)]
        }
        let driver = try Driver(server.url, .metadataServer(host: "127.0.0.1:\(server.port)"))
        #expect(driver.patch().isDone)
        #expect(driver.client.deadline == driver.now.after(.seconds(8)))
    }
}
