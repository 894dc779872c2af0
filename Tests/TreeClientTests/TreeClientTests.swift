import BridgeCore
import HTTPClient
import ScriptedServer
import Testing

@testable import TreeClient

@Suite(.timeLimit(.minutes(1))) struct TreeClientTests {
    @Test func `A PATCH goes to the root, silent, and is done with the server's date`() throws {
        let server = ScriptedServer { _ in
            [.answer(204, headers: ["Date: Thu, 23 Apr 2026 22:43:44 GMT"])]
        }
        let driver = try Driver(server.url + "/below/here?ns=demo")
        let id = driver.send(.patch(Array(#"{"a/b":1}"#.utf8)))
        driver.now.monotonic += 250_000_000
        let answer = try #require(driver.answer())
        #expect(answer.requestID == id)
        #expect(answer.outcome == .done(body: [], date: 1_776_984_224_000))
        #expect(answer.code == "204" && answer.bytes == 9 && answer.seconds == 0.25)
        let request = try #require(server.requests.first)
        #expect(request.method == "PATCH")
        #expect(request.target == "/below/here.json?print=silent&ns=demo")
        #expect(request.body == Array(#"{"a/b":1}"#.utf8))
        #expect(request.header("content-type") == "application/json")
        #expect(request.header("authorization") == nil)
    }

    @Test func `A GET asks for a node below the root and gives its JSON`() throws {
        let server = ScriptedServer { _ in [.answer(200, #"{"1":true}"#)] }
        let driver = try Driver(server.url + "/r?ns=demo")
        let outcome = driver.outcome(.get(path: Array("streams/a%2Eb".utf8), shallow: true))
        #expect(outcome == .done(body: Array(#"{"1":true}"#.utf8), date: nil))
        #expect(server.requests.first?.target == "/r/streams/a%252Eb.json?shallow=true&ns=demo")
        #expect(driver.outcome(.get(path: [], shallow: false)).isDone)
        #expect(server.requests.last?.target == "/r.json?ns=demo")
        func list(_ from: String?, _ through: String?) -> String? {
            let bounds = (from.map { Array($0.utf8) }, through.map { Array($0.utf8) })
            #expect(
                driver.outcome(
                    .list(path: [0x61], from: bounds.0, through: bounds.1, limit: 9)
                ).isDone)
            return server.requests.last?.target
        }
        let all = "/r/a.json?orderBy=%22$key%22&limitToFirst=9"
        #expect(list(nil, nil) == all + "&ns=demo")
        #expect(list("o", "o~") == all + "&startAt=%22o%22&endAt=%22o~%22&ns=demo")
    }

    @Test func `Writes go under the override, reads do not`() throws {
        let server = ScriptedServer { _ in [.answer(200, "null")] }
        let driver = try Driver(server.url, .emulator, override: TreeClient.fenceIdentity)
        #expect(driver.patch().isDone)
        #expect(driver.outcome(.get(path: [0x61], shallow: false)).isDone)
        #expect(
            server.requests.map(\.target) == [
                "/.json?print=silent&auth_variable_override=%7B%22uid%22%3A%22firebridge%22%7D",
                "/a.json",
            ])
        #expect(server.requests.first?.header("authorization") == "Bearer owner")
    }

    @Test func `An answer's status, text and Retry-After decide the outcome`() throws {
        let server = ScriptedServer { request in
            switch String(decoding: request.body, as: UTF8.self) {
            case "busy": [.answer(503, "busy", headers: ["retry-after:  7 "])]
            case "rules": [.answer(401, #"{"error":"Permission denied"}"#)]
            case "big":
                [
                    .answer(
                        400,
                        #"{"error":"Data to write exceeds the maximum size that can be "#
                            + #"modified with a single request."}"#
                    )
                ]
            default: [.answer(401, #"{"error":"Could not parse auth token."}"#)]
            }
        }
        let driver = try Driver(server.url)
        #expect(
            driver.patch("busy") == .unavailable("HTTP 503: busy", retryAfter: .seconds(7)))
        #expect(driver.patch("rules") == .refused(status: 401, "HTTP 401: Permission denied"))
        guard case .tooBig = driver.patch("big") else { throw Unexpected() }
        #expect(driver.patch("?") == .unauthorized("HTTP 401: Could not parse auth token."))
        #expect(server.requests.count == 4, "no token, no second try")
    }

    @Test(arguments: [
        ([Step.close], "connection_lost"), ([.hang], "timeout"),
        ([.send("SSH-2.0\r\n"), .close], "malformed_answer"),
        ([.answer(400, String(repeating: "x", count: 300_000))], "answer_too_large"),
    ])
    func `Whatever goes wrong with the connection is unavailable`(steps: [Step], code: String)
        throws
    {
        let server = ScriptedServer { _ in steps }
        let driver = try Driver(server.url, timeout: .milliseconds(300))
        _ = driver.send(.patch([]))
        let answer = try #require(driver.answer())
        #expect(answer.code == code)
        let isSent = ["timeout", "connection_lost"].contains(code)
        switch answer.outcome {
        case .unanswered(_, retryAfter: nil) where isSent: break
        case .unavailable(_, retryAfter: nil) where !isSent: break
        default: throw Unexpected()
        }
    }

    @Test func `No connection and no name are unavailable`() throws {
        let refused = try Driver("http://127.0.0.1:\(unusedPort())")
        #expect(refused.patch().unavailable?.hasPrefix("connect: ") == true)
        let nameless = try Driver("http://no-such-host.test")
        #expect(nameless.patch().unavailable?.hasPrefix("DNS: ") == true)
    }

    @Test func `Many requests are answered, each by its own`() throws {
        let server = ScriptedServer { request in
            [.answer(200, String(decoding: request.body, as: UTF8.self))]
        }
        let driver = try Driver(server.url)
        var expected: [Int: String] = [:]
        for number in 0..<200 {
            expected[driver.send(.patch(Array("\(number)".utf8)))] = "\(number)"
        }
        while !expected.isEmpty, let answer = driver.answer() {
            let body = try #require(expected[answer.requestID])
            expected[answer.requestID] = nil
            #expect(answer.outcome == .done(body: Array(body.utf8), date: nil))
        }
        #expect(expected.isEmpty)
    }

    @Test func `Nothing that was given up is answered`() throws {
        let server = ScriptedServer { request in
            request.body == [0x31] ? [.hang] : [.answer(204)]
        }
        let driver = try Driver(server.url)
        _ = driver.send(.patch([0x31]))
        driver.run { server.requests.count == 1 }
        driver.client.cancelAll()
        #expect(driver.http.count == 0)
        #expect(driver.patch("2").isDone)
        #expect(driver.client.nextAnswer() == nil)
    }

    @Test func `Events of other users of the HTTP client are left alone`() throws {
        let server = ScriptedServer { _ in [.answer(204)] }
        let driver = try Driver(server.url)
        let id = driver.http.start(HTTPRequest("GET", server.url + "/mine"))
        while true {
            _ = driver.http.wait(timeout: .seconds(1))
            guard let event = driver.http.nextEvent() else { continue }
            #expect(event.id == id)
            #expect(!driver.client.handle(event, now: driver.now))
            break
        }
    }
}

struct Unexpected: Error {}

@Suite(.timeLimit(.minutes(1))) struct RedirectTests {
    @Test(arguments: [307, 308])
    func `A redirect is followed with method, body and authorization`(status: Int) throws {
        let server = ScriptedServer { request in
            request.target.hasPrefix("/.json")
                ? [.answer(status, headers: ["Location: /moved.json?print=silent&ns=x"])]
                : [.answer(204)]
        }
        let driver = try Driver(server.url + "/?ns=x", .emulator)
        #expect(driver.patch("{\"a\":1}").isDone)
        let last = try #require(server.requests.last)
        #expect(server.requests.count == 2)
        #expect(last.method == "PATCH" && last.target == "/moved.json?print=silent&ns=x")
        #expect(last.body == Array("{\"a\":1}".utf8))
        #expect(last.header("authorization") == "Bearer owner")
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `Another host is never asked, nor told the token`(status: Int) throws {
        let other = ScriptedServer { _ in [.answer(204)] }
        let server = ScriptedServer { _ in
            [.answer(status, headers: ["Location: \(other.url)/.json?ns=x"])]
        }
        let driver = try Driver(server.url, .emulator)
        #expect(
            driver.patch().unavailable
                == "HTTP \(status): a redirect to \(other.url) is not followed")
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: [
        ("https://login.example.org/a/canary?b=canary#canary", "https://login.example.org"),
        ("https://canary:canary@login.example.org/", "what is no URL"),
        ("//login.example.org:8443/canary", "http://login.example.org:8443"),
        ("canary", "what is no URL"),
    ])
    func `A refused redirect is told with scheme and host alone`(
        location: String, told: String
    ) throws {
        let server = ScriptedServer { _ in
            [.answer(302, "<a href='canary'>Found", headers: ["Location: \(location)"])]
        }
        #expect(
            try Driver(server.url).patch().unavailable
                == "HTTP 302: a redirect to \(told) is not followed")
    }

    @Test(arguments: [301, 302, 303])
    func `Redirects that may lose the body are not followed`(status: Int) throws {
        let server = ScriptedServer { _ in [.answer(status, headers: ["Location: /x.json"])] }
        #expect(
            try Driver(server.url).patch().unavailable
                == "HTTP \(status): a redirect to \(server.url) is not followed")
        #expect(server.requests.count == 1)
    }

    @Test func `A loop ends after five hops`() throws {
        let server = ScriptedServer { _ in [.answer(307, headers: ["Location: /.json"])] }
        #expect(
            try Driver(server.url).patch().unavailable
                == "HTTP 307: a redirect to \(server.url) is not followed")
        #expect(server.requests.count == 6)
    }

    @Test func `A secret in the query is sent on, once`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("secret", "s+1\n")
        let server = ScriptedServer { request in
            switch request.target.prefix(3) {
            case "/.j": [.answer(307, headers: ["Location: /b.json?print=silent"])]
            case "/b.": [.answer(307, headers: ["Location: /c.json?auth=s%2B1"])]
            default: [.answer(204)]
            }
        }
        #expect(try Driver(server.url, .secret(file: file)).patch().isDone)
        #expect(
            server.requests.map(\.target) == [
                "/.json?print=silent&auth=s%2B1", "/b.json?print=silent&auth=s%2B1",
                "/c.json?auth=s%2B1",
            ])
    }
}
