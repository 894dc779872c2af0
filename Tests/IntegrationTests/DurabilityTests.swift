import EventLoop
import Glibc
import HTTPClient
import Oracle
import TestSupport
import Testing

private let hasTracer = shell("strace -D -f true >/dev/null 2>&1") == 0

/// `firebridge tree --data`: the real process, real sockets, a real directory.
@Suite("A durable tree", .serialized, .ownThreads)
struct DurabilityTests {
    /// A directory of one test's, and the trees that live in it one after the other.
    private final class Home {
        let path = "/tmp/firebridge-\(uniqueName("durable"))"
        var data: String { "\(path)/data" }

        init() throws {
            guard unsafe mkdir(path, 0o700) == 0 else { throw SetupFailure("no \(path)") }
        }

        deinit { _ = shell("rm -rf '\(path)'") }

        func tree(_ flags: [String] = []) throws -> TreeProcess {
            try TreeProcess(in: path, guardedBy: .none, flags: ["--data", data] + flags)
        }

        /// Runs `firebridge tree` to its end.
        func command(_ flags: [String]) throws -> (exit: Subprocess.Exit, said: String) {
            let child = try Child("tree", ["tree"] + flags, in: path)
            let exit = try child.exit(within: .seconds(60))
            return (exit, child.lines.joined(separator: "\n"))
        }
    }

    /// Writers that each count upwards at a place of their own, one request on its way each; and a
    /// reader of an event stream.
    private final class Burst {
        private let http: HTTPClient
        private let tree: TreeProcess
        private var writers: [Int: Int] = [:]
        private var stream: Int?
        private var seen: [UInt8] = []
        /// By writer: what was asked for, and what was acknowledged.
        var sent, acknowledged: [Int]

        init(_ tree: TreeProcess, _ last: [Int]) {
            var options = HTTPClient.Options()
            options.allowPlainHTTP = true
            http = HTTPClient(options)
            self.tree = tree
            sent = last
            acknowledged = last
            stream = http.start(
                HTTPRequest(
                    "GET", tree.url(of: "count"), headers: [("Accept", "text/event-stream")],
                    timeout: nil, isStream: true))
        }

        /// Writes until so many are acknowledged, and then kills the tree in the middle of more.
        func run(_ count: Int) throws {
            for writer in sent.indices { write(writer) }
            let deadline = ContinuousClock.now + .seconds(60)
            var acknowledgements = 0
            var isKilled = false
            while !writers.isEmpty {
                guard ContinuousClock.now < deadline else {
                    throw TimedOut(description: "the burst does not end\n\(tree.child.tail)")
                }
                while let event = http.nextEvent() {
                    if case .data(let id, let bytes) = event, id == stream { seen += bytes }
                    guard let writer = writers.removeValue(forKey: event.id) else { continue }
                    guard case .response(_, let answer) = event, answer.status == 204 else {
                        continue
                    }
                    acknowledged[writer] = sent[writer]
                    acknowledgements += 1
                    if !isKilled { write(writer) }
                }
                if acknowledgements >= count, !isKilled {
                    isKilled = true
                    try tree.child.kill()
                }
                _ = http.wait(timeout: .milliseconds(200))
            }
            while let event = http.nextEvent() {
                if case .data(let id, let bytes) = event, id == stream { seen += bytes }
            }
        }

        private func write(_ writer: Int) {
            sent[writer] += 1
            let number = sent[writer]
            let id: Int
            if writer % 2 == 0 {
                let url = tree.url(of: "count/w\(writer)") + "&print=silent"
                id = http.start(HTTPRequest("PUT", url, body: Array("\(number)".utf8)))
            } else {
                let body = #"{"count/w\#(writer)":\#(number),"log/w\#(writer)/\#(number)":"x"}"#
                let url = tree.url(of: "") + "&print=silent"
                id = http.start(HTTPRequest("PATCH", url, body: Array(body.utf8)))
            }
            writers[id] = writer
        }

