import JSON
import Testing

@testable import TreeFaults

@Suite("Faults of the tree") struct FaultTests {
    private func plan(_ text: String) throws -> FaultPlan {
        try FaultPlan(parsing: Array(text.utf8), with: JSONParser())
    }

    private func request(
        _ method: String = "PATCH", _ target: String = "/.json?ns=demo", agent: String = "",
        stream: Bool = false, body: String = ""
    ) -> FaultRequest {
        FaultRequest(
            method: method, target: Array(target.utf8), agent: agent, isStream: stream,
            body: Array(body.utf8))
    }

    @Test("Without rules nothing happens to anybody")
    func none() {
        var engine = FaultEngine(at: 0)
        for at in 0..<100 as Range<Int64> {
            #expect(engine.verdict(for: request(), at: at) == FaultAction())
        }
        #expect(engine.requests == 100)
    }

    @Test("A rule meets requests by method, path, agent, body and kind")
    func conditions() throws {
        var engine = FaultEngine(
            try plan(
                """
                {"rules": [
                  {"name": "a", "methods": ["PUT", "DELETE"], "path": "/x/*/z", "status": 500},
                  {"name": "b", "agent": "firebridge/*", "body": "po\\u0069son", "status": 400},
                  {"name": "c", "stream": true, "path": "/deep/**", "status": 403}]}
                """), at: 0)
        func status(_ request: FaultRequest) -> Int? {
            engine.verdict(for: request, at: 0).reply?.status
        }
        #expect(status(request("PUT", "/x/y/z.json")) == 500)
        #expect(status(request("DELETE", "/x//z.json")) == 500)
        #expect(status(request("PUT", "/x/y/y/z.json")) == nil)
        #expect(status(request("PATCH", "/x/y/z.json")) == nil)
        #expect(status(request(agent: "firebridge/1", body: "{\"a\":\"poison\"}")) == 400)
        #expect(status(request(agent: "curl/8", body: "{\"a\":\"poison\"}")) == nil)
        #expect(status(request(agent: "firebridge/1", body: "{\"a\":\"poiso\"}")) == nil)
        #expect(status(request("GET", "/deep/a/b.json", stream: true)) == 403)
        #expect(status(request("GET", "/deep/a/b.json")) == nil)
        #expect(engine.hits.map(\.count) == [2, 1, 1])
    }

    @Test("A rule may skip some, meet every so manieth, and end after so many or so long")
    func counting() throws {
        var engine = FaultEngine(
            try plan(
                """
                {"rules": [{"skip": 2, "every": 3, "times": 2, "status": 503},
                           {"from_ms": 100, "until_ms": 200, "status": 429}]}
                """), at: 1000)
        let met = (0..<12).map { _ in engine.verdict(for: request(), at: 1000).reply != nil }
        #expect(met.indices.filter { met[$0] } == [2, 5])
        let times = [1099, 1100, 1199, 1200].map {
            engine.verdict(for: request(), at: Int64($0)).reply?.status
        }
        #expect(times == [nil, 429, 429, nil])
    }

    @Test("Chance is the same for the same seed, another for another, and about as often as said")
    func chance() throws {
        func met(_ seed: Int) throws -> [Bool] {
            var engine = FaultEngine(
                try plan(#"{"seed": \#(seed), "rules": [{"chance": 0.25, "cut": "before"}]}"#),
                at: 0)
            return (0..<4000).map { _ in engine.verdict(for: request(), at: 0).cut != nil }
        }
        #expect(try met(1) == met(1))
        #expect(try met(1) != met(2))
        #expect((900...1100).contains(try met(3).count { $0 }))
    }

    @Test("An action says whether the tree sees the request, and what its client sees")
    func actions() throws {
        let rules = try plan(
            """
            {"rules": [
              {"status": 401}, {"status": 503, "headers": {"Retry-After": "2"}, "apply": true},
              {"status": 400, "answer": {"error": "no"}}, {"status": 500, "answer": "<html>"},
              {"cut": "before"}, {"cut": "after"}, {"cut": "inside"},
              {"delay_ms": 30, "hold_ms": 40, "bytes_per_second": 1}]}
            """
        ).rules.map(\.action)
        #expect(
            rules.map(\.reachesTree) == [false, true, false, false, false, true, true, true])
        let bodies = rules.map { String(decoding: $0.reply?.body ?? [], as: UTF8.self) }
        #expect(bodies[0] == "{\"error\" : \"Auth token is expired\"}\n")
        #expect(bodies[2] == "{\"error\": \"no\"}" && bodies[3] == "<html>")
        #expect(rules[1].reply?.headers.first?.value == "2")
        #expect(rules[7].delay == 30 && rules[7].hold == 40 && rules[7].bytesPerSecond == 1)
    }

    @Test("Writes beyond a thousand a second wait for their turn, and after half a minute get 503")
    func writes() throws {
        var engine = FaultEngine(try plan(#"{"writes_per_second": 1000}"#), at: 0)
        let waits = (0..<31_002).map { _ in engine.verdict(for: request(), at: 0) }
        #expect(waits[..<1000].allSatisfy { $0.delay == 0 })
        #expect(waits[1000].delay == 1 && waits[1999].delay == 1000 && waits[2500].delay == 1501)
        #expect(waits[30_999].delay == 30_000 && waits[31_001].reply?.status == 503)
        #expect(engine.verdict(for: request("GET"), at: 0) == FaultAction())
        // Time pays for all of it.
        #expect(engine.verdict(for: request(), at: 40_000).delay == 0)
    }

    @Test("Bytes of writes beyond the limit of a minute wait as well")
    func bytes() throws {
        var engine = FaultEngine(try plan(#"{"write_bytes_per_minute": 60000}"#), at: 0)
        let body = String(repeating: "x", count: 30_000)
        let waits = (0..<3).map { _ in engine.verdict(for: request(body: body), at: 0).delay }
        #expect(waits == [0, 0, 30_000])
        #expect(engine.verdict(for: request(body: body), at: 0).reply?.status == 503)
    }

    @Test(
        "What is wrong with a file is told with its place",
        arguments: [
            ("[]", "the file: expected an object"), ("{", "expected JSON"),
            (#"{"rule": []}"#, "rule: expected seed, rules"),
            (#"{"rules": [{"statis": 3}]}"#, "rules[0].statis: there is no such member"),
            (#"{"rules": [{}, {"status": 99}]}"#, "rules[1].status: expected a whole number in"),
            (#"{"rules": [{"chance": 2}]}"#, "rules[0].chance: expected a number from 0 to 1"),
            (#"{"rules": [{"cut": "maybe"}]}"#, "rules[0].cut: expected before, after or inside"),
            (#"{"rules": [{"answer": "x"}]}"#, "rules[0]: headers and answer need a status"),
            (#"{"rules": [{"every": 0}]}"#, "rules[0].every: expected a whole number in"),
            (#"{"rules": 7}"#, "rules: expected an array, found 7"),
        ])
    func wrong(_ text: String, _ words: String) {
        do {
            _ = try plan(text)
            Issue.record("taken: \(text)")
        } catch {
            #expect("\(error)".contains(words), "\(error)")
        }
    }
}
