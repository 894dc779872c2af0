import BridgeCore
import Fuzzing
import Oracle
import Testing

@Suite("A conversation that is erased") struct ErasureTests {
    private func keys(_ path: String) -> [[UInt8]] {
        path.split(separator: "/").map { Array($0.utf8) }
    }

    private static func plan() throws -> MirrorPlan {
        try MirrorPlan(
            mappings: MirrorPlan.standard.mappings + [
                Mapping(
                    topic: "info",
                    form: .value(
                        .init(
                            node: try Template("about/{key}/info"),
                            guardedBy: [JSONPointer("/v")!]))),
                Mapping(
                    topic: "notes",
                    form: .value(
                        .init(
                            node: try Template("notes/{/user}/{key}"),
                            guardedBy: [JSONPointer("/v")!]))),
                Mapping(topic: "users", form: .value(.init(node: try Template("users/{/user}")))),
            ])
    }

    /// A stopped bridge that has mirrored two conversations, in two partitions.
    private func mirrored() throws -> TreeShell {
        let shell = TreeShell(plan: try Self.plan(), settings: Settings(), seed: 1)
        for topic in try Self.plan().topics {
            for number in 0..<2 {
                shell.put(
                    Record(offset: 0, timestamp: 1, key: nil, value: nil),
                    to: TopicPartition(topic, Int32(number)))
            }
        }
        append(to: shell, at: HardStreams.beginning)
        shell.start()
        shell.settle()
        shell.stop()
        return shell
    }

