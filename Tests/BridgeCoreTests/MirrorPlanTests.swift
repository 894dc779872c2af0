import BridgeCore
import Testing

@Suite struct MirrorPlanTests {
    @Test(arguments: [
        "", "/", "a//b", "a/", "/a", "a.b", "a/$b", "a#", "a[0]", "a/{", "a/}", "a/{}", "a\u{1}",
        "a/{/x~2}", String(repeating: "a/", count: 32) + "a",
        "a/" + String(repeating: "b", count: 700) + "{key}" + String(repeating: "c", count: 69),
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

    /// What is wrong with a run mapping, by key.
    private func problems(
        status: String? = nil, marker: String? = nil, stream: String? = nil, below root: Int = 0,
        fields: [String: JSONPointer] = [:]
    ) throws -> [String] {
        let form = Mapping.Form.run(
            status: try status.map(Template.init), marker: try marker.map(Template.init),
            stream: try stream.map(Template.init), eventName: "n")
        return MirrorPlan.problems(
            of: [Mapping(topic: "t", form: form, fields: fields)], below: root
        ).map { "\($0.key): \($0.message)" }
    }

    @Test func aStatusHasNoEventName() throws {
        let path = "c/{conversation_id}/{event_name}"
        #expect(
            try problems(status: path) == [
                "status: expected no {event_name}, which only markers have, found '\(path)': leave "
                    + "it out, or take the record's own text by {/event_context/event_name}"
            ])
        let fields = ["event_name": try #require(JSONPointer("/name"))]
        #expect(try problems(status: path, fields: fields).first?.contains("by {/name}") == true)
        #expect(try problems(status: "c/{/name}", marker: "m/{event_name}", fields: fields) == [])
        #expect(try problems(status: "c/{run_id}/{message_sequence}") == [])
    }

    @Test func aStreamWhosePathIsNoKeyOfTheStateIsRefused() throws {
        func path(_ bytes: Int) -> String {
            let places = "/{conversation_id}/{message_sequence}"
            return String(repeating: "x", count: bytes - places.utf8.count - 4) + places
        }
        #expect(try problems(stream: path(768)) == [])
        #expect(
            try problems(stream: path(769)) == [
                "stream: expected at most 768 bytes, '/' and '%' counted as three each (the "
                    + "stream's path is one key of _firebridge), found 769: shorten the path"
            ])
        let chunks = Mapping(topic: "t", form: .chunk(node: try Template(path(769)), index: .field))
        #expect(MirrorPlan.problems(of: [chunks]).map(\.key) == ["node"])
        #expect(try problems(status: path(769)) == [])
    }

    @Test(arguments: [
        ("stream", 29), ("status", 30), ("marker", 31), ("message", 30), ("chunk", 29),
        ("value", 32), ("merged", 31),
    ])
    func aPathThatLeavesNoRoomForWhatIsWrittenThereIsRefused(_ name: String, _ most: Int) throws {
        func problems(_ segments: Int, below root: Int = 0) throws -> [PlanError.Problem] {
            let places = "{conversation_id}/{message_sequence}"
            let isStream = name == "stream" || name == "chunk"
            let start = String(repeating: "a/", count: segments - 2)
            let path = try Template(start + (isStream ? places : "b/c"))
            let form: Mapping.Form =
                switch name {
                case "stream": .run(status: nil, marker: nil, stream: path, eventName: nil)
                case "status": .run(status: path, marker: nil, stream: nil, eventName: nil)
                case "marker": .run(status: nil, marker: path, stream: nil, eventName: nil)
                case "message": .message(node: path, eventName: nil)
                case "chunk": .chunk(node: path, index: .field)
                case "merged": .value(.init(node: path, write: .merge))
                default: .value(.init(node: path))
                }
            return MirrorPlan.problems(of: [Mapping(topic: "t", form: form)], below: root)
        }
        #expect(try problems(most) == [])
        #expect(try problems(most - 7, below: 7) == [])
        #expect(try problems(most - 6, below: 7).count == 1)
        guard most < 32 else { return }
        #expect(try problems(most + 1).map(\.message).first?.contains("found 33") == true)
    }

    @Test func aPlanKnowsHowDeepItsRootIs() throws {
        let mappings = MirrorPlan.standard.mappings
        #expect(MirrorPlan.standard.rootDepth == 0)
        #expect(try MirrorPlan(mappings: mappings, rootDepth: 24).rootDepth == 24)
        #expect(throws: PlanError.self) { try MirrorPlan(mappings: mappings, rootDepth: 27) }
    }

    @Test func mappingsAreCalledByTheirNumbersWhereSomeAreLeftOut() throws {
        let problems = MirrorPlan.problems(
            of: [try value("x", "a"), try value("y", "a/b")], numbers: [2, 5])
        #expect(problems.map(\.mapping) == [5])
        #expect(problems.first?.message.contains("(mappings[2].node)") == true)
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
