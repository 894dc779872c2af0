import EventLoop
import Glibc
import TestSupport
import Testing

@Suite("The demo as a process", .serialized, .ownThreads)
struct ProcessTests {
    @Test("It mirrors for as long as it is told, and the tree equals the log")
    func length() throws {
        let demo = try Program(["--for", "4s"])
        #expect(try demo.exit() == .code(0))
        let first = try #require(demo.lines.first)
        #expect(first.hasPrefix("demo: the tree is at http://127.0.0.1:"))
        let last = try #require(demo.lines.last)
        let words = last.split(separator: " ").map(String.init)
        #expect(last.hasSuffix(" conversations mirrored; the tree equals the log"))
        // What is due within four seconds, less what a busy machine does not come to.
        #expect(words.count > 4 && Int(words[1]).map { (100...700).contains($0) } == true)
        #expect(demo.lines.contains { $0.contains("tokens, visible after p50 ") })
    }

    @Test("A bridge killed in the middle is started again, and the tree still equals the log")
    func killedBridge() throws {
        let demo = try Program(["--for", "4s"])
        _ = try #require(try demo.firstTokens())
        kill(try #require(demo.bridge), SIGKILL)
        #expect(try demo.exit() == .code(0))
        #expect(demo.lines.contains("demo: the bridge has ended (signal 9) and is started again"))
        #expect(demo.lines.contains("demo: the bridge was started again once"))
        #expect(demo.lines.last?.hasSuffix("; the tree equals the log") == true)
    }

    @Test("What is pressed on the page is done, and the tree still equals the log")
    func buttons() throws {
        let demo = try Program(["--for", "6s"])
        let said = try #require(try demo.line("demo: the tree is at http://"))
        let origin = "http://" + (said.split(separator: "/").dropFirst().first ?? "")
        _ = try #require(try demo.firstTokens())
        func press(_ button: String, _ body: String = "") throws -> String {
            let curl = try Subprocess(
                [
                    "curl", "-s", "-w", "%{http_code}", "-H", "Origin: \(origin)", "-d", body,
                    "\(origin)/.demo/\(button)",
                ], output: .pipe)
            #expect(curl.wait(timeout: .seconds(10)) == .code(0))
            return try String(decoding: curl.output?.read(max: 4096) ?? [], as: UTF8.self)
        }
        // The first conversation of the first round.
        #expect(try press("regenerate", "thread_f3252492792a000001") == "{}202")
        for unknown in ["nobody", "thread_f32524927920000001", "thread_f3252492792affffff"] {
            let answer = try press("regenerate", unknown)
            #expect(answer.hasSuffix("404"), "\(answer)")
            #expect(answer.contains("the demo has told no conversation of this id"))
        }
        #expect(try press("break") == "{}202")
        #expect(try press("kill") == "{}202")
        #expect(try demo.exit() == .code(0))
        for words in [
            "thread_f3252492792a000001 is told once more", "the database is broken for 10 s",
            "the bridge is killed",
        ] {
            #expect(demo.lines.contains("demo: \(words), at a reader's wish"))
        }
        #expect(demo.lines.contains("demo: the bridge was started again once"))
        #expect(demo.lines.last?.hasSuffix("; the tree equals the log") == true)
    }

    @Test("Ctrl-C ends it with the same comparison")
    func interrupted() throws {
        let demo = try Program([])
        _ = try #require(try demo.firstTokens())
        let children = try demo.children()
        #expect(children.count == 3)
        demo.process.send(.interrupt)
        #expect(try demo.exit() == .code(0))
        #expect(demo.lines.last?.hasSuffix("; the tree equals the log") == true)
        #expect(!children.contains(where: isAlive))
    }

    @Test("A demo that is killed takes its processes with it")
    func killed() throws {
        let demo = try Program([])
        _ = try #require(try demo.line("demo: bridge: process "))
        let children = try demo.children()
        #expect(children.count == 3)
        demo.process.send(.kill)
        _ = demo.process.wait(timeout: .seconds(5))
        let deadline = ContinuousClock.now + .seconds(5)
        while children.contains(where: isAlive), ContinuousClock.now < deadline {}
        #expect(!children.contains(where: isAlive))
    }

    @Test("A taken port is told at once, with exit code 69")
    func takenPort() throws {
        let first = try Program([])
        let said = try #require(try first.line("demo: the tree is at http://"))
        let taken = try #require(said.split(separator: "/").dropFirst().first.map(String.init))
        let second = try Program([], listen: taken)
        #expect(try second.exit(within: .seconds(20)) == .code(69))
        #expect(
            second.lines == [
                "firebridge: demo: cannot listen on \(taken): Address already in use "
                    + "(--listen 127.0.0.1:0 takes a free port)"
            ])
    }

    @Test("A tree that dies is an internal error that says so")
    func deadTree() throws {
        let demo = try Program([])
        _ = try #require(try demo.firstTokens())
        // Broker and tree are started in this order.
        kill(try demo.children()[1], SIGKILL)
        #expect(try demo.exit() == .code(70))
        #expect(
            demo.lines.contains { $0.hasPrefix("firebridge: demo: the tree has ended (signal 9)") })
    }
}

extension Program {
    /// The bridge's process id, as it was printed.
    fileprivate var bridge: Int32? {
        let beginning = "demo: bridge: process "
        return lines.last { $0.hasPrefix(beginning) }.flatMap {
            Int32($0.dropFirst(beginning.count).prefix { $0.isNumber })
        }
    }
}