    private func append(to shell: TreeShell, at time: Int64, more: String = "") {
        for (number, id) in ["a.b", "other"].enumerated() {
            func append(_ topic: String, _ value: String) {
                shell.append(
                    Record(
                        offset: 0, timestamp: time, key: Array(id.utf8), value: Array(value.utf8)),
                    to: TopicPartition(topic, Int32(number)))
            }
            for sequence in 1...3 {
                append(
                    LogRecord.chunks,
                    #"{"message_sequence":\#(sequence),"run_id":"r\#(more)","content":"x"}"#)
            }
            append(
                LogRecord.runs,
                #"{"message_sequence":1,"run_id":"r\#(more)","status":"completed","event_context":{"event_name":"E"},"state":"CONVERSATION_ACTIVITY_STATE_IDLE","seq":1}"#
            )
            append(LogRecord.messages, #"{"message":{"a":1},"event_context":{"event_name":"M.x"}}"#)
            append("info", #"{"v":5}"#)
            append("notes", #"{"v":5,"user":"u1"}"#)
            append("users", #"{"user":"\#(id)"}"#)
        }
    }

    private func erasure(_ id: String = "a.b", settings: Settings = Settings()) throws -> Erasure {
        Erasure(
            of: Array(id.utf8), plan: try Self.plan(), settings: settings, owner: "eraser")
    }

    private func failure(_ body: () throws -> Void) -> Erasure.Failure? {
        do { try body() } catch { return error as? Erasure.Failure }
        return nil
    }

    /// What names the conversation still.
    private func mentions(_ node: Node?, of key: [UInt8], at path: [String] = []) -> [String] {
        guard let node else { return [] }
        if let text = node.text, text.starts(with: key + [UInt8(ascii: "/")]) {
            return [path.joined(separator: "/")]
        }
        return node.children.flatMap { name, child in
            let here = path + [String(decoding: name, as: UTF8.self)]
            let isOwn = name == key || name.contains(subsequence: Key.escape(key))
            return isOwn ? [here.joined(separator: "/")] : mentions(child, of: key, at: here)
        }
    }

    @Test("Nodes, ledger, agenda and guards go in every set, and marks stay; others are untouched")
    func goes() throws {
        let shell = try mirrored()
        var expected = shell.root
        var erasing = try erasure()
        let found = try erasing.find(shell.ask)
        #expect(found.nodes.count == 8)
        #expect(found.entries == 3 && found.guards.count == 2)
        #expect(found.unnamed == ["users: node: users/{/user}"])
        let (_, mark) = try erasing.run(wall: shell.now.wall, shell.ask)
        #expect(mark == shell.now.wall)
        let sets = try Self.plan().sets.map { String(decoding: $0.key, as: UTF8.self) }
        #expect(
            Set(mentions(shell.root, of: Array("a%2Eb".utf8)))
                == Set(sets.map { "_firebridge/streams/\($0)/a%2Eb" } + ["users/a%2Eb"]))
        for set in sets {
            #expect(
                shell.root.at(keys("_firebridge/streams/\(set)/a%2Eb"))
                    == Node.object(of: [("erased", .number(Array("\(mark)".utf8)))]))
        }
        for id in ["streaming/other", "conversations/other", "events/e/other", "about/other"] {
            #expect(shell.root.at(keys(id)) == expected.at(keys(id)), "\(id)")
        }
        #expect(shell.breaches == [])
        // The same again changes nothing but the mark's time.
        expected = shell.root
        erasing = try erasure()
        let again = try erasing.run(wall: shell.now.wall, shell.ask)
        #expect(again.findings.isEmpty && again.findings.erased == mark)
        #expect(shell.root["streaming"] == expected["streaming"])
    }

    @Test("Nothing of it comes back from the log, by no form; what is later does")
    func staysAway() throws {
        let shell = try mirrored()
        var erasing = try erasure()
        let (_, mark) = try erasing.run(wall: shell.now.wall, shell.ask)
        shell.forgetPositions()
        shell.start()
        shell.settle()
        let sets = try Self.plan().sets.count
        #expect(mentions(shell.root, of: Array("a%2Eb".utf8)).count == sets + 1)
        #expect(shell.bridge.counters.erased == 8)
        append(to: shell, at: mark + 1, more: "2")
        shell.settle()
        for path in [
            "streaming/a%2Eb/3/chunks/0", "conversations/a%2Eb/status", "events/e/a%2Eb/runs",
            "events/m_x/a%2Eb/messages", "about/a%2Eb/info", "notes/u1/a%2Eb",
        ] { #expect(shell.root.at(keys(path)) != nil, "\(path)") }
        #expect(shell.breaches == [])
    }

    @Test(
        "In a set without streams one read tells all marks, as long as they are a thousand at most",
        arguments: [1, 1000, 1001])
    func marksAtOnce(count: Int) throws {
        let shell = try mirrored()
        var erasing = try erasure()
        _ = try erasing.run(wall: shell.now.wall, shell.ask)
        let sets = try Self.plan().sets.filter { $0.stream == nil }.map(\.key)
        for set in sets {
            for number in 1..<count {
                let mark = ["_firebridge", "streams"].map { Array($0.utf8) }
                shell.root.set(
                    mark + [set, Array("z\(number)".utf8), Array("erased".utf8)], .number([0x31]))
            }
        }
        var lists: [String] = []
        var gets: [String] = []
        shell.trace = { line in
            for set in sets.map({ "_firebridge/streams/" + String(decoding: $0, as: UTF8.self) }) {
                if line.contains("LIST \(set)") { lists.append(set) }
                if line.contains("GET \(set)/") { gets.append(set) }
            }
        }
        shell.forgetPositions()
        shell.start()
        shell.settle()
        // Each set has two numbers, and each number one of the conversations.
        #expect(lists.count == sets.count * 2)
        #expect(gets.count == (count > 1000 ? sets.count * 2 : 0))
        #expect(
            mentions(shell.root, of: Array("a%2Eb".utf8)).count == (try Self.plan().sets.count) + 1)
        #expect(shell.bridge.counters.erased == 8)
        #expect(shell.breaches == [])
    }

    /// Messages of three conversations, read ahead together, over a ledger of such marks.
    private func messages(of ids: [String], over answers: (Int64) -> [String: String]) -> Harness {
        let world = Harness()
        for (path, answer) in answers(world.now.wall) { world.answers[Self.ledger + path] = answer }
        world.assign([LogRecord.messages])
        let value = #"{"message":{"a":1},"event_context":{"event_name":"M.x"}}"#
        let records = ids.enumerated().map { index, id in
            Record(
                offset: Int64(index), timestamp: world.now.wall, key: Array(id.utf8),
                value: Array(value.utf8))
        }
        world.bridge.consume(records, from: TopicPartition(LogRecord.messages, 0), at: world.now)
        world.run()
        #expect(world.bridge.counters.erased == 1)
        for id in ids {
            let isErased = id == ids[1]
            #expect((world.written["events/m_x/\(id)/messages"] == nil) == isErased, "\(id)")
        }
        return world
    }

    private static let ledger = "_firebridge/streams/llm%2Efinalized-messages"

    @Test("Marks of more than one read are asked for side by side, of what was read ahead as well")
    func manyMarks() throws {
        let marks = (0...1000).map { #""z\#($0)":{"erased":1}"# }.joined(separator: ",")
        let world = messages(of: ["c0", "c1", "c2"]) { now in
            ["?..": "{\(marks)}", "/c1": #"{"erased":\#(now)}"#]
        }
        let reads = world.reads.filter { $0.hasPrefix(Self.ledger) }
        #expect(reads == ["?..", "/c0", "/c1", "/c2"].map { Self.ledger + $0 })
    }

    @Test("A listing may tell of a mark only that there is one")
    func markInAListing() throws {
        let world = Harness()
        let ledger = "_firebridge/streams/\(ChoreTests.set)/c"
        world.answers[ledger] = #"{"erased":true,"7":true}"#
        world.answers["\(ledger)/erased"] = "\(world.now.wall)"
        world.assign([LogRecord.chunks])
        world.consume(LogRecord.chunks, chunkValue())
        #expect(world.allData.isEmpty && world.bridge.counters.erased == 1)
        world.wait(milliseconds: 1)
        world.consume(LogRecord.chunks, chunkValue())
        #expect(world.written["streaming/c/8/meta"] != nil)
    }

    @Test("A database may give marks of ids that are integers as an array")
    func arrayOfMarks() throws {
        let world = messages(of: ["0", "1", "2"]) { ["?..": #"[null,{"erased":\#($0)}]"#] }
        #expect(world.reads.filter { $0.hasPrefix(Self.ledger) } == [Self.ledger + "?.."])
    }

    @Test("A conversation that was never seen gets its mark all the same")
    func unseen() throws {
        let shell = try mirrored()
        var erasing = try erasure("nobody")
        let (findings, _) = try erasing.run(wall: shell.now.wall, shell.ask)
        #expect(findings.isEmpty && findings.erased == nil)
        let sets = try Self.plan().sets.count
        #expect(mentions(shell.root, of: Array("nobody".utf8)).count == sets)
    }

    @Test("While a bridge is live nothing is written")
    func live() throws {
        let shell = try mirrored()
        shell.start()
        for _ in 0..<100 { shell.step() }
        let before = shell.root
        var erasing = try erasure()
        let found = failure { _ = try erasing.run(wall: shell.now.wall, shell.ask) }
        guard case .live(let fence)? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(fence.group == "firebridge")
        #expect(shell.root == before)
    }

    @Test(
        "A fence is live for a minute, also by a clock that is a little behind, and not by a wrong one"
    )
    func liveFences() {
        let now: Int64 = 1_777_000_000_000
        for (age, isLive) in [
            (0, true), (59_999, true), (60_000, false), (-59_999, true), (-86_400_000, false),
            (Int64.max, false), (Int64.min + 1, false),
        ] as [(Int64, Bool)] {
            let at = now.subtractingReportingOverflow(age).partialValue
            let fences = #"{"g":{"s":[{"epoch":1,"owner":"o","serial":1,"at":\#(at)}]}}"#
            #expect((LiveFence(inJSON: Array(fences.utf8), date: now) != nil) == isLive, "\(age)")
        }
    }

    @Test("Every fence is raised, so that a process that only seems dead is refused")
    func raises() throws {
        let shell = try mirrored()
        func epochs() -> [String: String] {
            var found: [String: String] = [:]
            for (set, numbers) in shell.root.at(keys("_firebridge/fences/firebridge"))?.children
                ?? []
            {
                for (number, fence) in numbers.children {
                    found[String(decoding: set + [47] + number, as: UTF8.self)] =
                        fence["epoch"].map { String(decoding: $0.json, as: UTF8.self) }
                    #expect(fence["at"] == nil)
                }
            }
            return found
        }
        let before = epochs()
        var erasing = try erasure()
        _ = try erasing.run(wall: shell.now.wall, shell.ask)
        #expect(before.count == 10 && epochs().keys == before.keys)
        for (fence, epoch) in epochs() {
            #expect(Int(epoch)! == Int(before[fence]!)! + 1)
        }
    }

    @Test("Of nodes one above the other, which two plans have left, the upper one goes")
    func nested() throws {
        let shell = try mirrored()
        let plan = try MirrorPlan(mappings: [
            Mapping(topic: "new", form: .value(.init(node: try Template("streaming/{key}"))))
        ])
        var erasing = Erasure(
            of: Array("a.b".utf8), plan: plan, settings: Settings(), owner: "eraser")
        let found = try erasing.find(shell.ask)
        #expect(found.nodes == [Array("streaming/a%2Eb".utf8)])
        _ = try erasing.run(wall: shell.now.wall, shell.ask)
        #expect(shell.root.at(keys("streaming/a%2Eb")) == nil)
    }

    @Test("After a failure no fence looks live: the same again need not wait")
    func failed() throws {
        let shell = try mirrored()
        var erasing = try erasure()
        var patches = 0
        let found = failure {
            _ = try erasing.run(wall: shell.now.wall) { methods in
                if case .patch? = methods.first {
                    patches += 1
                    if patches == 2 { return [.refused(status: 400, "HTTP 400: no")] }
                }
                return shell.ask(methods)
            }
        }
        #expect(found == .database("HTTP 400: no"))
        erasing = try erasure()
        _ = try erasing.run(wall: shell.now.wall, shell.ask)
        #expect(shell.root.at(keys("streaming/a%2Eb")) == nil)
    }

    @Test("A bridge that claims meanwhile ends it")
    func overtaken() throws {
        let shell = try mirrored()
        var patches = 0
        let fence = keys("_firebridge/fences/firebridge/info/0")
        var erasing = try erasure()
        let found = failure {
            _ = try erasing.run(wall: shell.now.wall) { methods in
                if case .patch? = methods.first {
                    patches += 1
                    if patches == 2 {
                        shell.root.set(fence + keys("owner"), .text("bridge"))
                        shell.root.set(fence + keys("epoch"), .number([UInt8(ascii: "9")]))
                    }
                    if patches >= 2 { return [.refused(status: 401, "Permission denied")] }
                }
                return shell.ask(methods)
            }
        }
        #expect(found == .overtaken)
    }

    @Test(
        "A bridge that claims while it looks ends it before anything goes, also without rules",
        arguments: ["info/0", "info/7"])
    func claimed(fence: String) throws {
        let shell = try mirrored()
        var before = shell.root
        var erasing = try erasure()
        var hasClaimed = false
        let found = failure {
            _ = try erasing.run(wall: shell.now.wall) { methods in
                // It looks only after the fences were raised and read once more.
                if case .get(_, shallow: true)? = methods.first, !hasClaimed {
                    hasClaimed = true
                    let path = keys("_firebridge/fences/firebridge/\(fence)")
                    shell.root.set(path + keys("owner"), .text("bridge"))
                    shell.root.set(path + keys("epoch"), .number([UInt8(ascii: "9")]))
                }
                return shell.ask(methods)
            }
        }
        #expect(hasClaimed && found == .overtaken)
        before.set(keys("_firebridge/fences"), shell.root.at(keys("_firebridge/fences")))
        #expect(shell.root == before)
    }

    @Test(
        "A node that is too big for one request goes child by child, an interruption is made good")
    func big() throws {
        let shell = try mirrored()
        let stream = keys("streaming/a%2Eb/1/chunks")
        for index in 0..<200 { shell.root.set(stream + [Array("\(index)".utf8)], .text("x")) }
        // A database that lets at most 20 leaves go at a time.
        func leaves(_ node: Node?) -> Int {
            guard case .object? = node else { return node == nil ? 0 : 1 }
            return node!.children.reduce(0) { $0 + leaves($1.node) }
        }
        var left = 5
        func ask(_ methods: [Request.Method]) -> [Outcome] {
            guard case .patch(let body)? = methods.first else { return shell.ask(methods) }
            left -= 1
            if left == 0 { return [.unavailable("gone", retryAfter: nil)] }
            let writes = (try? Node.parse(body))??.children ?? []
            let text = String(decoding: body, as: UTF8.self)
            let gone = shell.root.at(stream).map { leaves($0) } ?? 0
            _ = writes
            if text.contains(#""streaming/a%2Eb/1":null"#), gone > 20 { return [.tooBig("big")] }
            if text.contains(#""streaming/a%2Eb/1/chunks":null"#), gone > 20 {
                return [.tooBig("big")]
            }
            let count = text.split(separator: "chunks/").count - 1
            return count > 20 ? [.tooBig("big")] : shell.ask(methods)
        }
        var erasing = try erasure()
        #expect(failure { _ = try erasing.run(wall: shell.now.wall, ask) } == .database("gone"))
        #expect(!mentions(shell.root, of: Array("a%2Eb".utf8)).isEmpty)
        left = .max
        shell.pass(milliseconds: 61_000)
        erasing = try erasure()
        _ = try erasing.run(wall: shell.now.wall, ask)
        let sets = try Self.plan().sets.count
        #expect(mentions(shell.root, of: Array("a%2Eb".utf8)).count == sets + 1)
        #expect(shell.breaches == [])
    }

    @Test("What answers 2xx without JSON is no empty tree: nothing is erased, and nothing seems so")
    func withoutJSON() throws {
        let shell = try mirrored()
        let before = shell.root
        // Each of its reads in turn meets something else at the database's address.
        var read = 0
        while true {
            var left = read
            func ask(_ methods: [Request.Method]) -> [Outcome] {
                zip(methods, shell.ask(methods)).map { method, outcome in
                    guard case .get = method else { return outcome }
                    left -= 1
                    return left == -1 ? .done(body: Array("Welcome".utf8), date: nil) : outcome
                }
            }
            var erasing = try erasure()
            let found = failure { _ = try erasing.run(wall: shell.now.wall, ask) }
            guard left < 0 else { break }
            guard case .database(let text)? = found else {
                Issue.record("read \(read): \(String(describing: found))")
                break
            }
            #expect(text.hasPrefix("2xx without JSON"))
            for place in ["streaming", "conversations", "events", "about", "notes"] {
                #expect(shell.root[place] == before[place], "read \(read), \(place)")
            }
            read += 1
        }
        #expect(read > 10)
        #expect(shell.root.at(keys("streaming/a%2Eb")) == nil)
    }

    @Test("A newer layout is left alone")
    func tooNew() throws {
        let shell = try mirrored()
        shell.root.set(keys("_firebridge/version"), .number([UInt8(ascii: "2")]))
        var erasing = try erasure()
        #expect(failure { _ = try erasing.run(wall: shell.now.wall, shell.ask) } == .tooNew(2))
    }
}

extension [UInt8] {
    fileprivate func contains(subsequence other: [UInt8]) -> Bool {
        guard count >= other.count else { return false }
        return (0...(count - other.count)).contains { self[$0...].starts(with: other) }
    }
}
