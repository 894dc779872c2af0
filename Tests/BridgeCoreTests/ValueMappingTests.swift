import BridgeCore
import Testing

/// Contract section 3, `as: value`, and the other options of mappings.
@Suite struct ValueMappingTests {
    @Test func placesAreFilledFromTheRecord() throws {
        let plan = try valuePlan(
            "n/{key}/{topic}-{partition}-{offset}/{header.tenant}/{/a/b}/{/list/1}")
        let explained = explain(
            "v", #"{"a":{"b":7.0},"list":[0,true]}"#, key: "k/1",
            headers: [
                Header(name: "tenant", value: Array("old".utf8)),
                Header(name: "tenant", value: Array("t.x".utf8)),
            ], plan: plan)
        #expect(explained.nodes.map { Array($0.keys) } == ["n/k%2F1/v-0-7/t%2Ex/7/true"])
    }

    @Test func headersAreToldApartByBytes() throws {
        let plan = try valuePlan("n/{header.é}")
        let twin = [Header(name: "e\u{301}", value: Array("x".utf8))]
        #expect(explain("v", "1", headers: twin, plan: plan).reason == .missingField)
        let own = [Header(name: "é", value: Array("x".utf8))]
        #expect(explain("v", "1", headers: own, plan: plan).nodes == ["n/x": "1"])
    }

    @Test(arguments: [
        ("n/{key}", Rejection.Reason.missingField), ("n/{header.x}", .missingField),
        ("n/{/x}", .missingField), ("n/{/null}", .missingField), ("n/{/object}", .invalidField),
        ("n/{/lone}", .invalidField), ("n/{/empty}", .invalidPath), ("n/{/long}", .invalidPath),
        ("n/a{/long}", .invalidPath),
    ])
    func aPlaceThatCannotBeFilledRejectsTheRecord(
        _ node: String, _ reason: Rejection.Reason
    ) throws {
        let long = String(repeating: "x", count: 769)
        let value =
            #"{"null":null,"object":{},"lone":"\ud83d","empty":"","long":"\#(long)"}"#
        #expect(explain("v", value, key: nil, plan: try valuePlan(node)).reason == reason)
    }

    @Test(arguments: [
        nil, "", String(repeating: "k", count: 800), String(repeating: "/", count: 300),
    ])
    func aKeyThatCannotBeADatabaseKeyHindersNoNodeThatDoesNotNameIt(_ key: String?) throws {
        let plan = try valuePlan("n/{/id}", guardedBy: ["/v"])
        #expect(explain("v", #"{"id":1,"v":2}"#, key: key, plan: plan).nodes?["n/1"] != nil)
    }

    @Test func whatIsWrittenIsTheWholeValueOrAPartOfIt() throws {
        let whole = try valuePlan("n/{key}")
        for json in [#"{"a":1}"#, "[1,2]", #""x""#, "7.50", "true"] {
            #expect(explain("v", json, plan: whole).nodes == ["n/c": json])
        }
        let part = try valuePlan("n/{key}", value: "/a/0")
        #expect(explain("v", #"{"a":[{"x":1}],"b":2}"#, plan: part).nodes == ["n/c": #"{"x":1}"#])
        #expect(explain("v", #"{"b":2}"#, plan: part).reason == .missingField)
        #expect(explain("v", "", plan: part).reason == .malformedJSON)
    }

