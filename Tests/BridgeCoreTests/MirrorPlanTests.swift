import BridgeCore
import Testing

@Suite struct MirrorPlanTests {
    @Test(arguments: [
        "", "/", "a//b", "a/", "/a", "a.b", "a/$b", "a#", "a[0]", "a/{", "a/}", "a/{}", "a\u{1}",
        "a/{/x~2}", String(repeating: "a/", count: 32) + "a",
    ])
    func aTextThatIsNoPathIsNoTemplate(_ text: String) {
        #expect(throws: Template.Failure.self) { try Template(text) }
    }

    @Test func aTemplateKnowsItsPlaces() throws {
        let template = try Template("a/x{key}y/{header.h.1}/{/p/q}{field}")
        #expect(template.segments.count == 4)
        #expect(template.fieldNames == ["field"])
        #expect(template.description == "a/x{key}y/{header.h.1}/{/p/q}{field}")
    }

    private func value(_ topic: String, _ node: String) throws -> Mapping {
        Mapping(topic: topic, form: .value(.init(node: try Template(node))))
    }

    @Test(arguments: [
        ("a/{key}", "a/{key}/b"), ("a/{key}", "a/b"), ("a/b", "a/b"), ("a", "a/b/c"),
        ("a/x{key}", "a/{key}"), ("a/{key}/c", "a/b/{key}"),
        ("streaming/{key}", "b/c"), ("streaming/{key}/{offset}/meta", "b/c"),
        ("conversations/c/status/x", "b/c"),
        ("a/user-{key}", "a/user-{offset}"), ("a/user-{key}", "a/user{key}"),
        ("a/{key}-user", "a/{key}r"), ("a/x{key}y", "a/x-{key}-y/b"), ("a/x{key}", "a/{key}y"),
        ("a/x{key}x{offset}x", "a/xxx"), ("a/x{key}-{offset}", "a/xy-z-"),
        ("a/{key}-x", "a/{key}-y-x/b"),
    ])
    func nodesThatCanLieOneAboveTheOtherAreRefused(_ a: String, _ b: String) throws {
        let mappings = MirrorPlan.standard.mappings + [try value("x", a), try value("y", b)]
        #expect(throws: PlanError.self) { try MirrorPlan(mappings: mappings) }
    }

    @Test(arguments: [
        ("a/{key}/x", "a/{key}/y"), ("a/x", "a/y{key}"), ("streams/{key}", "b"), ("a", "b"),
        ("a/user-{key}", "a/team-{key}"), ("a/{key}-user", "a/{key}-team"),
        ("a/x{key}u", "a/x{key}t/b"), ("a/user-{key}", "a/users{key}"),
        ("a/x{key}-{offset}", "a/xyz"), ("a/{key}-a-{offset}-b-{topic}", "a/x-b-y-a-z"),
        ("a/x{key}x{offset}x", "a/xx"),
    ])
    func nodesApartAreAllowed(_ a: String, _ b: String) throws {
        let mappings = MirrorPlan.standard.mappings + [try value("x", a), try value("y", b)]
        _ = try MirrorPlan(mappings: mappings)
    }

    @Test(arguments: [
        "_firebridge", "_firebridge/x", "{key}", "{key}/x", "_{key}", "{key}bridge", "_fire{key}e",
    ])
    func aNodeThatCanReachTheBridgesOwnStateIsRefused(_ node: String) throws {
        let mapping = try value("x", node)
        #expect(throws: PlanError.self) { try MirrorPlan(mappings: [mapping]) }
    }

    @Test func allProblemsAreToldAtOnce() throws {
        let mappings = [try value("x", "{key}"), try value("x", "a"), try value("y", "{key}/b")]
        #expect {
            _ = try MirrorPlan(mappings: mappings)
        } throws: { error in
            ((error as? PlanError)?.problems.count ?? 0) >= 3
        }
    }

    @Test func topicsThatWriteTheSameStreamsAreOneSet() throws {
        let plan = MirrorPlan.standard
        #expect(plan.sets.map { $0.topics.sorted() } == [[runs, chunks].sorted(), [messages]])
    }

    @Test func unequalPartitionCountsInASetAreConsumedByNobody() {
        let world = Harness()
        world.bridge.topology([chunks: 3, runs: 2, messages: 5], at: world.now)
        world.assign([chunks, runs, messages])
        #expect(world.starts.keys.map(\.topic) == [messages])
        #expect(world.bridge.report(at: world.now).notReady.contains { $0.contains("differ") })
        world.bridge.topology([chunks: 3, runs: 3, messages: 5], at: world.now)
        world.run()
        #expect(Set(world.starts.keys.map(\.topic)) == [chunks, runs, messages])
        #expect(world.bridge.report(at: world.now).notReady == [])
    }
}
