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
