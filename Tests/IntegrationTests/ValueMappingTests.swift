import BridgeCore
import EventLoop
import Oracle
import TestSupport
import Testing

@Suite("The general mapping and chunks without indexes, end to end", .serialized, .ownThreads)
struct ValueMappingTests {
    private func mappings(_ prefix: String) -> String {
        """
          - topic: \(prefix).items
            as: value
            node: items/{key}/info
            value: /info
            guard: [/version, /at]
          - topic: \(prefix).merged
            as: value
            node: merged/{/place/id}/{header.kind}
            write: merge
            tombstone: ignore
            when: {/type: [A, B], /live: ["true"]}
          - topic: \(prefix).named
            as: value
            node: named/{name}/{topic}-{partition}
            fields: {name: /deep/name}
            tombstone: reject
          - topic: \(prefix).plain
            as: value
            node: plain/{key}
        """
    }

    /// A world with these topics, and a bridge that mirrors them.
    private func world() throws -> (World, BridgeProcess, [String]) {
        let world = try World(partitions: nil)
        let topics = ["items", "merged", "named", "plain"]
        try world.touch(topics + ["dead-letters"])
        let bridge = try world.startBridge(
            world.settings { $0.mappings = mappings(world.name) })
        return (world, bridge, topics)
    }

    private func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func header(_ value: String) -> [Header] { [Header(name: "kind", value: utf8(value))] }