    @Test func aMergeWritesTheChildrenThatItNames() throws {
        let plan = try valuePlan("n/{key}", write: .merge)
        #expect(
            explain("v", #"{"a":1,"b.c":{"$":2},"a":3,"":4,"d":null}"#, plan: plan).nodes == [
                "n/c/a": "3", "n/c/b%2Ec": #"{"%24":2}"#, "n/c/%": "4", "n/c/d": "null",
            ])
        #expect(explain("v", "[1]", plan: plan).reason == .invalidField)
        #expect(explain("v", "{}", plan: plan) == .nothing)
    }

    @Test func aTombstoneDoesWhatTheMappingSays() throws {
        for value: String? in [nil, "null"] {
            func explained(_ rule: Mapping.Tombstone) throws -> Explanation {
                let plan = try valuePlan("n/{key}", tombstone: rule)
                return explain("v", value.map { Array($0.utf8) }, plan: plan)
            }
            #expect(try explained(.delete).nodes == ["n/c": "null"])
            #expect(try explained(.ignore) == .nothing)
            #expect(try explained(.reject).reason == .nullValue)
        }
    }

    @Test func aFilterPassesOnlyWhatItNames() throws {
        let plan = try valuePlan(
            "n/{key}",
            when: [
                .init(pointer: JSONPointer("/type")!, values: ["A", "7", "true", "é"]),
                .init(pointer: JSONPointer("/x")!, values: ["1"]),
            ])
        for type in [#""A""#, "7", "true", #""7""#, #""é""#, #""\u0041""#] {
            #expect(explain("v", #"{"type":\#(type),"x":1}"#, plan: plan).nodes != nil)
        }
        for value in [
            #"{"type":"B","x":1}"#, #"{"type":"A"}"#, #"{"x":1}"#, #"{"type":{},"x":1}"#,
            #"{"type":"A","x":2}"#, "{\"type\":\"e\u{301}\",\"x\":1}", "[]",
        ] {
            #expect(explain("v", value, plan: plan) == .nothing)
        }
    }

    @Test func fieldsFindInputsElsewhere() throws {
        var mapping = MirrorPlan.standard.mappings[0]
        mapping.fields = [
            "conversation_id": JSONPointer("/conversation/id")!,
            "content": JSONPointer("/delta/0/text")!, "run_id": JSONPointer("/r")!,
        ]
        let plan = try MirrorPlan(mappings: [mapping])
        let value =
            #"{"conversation":{"id":"x.y"},"delta":[{"text":"hi"}],"r":"r1","run_id":"no","message_sequence":1}"#
        let nodes = explain(chunks, value, plan: plan).nodes
        #expect(nodes?["streaming/x%2Ey/1/meta"]?.contains(#""run_id":"r1""#) == true)
        #expect(nodes?["streaming/x%2Ey/1/chunks"]?.contains(#""content":"hi""#) == true)
    }

    @Test(arguments: [
        (#"{"v":2}"#, #"{"v":1}"#, false), (#"{"v":1}"#, #"{"v":1}"#, false),
        (#"{"v":1}"#, #"{"v":2}"#, true), (#"{"v":"9"}"#, #"{"v":"10"}"#, true),
        (#"{"v":9007199254740993}"#, #"{"v":9007199254740992}"#, false),
        (#"{"v":1.5}"#, #"{"v":2}"#, true), (#"{"v":2}"#, #"{"v":1.5}"#, false),
        (#"{"v":18446744073709551614}"#, #"{"v":18446744073709551615}"#, true),
        (#"{"v":18446744073709551615}"#, #"{"v":18446744073709551614}"#, false),
        (#"{"v":"9999999999999999999"}"#, #"{"v":"010000000000000000000"}"#, true),
        (#"{"v":9007199254740992.5}"#, #"{"v":9007199254740993}"#, true),
        (#"{"v":9007199254740993}"#, #"{"v":9007199254740992.5}"#, false),
        (#"{"v":1.10}"#, #"{"v":11e-1}"#, false), (#"{"v":-1e2}"#, #"{"v":-99.9}"#, true),
        (#"{"v":"2026-01-01T00:00:00Z"}"#, #"{"v":"2026-01-01T00:00:00.000000001Z"}"#, true),
        (#"{"v":"2026-01-01T00:00:00Z"}"#, #"{"v":"2026-01-01T01:00:00+02:00"}"#, false),
        (#"{"v":"a"}"#, #"{"v":"b"}"#, true), (#"{"v":"b"}"#, #"{"v":"a"}"#, false),
    ])
    func aGuardedRecordPassesOnlyWhenItIsGreater(
        _ first: String, _ second: String, _ passes: Bool
    ) throws {
        let plan = try valuePlan("n/{key}", guardedBy: ["/v"])
        let world = Harness(plan: plan)
        world.assign(["v"])
        world.consume("v", first, second)
        #expect(world.bridge.counters.staleStatuses == (passes ? 0 : 1))
        // The same across a restart: the guard is kept beside the data.
        let kept = try #require(world.written["_firebridge/guards/v/n%2Fc"])
        let again = Harness(plan: plan)
        again.answers["_firebridge/guards/v/n%2Fc"] = passes ? nil : kept
        again.assign(["v"])
        if passes { again.consume("v", first) }
        again.consume("v", second)
        #expect(again.bridge.counters.staleStatuses == (passes ? 0 : 1))
    }

    @Test(arguments: ["a", nil]) func aNodeHasOneGuardWhateverTheKeysOfItsRecords(
        _ key: String?
    ) throws {
        let world = Harness(plan: try valuePlan("n/{/id}", guardedBy: ["/v"]))
        world.assign(["v"])
        for (key, version) in [(key, 5), ("b", 7), (key, 6)] {
            world.key = key.map { Array($0.utf8) }
            world.consume("v", #"{"id":1,"v":\#(version)}"#)
        }
        #expect(world.written["n/1"] == #"{"id":1,"v":7}"#)
        #expect(world.bridge.counters.staleStatuses == 1)
    }

    @Test func guardsOfNodesThatAreNoLongerWrittenAreForgotten() throws {
        var settings = Settings()
        settings.conversationsMax = 10
        let world = Harness(plan: try valuePlan("n/{/id}", guardedBy: ["/v"]), settings: settings)
        world.key = nil
        world.assign(["v"])
        let guarded = "_firebridge/guards/v/n%2F"
        for id in 0..<100 { world.consume("v", #"{"id":\#(id),"v":5}"#) }
        world.answers[guarded + "0"] = world.written[guarded + "0"]
        world.consume("v", #"{"id":0,"v":4}"#)
        #expect(world.reads.filter { $0 == guarded + "0" }.count == 2)
        #expect(world.bridge.counters.staleStatuses == 1)
    }

    @Test func severalGuardsAreComparedInTheirOrder() throws {
        let plan = try valuePlan("n/{key}", guardedBy: ["/a", "/b"])
        let world = Harness(plan: plan)
        world.assign(["v"])
        world.consume(
            "v", #"{"a":1,"b":5}"#, #"{"a":1,"b":4}"#, #"{"a":2,"b":0}"#, #"{"a":1,"b":9}"#)
        #expect(world.bridge.counters.staleStatuses == 2)
        #expect(world.written["n/c"] == #"{"a":2,"b":0}"#)
    }

    @Test(arguments: [Outcome.refused(status: 400, "no"), .tooBig("no")])
    func recordsThatWereStaleBesideARefusedOneAreJudgedAnew(_ verdict: Outcome) throws {
        let plan = try valuePlan("n/{key}", write: .merge, guardedBy: ["/v"])
        let world = Harness(plan: plan)
        world.assign(["v"])
        world.holdsPatches = true
        world.consume("v", #"{"v":1}"#)
        world.consume("v", #"{"v":9,"x":"poison"}"#, #"{"v":3,"x":"b"}"#, #"{"v":4,"x":"c"}"#)
        world.verdict = { $0.contains("poison") ? verdict : nil }
        world.holdsPatches = false
        world.answerHeld()
        for _ in 0..<60 { world.wait(milliseconds: 500) }
        #expect(world.deadLetters.map(\.record.offset) == [1])
        #expect(world.written["n/c/x"] == #""c""#)
        #expect(world.commits.last == [TopicPartition("v", 0): 4])
        #expect(world.bridge.report(at: world.now).notReady == [])
    }

    @Test func aTombstoneClearsTheGuard() throws {
        let plan = try valuePlan("n/{key}", guardedBy: ["/v"])
        let world = Harness(plan: plan)
        world.assign(["v"])
        world.consume("v", #"{"v":5}"#, nil, #"{"v":1}"#)
        #expect(world.bridge.counters.staleStatuses == 0)
        #expect(world.written["n/c"] == #"{"v":1}"#)
    }

    @Test(arguments: ["{}", #"{"v":null}"#]) func aRecordWithoutTheGuardedFieldIsRejected(
        _ value: String
    ) throws {
        let plan = try valuePlan("n/{key}", guardedBy: ["/v"])
        #expect(explain("v", value, plan: plan).reason == .missingField)
    }

    @Test(arguments: [#"{"v":{}}"#, #"{"v":[]}"#, #"{"v":true}"#, #"{"v":1e999}"#])
    func aGuardIsANumberOrAString(_ value: String) throws {
        let plan = try valuePlan("n/{key}", guardedBy: ["/v"])
        #expect(explain("v", value, plan: plan).reason == .invalidField)
    }
}
