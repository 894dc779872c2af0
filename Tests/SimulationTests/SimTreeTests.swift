import Oracle
import Testing

@testable import Simulation

@Suite("The simulated database")
struct SimTreeTests {
    private func patched(_ bodies: String...) throws -> SimTree {
        var tree = SimTree()
        for body in bodies { tree.apply(try tree.writes(of: Array(body.utf8), time: 1_000)) }
        return tree
    }

    private func get(_ tree: SimTree, _ path: String, shallow: Bool = false) -> String {
        String(decoding: tree.get(Array(path.utf8), shallow: shallow), as: UTF8.self)
    }

    @Test("A PATCH replaces below its paths, removes by null, and leaves nothing empty")
    func patch() throws {
        let tree = try patched(
            #"{"a/b":{"x":1,"y":{"z":true}},"a/c":"old"}"#, #"{"a/b/y/z":null,"a/c":"new"}"#)
        #expect(get(tree, "") == #"{"a":{"b":{"x":1},"c":"new"}}"#)
        #expect(get(tree, "a/b/y") == "null")
        #expect(get(tree, "a", shallow: true) == #"{"b":true,"c":"new"}"#)
    }

    @Test("The server's time is filled in")
    func serverTime() throws {
        #expect(get(try patched(#"{"a":{"at":{".sv":"timestamp"}}}"#), "a/at") == "1000")
    }

    @Test("More than half of the keys small integers: an array")
    func arrays() throws {
        #expect(get(try patched(#"{"a/0":"x","a/2":"y"}"#), "a") == #"["x",null,"y"]"#)
        #expect(get(try patched(#"{"a/1":"x","a/2":"y"}"#), "a") == #"[null,"x","y"]"#)
        #expect(get(try patched(#"{"a/7":"x"}"#), "a") == #"{"7":"x"}"#)
        #expect(get(try patched(#"{"a/00":"x"}"#), "a") == #"{"00":"x"}"#)
        #expect(get(try patched(#"{"a/0":"x"}"#), "a", shallow: true) == #"{"0":"x"}"#)
    }

    @Test(
        "What no bridge may send is a breach",
        arguments: [
            "[]", "{", #"{"a":1,"a/b":2}"#, #"{"a//b":1}"#, #"{"a.b":1}"#, #"{"a":{"b$":1}}"#,
            #"{"a":1,"a":2}"#, #"{"a/":1}"#,
        ])
    func breaches(_ body: String) {
        #expect(throws: ProtocolBreach.self) {
            _ = try SimTree().writes(of: Array(body.utf8), time: 0)
        }
    }

    @Test("A fence only rises, by epoch and then by serial, and keeps its owner in an epoch")
    func fence() throws {
        let path = "_firebridge/fences/g/s/0"
        func fence(_ epoch: Int, _ owner: String, _ serial: Int) -> String {
            #"{"\#(path)":{"epoch":\#(epoch),"owner":"\#(owner)","serial":\#(serial)}}"#
        }
        let tree = try patched(fence(4, "a", 7))
        func isFenced(_ body: String) throws -> Bool {
            tree.isFenced(try tree.writes(of: Array(body.utf8), time: 0))
        }
        #expect(try !isFenced(fence(5, "b", 0)))
        #expect(try !isFenced(fence(4, "a", 8)))
        #expect(try !isFenced(fence(4, "a", 7)))
        #expect(try !isFenced(#"{"x":1}"#))
        #expect(try !isFenced(#"{"\#(path)/at":5}"#))
        #expect(try isFenced(fence(4, "a", 6)))
        #expect(try isFenced(fence(4, "b", 8)))
        #expect(try isFenced(fence(3, "a", 9)))
        #expect(try isFenced(#"{"\#(path)":null}"#))
    }
}
