import EventLoop
import Glibc
import ScriptedServer
import TestSupport
import Testing

@Suite("What commands print, and how they exit", .serialized, .ownThreads)
struct OutputTests {
    private static let stream =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    /// Answers each request for a node, and each event stream without an end.
    private func server() -> ScriptedServer {
        ScriptedServer { request in
            request.header("accept") == "text/event-stream"
                ? [.send(Self.stream), .sendForever("event: put\ndata: 1\n\n")]
                : [.answer(200, "{\"a\":1}")]
        }
    }

    /// Runs a command to its end, and what it has said on standard error.
    private func run(
        _ arguments: [String], output: Subprocess.Stream = .null
    ) throws -> (exit: Subprocess.Exit, said: String) {
        let process = try Subprocess(
            [builtProgram("firebridge")] + arguments, output: output, error: .pipe)
        guard let exit = process.wait(timeout: .seconds(30)) else {
            throw TimedOut(description: "\(arguments) has not ended")
        }
        let said = try process.error?.read(max: 1 << 16) ?? []
        return (exit, String(decoding: said, as: UTF8.self))
    }

    private func commands(_ url: String) -> [[String]] {
        [
            ["--version"], ["get", "--help"], ["get", "x", "--url", url],
            ["watch", "x", "--url", url], ["health", "--url", url],
            ["check", "--config", repository + "/Config/firebridge.yaml"],
        ]
    }

    @Test("What cannot be written is an error, and nothing is cut off in silence")
    func full() throws {
        let server = server()
        for command in commands(server.url) {
            let full = try Descriptor(openingForWriting: "/dev/full")
            let (exit, said) = try run(command, output: .descriptor(full.number))
            #expect(exit == .code(70), "\(command)")
            #expect(said == "firebridge: standard output: No space left on device\n", "\(command)")
        }
    }

    @Test("A reader that has had enough is no error, and ends a watch")
    func brokenPipe() throws {
        let server = server()
        for command in commands(server.url) {
            let writing = try Pipe().writing
            let (exit, said) = try run(command, output: .descriptor(writing.number))
            #expect(exit == .code(0) || exit == .signal(Signal.pipe.rawValue), "\(command)")
            #expect(said == "", "\(command)")
        }
    }

    /// Watches what is streamed so, until a text is printed where a signal is to be sent then.
    private func watch(
        _ steps: [Step], send signal: Signal? = nil, after wanted: String = ""
    ) throws -> (exit: Subprocess.Exit, printed: String, said: String) {
        let server = ScriptedServer { _ in [.send(Self.stream)] + steps }
        let process = try Subprocess(
            [builtProgram("firebridge"), "watch", "x", "--url", server.url], output: .pipe,
            error: .pipe)
        var printed = ""
        func read(_ pipe: Descriptor?) throws -> String {
            String(decoding: try pipe?.read(max: 1 << 16) ?? [], as: UTF8.self)
        }
        if let signal {
            try eventually("it prints \(wanted)") {
                printed += try read(process.output)
                return printed.contains(wanted)
            }
            process.send(signal)
        }
        guard let exit = process.wait(timeout: .seconds(30)) else {
            throw TimedOut(description: "the watch has not ended")
        }
        return (exit, printed + (try read(process.output)), try read(process.error))
    }

    @Test(
        "A watch that the database ends has failed: its last event is printed, and why it ended",
        arguments: [
            ("event: auth_revoked\ndata: 7\n\n", .hang, "auth_revoked 7\n", "a new token"),
            ("event: cancel\ndata: null\n\n", .hang, "cancel null\n", "look at the rules"),
            ("event: keep-alive\ndata: null\n\n", .close, "", "has ended the stream"),
            ("", .reset, "", "connection lost"),
        ] as [(String, Step, String, String)])
    func ended(_ last: String, _ step: Step, _ printed: String, _ reason: String) throws {
        let put = "event: put\ndata: 1\n\n"
        let (exit, output, said) = try watch([.send(put + last), .pause(.milliseconds(300)), step])
        #expect(exit == .code(69))
        #expect(output == "put 1\n" + printed)
        #expect(said.hasPrefix("firebridge: ") && said.contains(reason), "\(said)")
    }

    @Test("A watch that is interrupted has done what it was asked for")
    func interrupted() throws {
        for signal in [Signal.interrupt, .terminate] {
            let (exit, printed, said) = try watch(
                [.send("event: put\ndata: 1\n\n"), .hang], send: signal, after: "put 1\n")
            #expect(exit == .code(0) && printed == "put 1\n" && said == "", "\(said)")
        }
    }

    @Test("Whom the database denies is not told that the command line is wrong")
    func denied() throws {
        let server = ScriptedServer { request in
            let isDenied = request.target.hasPrefix("/denied")
            return request.target.hasPrefix("/forbidden")
                ? [.answer(403, #"{"error":"The database is disabled"}"#)]
                : [
                    isDenied
                        ? .answer(401, #"{"error":"Permission denied"}"#)
                        : .answer(400, #"{"error":"HTTP 401: no"}"#)
                ]
        }
        for (path, code) in [("denied", 69), ("forbidden", 69), ("wrong", 64)] {
            for command in [["get", path], ["set", path, "7"], ["watch", path]] {
                let (exit, said) = try run(command + ["--url", server.url])
                #expect(exit == .code(Int32(code)), "\(command): \(said)")
            }
        }
    }
}

extension Descriptor {
    fileprivate convenience init(openingForWriting path: String) throws {
        let number = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard number >= 0 else { throw SetupFailure("no \(path)") }
        self.init(owning: number)
    }
}
