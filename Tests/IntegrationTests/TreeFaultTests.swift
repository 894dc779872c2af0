import EventLoop
import HTTPClient
import TestSupport
import Testing

@Suite("A tree with faults")
struct TreeFaultTests {
    private let directory = "/tmp/firebridge-\(uniqueName("faults"))"
    private let web = Web()

    private var file: String { "\(directory)/faults.json" }

    private func write(_ rules: String) throws {
        try File.write(file, Array("{\"rules\": [\(rules)]}".utf8))
    }

    /// A tree that begins with these rules; `body` gets it and changes them.
    private func withTree(_ rules: String, _ body: (TreeProcess) throws -> Void) throws {
        #expect(shell("mkdir '\(directory)'") == 0)
        defer { _ = shell("rm -rf '\(directory)'") }
        try write(rules)
        let tree = try TreeProcess(in: directory, flags: ["--fault", file])
        defer { tree.child.process.send(.kill) }
        try body(tree)
    }

    /// Changes the rules, and waits until they hold.
    private func change(_ tree: TreeProcess, to rules: String) throws {
        let mark = uniqueName("rules")
        try write(rules + #",{"name": "\#(mark)", "path": "/none"}"#)
        try eventually("new rules hold", details: { tree.child.tail }) {
            figures(tree).contains(mark)
        }
    }

    private func figures(_ tree: TreeProcess) -> String {
        let answer = web.get("\(tree.base)/.faults.json")
        return String(decoding: answer?.body ?? [], as: UTF8.self)
    }

    private func text(_ body: [UInt8]?) -> String { String(decoding: body ?? [], as: UTF8.self) }

    @Test("It answers what the rules say, counts, and is whole again without them")
    func answers() throws {
        let rules = #"{"name": "busy", "status": 503, "headers": {"Retry-After": "7"}, "times": 2}"#
        try withTree(rules) { tree in
            for _ in 0..<2 {
                let refused = web.send("PUT", tree.url(of: "a"), "1")
                #expect(refused?.status == 503 && refused?.headers["Retry-After"] == "7")
                let words = text(refused?.body)
                #expect(words.hasPrefix("{\"error\" : "))
            }
            #expect(web.send("PUT", tree.url(of: "a"), "1")?.status == 200)
            #expect(figures(tree).contains(#"{"name":"busy","hits":2}"#))
            try change(tree, to: #"{"status": 401, "apply": true, "method": "PUT"}"#)
            #expect(web.send("PUT", tree.url(of: "a"), "2")?.status == 401)
            #expect(text(web.get(tree.url(of: "a"))?.body) == "2")
        }
    }

    @Test("A connection ends before the write, after it, or within the answer")
    func cuts() throws {
        try withTree(#"{"cut": "before", "method": "PUT"}"#) { tree in
            #expect(web.send("PUT", tree.url(of: "a"), "1") == nil)
            try change(tree, to: #"{"cut": "after", "method": "PUT"}"#)
            #expect(text(web.get(tree.url(of: "a"))?.body) == "null")
            #expect(web.send("PUT", tree.url(of: "a"), "\"written\"") == nil)
            #expect(text(web.get(tree.url(of: "a"))?.body) == "\"written\"")
            try change(tree, to: #"{"cut": "inside", "method": "GET", "path": "/a"}"#)
            #expect(web.get(tree.url(of: "a")) == nil)
            #expect(web.get(tree.url(of: "b"))?.status == 200)
        }
    }

    @Test("A write that waits lands although its client has gone; one that is held has landed")
    func late() throws {
        try withTree(#"{"delay_ms": 600, "method": "PUT"}"#) { tree in
            #expect(web.send("PUT", tree.url(of: "a"), "1", within: .milliseconds(200)) == nil)
            #expect(text(web.get(tree.url(of: "a"))?.body) == "null")
            try eventually("the write lands") { text(web.get(tree.url(of: "a"))?.body) == "1" }
            try change(tree, to: #"{"hold_ms": 60000, "method": "PUT"}"#)
            #expect(web.send("PUT", tree.url(of: "b"), "1", within: .milliseconds(300)) == nil)
            #expect(text(web.get(tree.url(of: "b"))?.body) == "1")
            // What waits does not keep it from ending.
            tree.child.process.send(.terminate)
            #expect(try tree.child.exit(within: .seconds(10)) == .code(0))
        }
    }

    @Test("A slow answer comes whole in the end")
    func slow() throws {
        let rules = #"{"bytes_per_second": 40, "method": "GET", "path": "/a"}"#
        try withTree(rules) { tree in
            let value = "\"\(String(repeating: "x", count: 30))\""
            #expect(web.send("PUT", tree.url(of: "a"), value)?.status == 200)
            #expect(web.get(tree.url(of: "a"), within: .milliseconds(300)) == nil)
            #expect(text(web.get(tree.url(of: "a"))?.body) == value)
        }
    }

    @Test("A file that is wrong ends it with 78 at the start, and later changes nothing")
    func wrong() throws {
        try withTree(#"{"status": 503}"#) { tree in
            try write(#"{"status": 5}"#)
            try eventually("the refusal is told", details: { tree.child.tail }) {
                tree.child.says("rules[0].status: expected a whole number")
            }
            #expect(web.get(tree.url(of: "a"))?.status == 503)
            let other = try Child(
                "tree", ["tree", "--listen", "127.0.0.1:0", "--fault", file], in: directory)
            #expect(try other.exit(within: .seconds(10)) == .code(78))
            try write(#"{"status": 500, "name": "hup"}"#)
            tree.child.process.send(.hangUp)
            try eventually("SIGHUP reads it") { figures(tree).contains("hup") }
        }
    }
}
