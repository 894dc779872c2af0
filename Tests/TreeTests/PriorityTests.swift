import JSON
import Testing
import Tree

@Suite("Priorities") struct PriorityTests {
    private func value(_ json: String) throws -> Value {
        var decoder = ValueDecoder()
        return try decoder.decode(JSONParser().parse(Array(json.utf8)))
    }

    private func shown(_ value: Value, _ style: JSONStyle) -> String {
        String(decoding: value.json(style), as: UTF8.self)
    }

    @Test(
        "The export form is read and written alike, and a plain reader sees no priorities",
        arguments: [
            (#"{".value":5,".priority":1}"#, "5"),
            (#"{".value":"x",".priority":"p"}"#, #""x""#),
            (#"{".priority":1.5,"a":1}"#, #"{"a":1}"#),
            (#"{"0":{".value":1,".priority":2},"1":2}"#, "[1,2]"),
            (#"{".priority":2,"a":{".priority":"q","b":true}}"#, #"{"a":{"b":true}}"#),
        ])
    func exportForm(json: String, plain: String) throws {
        let value = try value(json)
        #expect(shown(value, .export) == json)
        #expect(shown(value, .compact) == plain)
        var pretty = JSONStyle.export
        pretty.pretty = true
        #expect(try self.value(shown(value, pretty)) == value)
    }

    @Test(
        "A priority is a number, a string or null; .value has no siblings",
        arguments: [
            #"{".value":1,".priority":true}"#, #"{".value":1,".priority":[1]}"#,
            #"{".value":1,".priority":{"a":1}}"#, #"{"a":1,".priority":false}"#,
            #"{".value":1,".priority":{".sv":"timestamp"}}"#, #"{".value":1,"a":2}"#,
            #"{".value":{"a":1},".priority":2}"#,
        ])
    func refused(json: String) {
        #expect(throws: ValueError.self) { try value(json) }
    }

    @Test("A server value may be a priority")
    func serverValue() throws {
        var decoder = ValueDecoder()
        let tape = try JSONParser().parse(
            Array(#"{".value":1,".priority":{".sv":"timestamp"}}"#.utf8))
        let value = try decoder.decode(
            tape, server: ValueDecoder.ServerValues(now: 7) { _ in .null })
        #expect(value == Value.int(1).with(priority: 7))
    }

    @Test("A value written below a leaf keeps the priority; a value written over it does not")
    func writes() throws {
        var root: Value = ["a": Value.int(1).with(priority: 3)]
        root.set(2, at: "a/b")
        #expect(root == ["a": Value.node([(Array("b".utf8), .int(2))]).with(priority: 3)])
        root.set(5, at: "a")
        #expect(root == ["a": 5])
        root.set("p", at: Path(segments: [Array("a".utf8), Array(".priority".utf8)]))
        #expect(root["a/.priority" as Path] == "p")
        #expect(root["a" as Path].plain == 5)
        root.set(nil, at: "a/.priority")
        #expect(root == ["a": 5])
        root.set(9, at: "x/y/.priority")
        #expect(root == ["a": 5], "what is absent has no priority")
        root.set("p", at: ".priority")
        root.set(nil, at: "a")
        #expect(root == nil, "what has no children is absent with its priority")
    }

    @Test("In one update a priority finds what the update writes beside it")
    func update() throws {
        var tree = Tree()
        tree.apply(
            try Update([
                .init(path: "a/.priority", value: 1), .init(path: "a/!b", value: 2),
                .init(path: "a/c", value: 3),
            ]))
        #expect(tree.root.description == #"{"a":{".priority":1,"!b":2,"c":3}}"#)
        #expect(throws: Update.Conflict.self) {
            try Update([
                .init(path: "a/.priority", value: 1), .init(path: "a", value: 2),
            ])
        }
    }

    @Test("Children are ordered by priority, then by key: none, numbers, strings")
    func order() throws {
        let value = try value(
            #"{"a":{".value":1,".priority":"b"},"b":{".value":1,".priority":"a"},"c":{".value":1,".priority":10},"d":{".value":1,".priority":9},"10":1,"9":1,"e":{".value":1,".priority":9}}"#
        )
        let keys = value.children.inPriorityOrder.map {
            String(decoding: $0.key.bytes, as: UTF8.self)
        }
        #expect(keys == ["9", "10", "d", "e", "c", "b", "a"])
    }

    @Test(
        "Priorities count in the hash",
        arguments: [
            (#"{".priority":200,".value":"primitive"}"#, "R9u8hs9fhRzuQ2M/3BQ0uhxz5ys="),
            (#"{".priority":"high",".value":42}"#, "d/2FMFWchvDsa06RLXZhzvM9aQc="),
            (#"{".priority":128.256,"someKey":"value"}"#, "WYR8kBGna+a7E5x75zvhPhzACOQ="),
            (#"{".priority":"high","someKey":"value"}"#, "/KquMIGoCuKO/ipoLoQzqnU0BcI="),
            ("null", ""),
        ])
    func hashes(json: String, hash: String) throws {
        #expect(String(decoding: try value(json).nodeHash, as: UTF8.self) == hash)
    }

    @Test("A leaf without priority is no bigger than before")
    func size() {
        #expect(MemoryLayout<Value>.size <= 9)
        #expect(MemoryLayout<Value>.stride <= 16)
    }
}
