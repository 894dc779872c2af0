public import BridgeCore

/// Mappings of every form and option, for records that were made to be odd.
public enum Plans {
    /// Chunks with indexes and by arrival, runs, messages, and values of every kind.
    public static let everything: MirrorPlan = {
        do {
            return try MirrorPlan(mappings: MirrorPlan.standard.mappings + numbered() + values())
        } catch {
            preconditionFailure("the mappings are valid: \(error)")
        }
    }()

    /// The default mappings, with chunks that are numbered as they stand in the topic.
    public static let byArrival: MirrorPlan = {
        do {
            var mappings = MirrorPlan.standard.mappings
            guard case .chunk(let node, _) = mappings[0].form else {
                preconditionFailure("the first default mapping is the chunks'")
            }
            mappings[0].form = .chunk(node: node, index: .arrival)
            return try MirrorPlan(mappings: mappings)
        } catch {
            preconditionFailure("the mappings are valid: \(error)")
        }
    }()

    private static func numbered() throws -> [Mapping] {
        var renamed = Mapping(
            topic: "app.tokens",
            form: .chunk(
                node: try Template("app/s{message_sequence}/{conversation_id}"), index: .arrival))
        renamed.fields = [
            "conversation_id": JSONPointer("/conversation_id")!,
            "content": JSONPointer("/delta/text")!,
        ]
        renamed.when = [
            .init(pointer: JSONPointer("/kind")!, values: ["delta", "true", "7"])
        ]
        let run = Mapping(
            topic: "app.runs",
            form: .run(
                status: try Template("app-status/{conversation_id}"),
                marker: try Template("app-runs/{run_id}/{event_name}/{message_sequence}"),
                stream: try Template("app/s{message_sequence}/{conversation_id}"),
                eventName: "Run.Event"))
        return [renamed, run]
    }

    private static func values() throws -> [Mapping] {
        func value(
            _ topic: String, _ node: String, _ change: (inout Mapping.ValueMapping) -> Void
        ) throws -> Mapping {
            var form = Mapping.ValueMapping(node: try Template(node))
            change(&form)
            return Mapping(topic: topic, form: .value(form))
        }
        return [
            try value("v.guarded", "guarded/{key}/info") {
                $0.value = JSONPointer("/info")
                $0.guardedBy = [JSONPointer("/version")!, JSONPointer("/at")!]
            },
            try value("v.merged", "merged/{/id}") {
                $0.write = .merge
                $0.tombstone = .ignore
            },
            try value("v.headed", "headed/{header.tenant}/{partition}-{offset}/{topic}") {
                $0.tombstone = .reject
            },
            try value("v.merged-and-guarded", "both/x{/id}y{key}") {
                $0.write = .merge
                $0.guardedBy = [JSONPointer("/version")!]
            },
        ]
    }
}