    @Test("Values are set under their guard, and a tombstone removes them and clears it")
    func guarded() throws {
        let (world, bridge, topics) = try world()
        func item(_ key: String, _ json: String?) throws {
            try world.log.append("items", partition: 0, key: utf8(key), value: json.map(utf8))
        }
        try item("a.b", #"{"info":{"n":1,"x.y":true},"version":9,"at":"2026-11-01T00:00:00Z"}"#)
        try item("a.b", #"{"info":{"n":2},"version":10,"at":"2026-11-01T00:00:00Z"}"#)
        try item("a.b", #"{"info":{"n":3},"version":"9","at":"2026-11-02T00:00:00Z"}"#)
        try item("a.b", #"{"info":{"n":4},"version":10,"at":"2026-11-01T00:00:00.000Z"}"#)
        try item("a.b", #"{"info":{"n":5},"version":10,"at":"2026-11-01T02:00:00.5+02:00"}"#)
        try item("gone", #"{"info":{"n":1},"version":5,"at":"2026-11-01T00:00:00Z"}"#)
        try item("gone", nil)
        try item("back", #"{"info":{"n":1},"version":5,"at":"2026-11-01T00:00:00Z"}"#)
        try item("back", nil)
        try item("back", #"{"info":"small","version":1,"at":"2026-11-01T00:00:00Z"}"#)
        try item("none", #"{"info":{"n":1},"at":"2026-11-01T00:00:00Z"}"#)
        try item("none", #"{"version":1,"at":"2026-11-01T00:00:00Z"}"#)
        try item("none", #"{"info":{"n":1},"version":{},"at":"2026-11-01T00:00:00Z"}"#)
        try world.log.flush()
        try world.waitUntilDrained(topics: topics)
        let expected = #"{"items":{"a%2Eb":{"info":{"n":5}},"back":{"info":"small"}}}"#
        expectNone(try world.tree.differences(from: Node.parse(utf8(expected))))
        #expect(bridge.metrics.sum("firebridge_dead_letters_total", "missing_field") == 2)
        #expect(bridge.metrics.sum("firebridge_dead_letters_total", "invalid_field") == 1)
        #expect(try bridge.stop() == .code(0))
        // The guard outlives the process.
        let again = try world.startBridge(
            world.settings { $0.mappings = mappings(world.name) })
        try item("a.b", #"{"info":{"n":6},"version":10,"at":"2026-11-01T00:00:00Z"}"#)
        try item("back", #"{"info":"large","version":2,"at":"2026-11-01T00:00:00Z"}"#)
        try world.log.flush()
        try world.waitUntilDrained(topics: topics)
        let later = #"{"items":{"a%2Eb":{"info":{"n":5}},"back":{"info":"large"}}}"#
        expectNone(try world.tree.differences(from: Node.parse(utf8(later))))
        #expect(try again.stop() == .code(0))
    }

    @Test("Merged values keep what they do not name; when, headers, pointers and fields choose")
    func merged() throws {
        let (world, bridge, topics) = try world()
        func merge(_ json: String?, _ kind: String = "k.1") throws {
            try world.log.append(
                "merged", partition: 1, key: utf8("m"), value: json.map(utf8),
                headers: header(kind))
        }
        try merge(#"{"type":"A","live":true,"place":{"id":"p/1"},"a":1,"b":{"c":1}}"#)
        try merge(#"{"type":"B","live":true,"place":{"id":"p/1"},"a":2,"b":{"d":1},"e":null}"#)
        try merge(#"{"type":"C","live":true,"place":{"id":"p/1"},"a":3}"#)
        try merge(#"{"type":"A","live":false,"place":{"id":"p/1"},"a":4}"#)
        try merge(#"{"type":"A","live":true,"place":{"id":7.0}}"#, "other")
        try merge(#"{"type":"A","live":true,"a":5}"#)
        try merge(nil)
        func named(_ json: String?) throws {
            try world.log.append("named", partition: 2, key: nil, value: json.map(utf8))
        }
        try named(#"{"deep":{"name":"n"},"v":[1,null,"x"]}"#)
        try named(#"{"deep":{}}"#)
        try named(nil)
        func plain(_ key: String?, _ json: String?) throws {
            try world.log.append(
                "plain", partition: 3, key: key.map(utf8), value: json.map(utf8))
        }
        for (key, json) in [("t", "\"text\""), ("n", "12"), ("f", "false"), ("l", "[1,2]")] {
            try plain(key, json)
        }
        try plain("x", "{\"y\":1}")
        try plain("x", "null")
        try plain("t2", "{")
        try plain(nil, "1")
        try plain("", "1")
        try world.log.flush()
        try world.waitUntilDrained(topics: topics)
        let expected = """
            {"merged":{"p%2F1":{"k%2E1":{"type":"B","live":true,"place":{"id":"p/1"},"a":2,\
            "b":{"d":1}}},"7":{"other":{"type":"A","live":true,"place":{"id":7.0}}}},\
            "named":{"n":{"\(world.name)%2Enamed-2":{"deep":{"name":"n"},"v":[1,null,"x"]}}},\
            "plain":{"t":"text","n":12,"f":false,"l":[1,2]}}
            """
        expectNone(try world.tree.differences(from: Node.parse(utf8(expected))))
        let letters = bridge.metrics
        #expect(letters.sum("firebridge_dead_letters_total", "missing_field") == 3)
        #expect(letters.sum("firebridge_dead_letters_total", "null_value") == 1)
        #expect(letters.sum("firebridge_dead_letters_total", "malformed_json") == 1)
        #expect(letters.sum("firebridge_dead_letters_total", "invalid_path") == 1)
        #expect(try bridge.stop() == .code(0))
    }

    @Test("Chunks without indexes are numbered as they stand in the topic, whatever is killed")
    func arrival() throws {
        let world = try World(partitions: nil)
        try world.touch(["words"])
        var settings = world.settings {
            $0.delivery = ["batch_writes_max: 3"]
            $0.mappings = """
                  - topic: \(world.name).words
                    as: chunk
                    node: words/{conversation_id}/{message_sequence}
                    index: arrival
                    fields: {conversation_id: /conversation/id, content: /delta/text}
                """
        }
        settings = world.statically(settings, "only")
        let count = 240
        func append(_ range: Range<Int>) throws {
            for number in range {
                for id in ["a", "b"] {
                    let last = number == count - 1 ? ",\"is_final\":true" : ""
                    // Neighbours alike: what is equal is counted all the same.
                    try world.log.append(
                        "words", partition: 0, key: nil,
                        value: utf8(
                            """
                            {"conversation":{"id":"\(id)"},"message_sequence":1,"run_id":"r",\
                            "delta":{"text":"\(id)\(number / 2)"},\
                            "timestamp":"2026-11-01T00:00:00Z"\(last)}
                            """))
                }
            }
            try world.log.flush()
        }
        var random = SplitMix64(seed: 80)
        let kills = world.broker.isReal ? 5 : 2
        for part in 0..<kills {
            try append(part * count / kills..<(part + 1) * count / kills)
            let bridge = try world.startBridge(settings)
            try eventually("a bridge reads", details: { bridge.child.tail }) {
                bridge.child.says("\"event\":\"reading\"")
            }
            pause(.milliseconds(random.int(0..<150)))
            try bridge.child.kill()
        }
        let bridge = try world.startBridge(settings)
        try world.waitUntilDrained(topics: ["words"])
        for id in ["a", "b"] {
            let stream = try #require(try world.tree.node("words/\(id)/1"))
            #expect(stream["meta"]?["status"] == .text("complete"))
            #expect(stream["chunks"]?.children.count == count)
            for number in 0..<count {
                #expect(
                    stream["chunks"]?["\(number)"]?["content"] == .text("\(id)\(number / 2)"))
            }
        }
        #expect(try bridge.stop() == .code(0))
    }
}