        /// By writer: the last that the event stream has told of.
        var told: [Int] {
            let text = String(decoding: seen, as: UTF8.self)
            var told = [Int](repeating: 0, count: sent.count)
            for match in text.matches(of: /"path":"\/w(\d+)","data":(\d+)\}\n/) {
                if let writer = Int(match.output.1), let number = Int(match.output.2) {
                    told[writer] = max(told[writer], number)
                }
            }
            return told
        }
    }

    @Test(
        "SIGKILL amid bursts of writes: nothing is lost that was acknowledged or shown",
        arguments: ["always", "interval", "never"])
    func kills(policy: String) throws {
        let home = try Home()
        let rounds = Environment.value("FIREBRIDGE_KILLS").flatMap { Int($0) } ?? 8
        var last = [Int](repeating: 0, count: 8)
        for round in 0..<rounds {
            let tree = try home.tree(["--fsync", policy])
            for (writer, number) in last.enumerated() where round > 0 {
                let json = try tree.json("count/w\(writer)")
                let kept = Int(String(decoding: json, as: UTF8.self)) ?? -1
                #expect(kept >= number, "writer \(writer) in round \(round)")
                last[writer] = max(kept, number)
            }
            let burst = Burst(tree, last)
            try burst.run(40 + round * 7 % 50)
            last = zip(burst.acknowledged, burst.told).map { max($0, $1) }
            for writer in last.indices { #expect(last[writer] <= burst.sent[writer]) }
        }
        let tree = try home.tree()
        defer { tree.child.process.send(.kill) }
        // A PATCH is kept whole: its two places agree.
        for writer in stride(from: 1, to: last.count, by: 2) {
            let count = String(decoding: try tree.json("count/w\(writer)"), as: UTF8.self)
            #expect(try tree.json("log/w\(writer)/\(count)") == Array(#""x""#.utf8))
            let next = (Int(count) ?? 0) + 1
            #expect(try tree.json("log/w\(writer)/\(next)") == Array("null".utf8))
        }
    }

    @Test(
        "By `always`, what is told of a write is told after the disk has it",
        .enabled(if: hasTracer))
    func syncs() throws {
        let home = try Home()
        let trace = home.path + "/trace"
        // With -D the tree is our child and the tracer its own.
        let tree = try TreeProcess(
            in: home.path, guardedBy: .none, flags: ["--data", home.data],
            under: ["strace", "-D", "-f", "-s", "5000", "-o", trace])
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        let http = HTTPClient(options)
        let stream = http.start(
            HTTPRequest(
                "GET", tree.url(of: "a"), headers: [("Accept", "text/event-stream")], timeout: nil,
                isStream: true))
        var seen: [UInt8] = []
        let watch = { (text: String) throws in
            try eventually("the stream shows \(text)", details: { tree.child.tail }) {
                while let event = http.nextEvent() {
                    if case .data(let id, let bytes) = event, id == stream { seen += bytes }
                }
                _ = http.wait(timeout: .milliseconds(20))
                return String(decoding: seen, as: UTF8.self).contains(text)
            }
        }
        try watch("null")
        for number in 0..<5 {
            try tree.put("a", #""MARK\#(number).""#)
            try watch("MARK\(number).")
        }
        try tree.child.kill()
        var text = ""
        try eventually("the trace is whole") {
            text = String(decoding: try File.read(trace, bytesMax: 1 << 26), as: UTF8.self)
            return text.contains("+++ killed by SIGKILL")
        }
        let calls = text.split(separator: "\n")
        for number in 0..<5 {
            let all = calls.indices.filter { calls[$0].contains("MARK\(number).") }
            let kept = try #require(all.first { calls[$0].contains("pwrite64(") })
            let told = all.filter { calls[$0].contains(" send") || calls[$0].contains(" write") }
            #expect(told.count >= 2, "an event and an answer")
            let synced = try #require(
                calls[kept...].firstIndex { $0.contains("sync(") && $0.hasSuffix("= 0") })
            #expect(told.allSatisfy { $0 > synced })
        }
    }

    /// Under the tracer each write to the disk takes a while: a connection that ended before that
    /// would have lost what it wrote.
    @Test(
        "By --fault a write that was cut off after it is kept, one that was cut off before it is not",
        arguments: [[], ["strace", "-D", "-f", "-e", "inject=pwrite64:delay_enter=50000"]])
    func faults(tracer: [String]) throws {
        guard tracer.isEmpty || hasTracer else { return }
        let home = try Home()
        let faults = home.path + "/faults.json"
        let rules = #"""
            {"rules": [{"path": "/before", "cut": "before"}, {"path": "/after", "cut": "after"},
                       {"path": "/inside", "cut": "inside"},
                       {"path": "/applied", "status": 503, "apply": true}]}
            """#
        try File.write(faults, Array(rules.utf8))
        let web = Web()
        for place in ["before", "after", "inside", "applied"] {
            let tree = try TreeProcess(
                in: home.path, guardedBy: .none, flags: ["--data", home.data, "--fault", faults],
                under: tracer)
            let answer = web.send("PUT", tree.url(of: place), "\"written\"")
            #expect(answer?.status == (place == "applied" ? 503 : nil))
            try tree.child.kill()
        }
        let again = try home.tree()
        defer { again.child.process.send(.kill) }
        let kept = #"{"after":"written","applied":"written","inside":"written"}"#
        #expect(try again.node() == Node.parse(Array(kept.utf8)))
    }

    @Test("Databases, rules and priorities are there again, and a directory has one tree")
    func restart() throws {
        let home = try Home()
        let web = Web()
        let tree = try home.tree()
        try tree.put("a", #"{"x":{".value":1,".priority":"p"},"y":[1,null,2.5]}"#)
        let other = "\(tree.base)/b.json?ns=other"
        #expect(web.send("PUT", other, "true")?.status == 200)
        let rules = "\(tree.base)/.settings/rules.json?ns=other&auth=owner"
        let text = #"{"rules":{".read":true}} // mine"#
        #expect(web.send("PUT", rules, text)?.status == 200)
        let second = try home.command(["--listen", "127.0.0.1:0", "--data", home.data])
        #expect(second.exit == .code(78) && second.said.contains("another process"))
        tree.child.process.send(.terminate)
        #expect(try tree.child.exit(within: .seconds(20)) == .code(0))

        let again = try home.tree()
        defer { again.child.process.send(.kill) }
        let exported = web.get(again.url(of: "a") + "&format=export")
        let expected = #"{"x":{".value":1,".priority":"p"},"y":{"0":1,"2":2.5}}"#
        #expect(exported?.body == Array(expected.utf8))
        let base = again.base
        #expect(web.get("\(base)/b.json?ns=other")?.body == Array("true".utf8))
        #expect(web.send("PUT", "\(base)/b.json?ns=other", "1")?.status == 401)
        #expect(
            web.get("\(base)/.settings/rules.json?ns=other&auth=owner")?.body == Array(text.utf8))
    }

    @Test("Snapshots are taken while it serves, and what they superseded is removed")
    func compaction() throws {
        let home = try Home()
        let tree = try home.tree()
        let web = Web()
        // 40 MB of entries for a tree of one: several snapshots.
        for round in 0..<40 {
            let text = String(repeating: "\(round % 10)", count: 1_000_000)
            #expect(web.send("PUT", tree.url(of: "big") + "&print=silent", "\"\(text)\"") != nil)
            try tree.put("small/r\(round)", "\(round)")
        }
        try eventually("the file is small again", details: { tree.child.tail }) {
            let entries = home.path + "/entries"
            _ = shell(
                "cp '\(home.data)'/* '\(home.path)' && sqlite3 '\(home.path)/tree.db' "
                    + "'SELECT sum(length(body)) FROM entries' > '\(entries)'")
            let text = String(decoding: try File.read(entries, bytesMax: 100), as: UTF8.self)
            return (Int(text.split(separator: "\n").first ?? "") ?? 0) < 20_000_000
        }
        try tree.child.kill()
        let again = try home.tree()
        defer { again.child.process.send(.kill) }
        #expect(try again.json("big").count == 1_000_002)
        #expect(try again.node("small")?.children.count == 40)
    }

    @Test("SIGKILL while a snapshot is written: all is there, whichever of both counts")
    func killsAmidSnapshots() throws {
        let home = try Home()
        let web = Web()
        var kept: [String: Int] = [:]
        for round in 0..<8 {
            let tree = try home.tree()
            for (key, number) in kept {
                let text = try tree.json("big/\(key)")
                #expect(text.count == 500_002 + number, "\(key) in round \(round)")
            }
            // The journal is long enough for a snapshot after the first seventeen.
            for write in 0..<14 + round {
                let (key, number) = ("k\(write % 11)", 100 * round + write)
                let text = String(repeating: "x", count: 500_000 + number)
                let url = tree.url(of: "big/\(key)") + "&print=silent"
                #expect(web.send("PUT", url, "\"\(text)\"")?.status == 204)
                kept[key] = number
            }
            try tree.child.kill()
        }
    }

    @Test("Export and import carry a database from one directory to another")
    func transfer() throws {
        let home = try Home()
        let tree = try home.tree()
        let value = #"{"l":["a",null,"c"],"n":{".priority":2.5,"x":"é\n"},"z":9007199254740993}"#
        try tree.put("v", value)
        let shown = try tree.json("v")
        try tree.child.kill()
        let (file, other) = (home.path + "/tree.json", home.path + "/other")
        #expect(try home.command(["--data", home.data, "--export", file]).exit == .code(0))
        let text = String(decoding: try File.read(file, bytesMax: 1 << 20), as: UTF8.self)
        let exported =
            #"{"v":{"l":{"0":"a","2":"c"},"n":{".priority":2.5,"x":"é\n"},"z":9007199254740993}}"#
        #expect(text == exported + "\n")
        for ns in [[], ["--ns", "copy"]] {
            let imported = try home.command(["--data", other, "--import", file] + ns)
            #expect(imported.exit == .code(0), "\(imported.said)")
        }
        let ambiguous = try home.command(["--data", other, "--export", file])
        #expect(ambiguous.exit == .code(64) && ambiguous.said.contains("copy, demo"))
        try File.write(file, Array(#"{"a":{"b.c":1}}"#.utf8))
        let bad = try home.command(["--data", other, "--import", file])
        #expect(bad.exit == .code(78) && bad.said.contains("byte 7"))
        let without = try home.command(["--export", file])
        #expect(without.exit == .code(64) && without.said.contains("--data"))
        let odd = try home.command(["--data", other, "--fsync", "maybe"])
        #expect(odd.exit == .code(64) && odd.said.contains("always, interval, never"))

        let again = try TreeProcess(
            in: home.path, namespace: "copy", guardedBy: .none, flags: ["--data", other])
        defer { again.child.process.send(.kill) }
        #expect(try again.json("v") == shown)
    }

    @Test("A mistyped export leaves the last one alone: no directory, or no such database")
    func mistypedExport() throws {
        let home = try Home()
        let tree = try home.tree()
        try tree.put("v", "7")
        tree.child.process.send(.terminate)
        #expect(try tree.child.exit(within: .seconds(20)) == .code(0))
        let file = home.path + "/tree.json"
        func export(_ data: String, _ more: String...) throws -> (
            exit: Subprocess.Exit, said: String
        ) {
            try home.command(["--data", data, "--export", file] + more)
        }
        #expect(try export(home.data).exit == .code(0))
        let kept = try File.read(file, bytesMax: 1 << 20)
        #expect(kept == Array("{\"v\":7}\n".utf8))

        let elsewhere = home.path + "/dada"
        let missing = try export(elsewhere)
        #expect(missing.exit == .code(78) && missing.said.contains("dada/tree.db is missing"))
        #expect(File.stamp(elsewhere) == nil, "it was made")
        // One that holds something else is not made a tree either.
        #expect(try export(home.path).exit == .code(78))
        #expect(File.stamp(home.path + "/tree.db") == nil)
        let unknown = try export(home.data, "--ns", "dmeo")
        #expect(unknown.exit == .code(64), "\(unknown.said)")
        #expect(unknown.said.hasSuffix("--ns: expected one of demo, found 'dmeo'"))
        #expect(try File.read(file, bytesMax: 1 << 20) == kept)
        #expect(try export(home.data, "--ns", "demo").exit == .code(0))

        // A database that is empty is exported as what it is, as long as nobody names another.
        let empty = try TreeProcess(
            in: home.path, guardedBy: .none, flags: ["--data", elsewhere])
        try empty.child.kill()
        #expect(try export(elsewhere).exit == .code(0))
        #expect(try File.read(file, bytesMax: 1 << 20) == Array("null\n".utf8))
    }
}
