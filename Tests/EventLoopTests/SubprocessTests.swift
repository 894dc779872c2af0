import EventLoop
import Testing

@Suite struct SubprocessTests {
    func lines(of descriptor: Descriptor?) throws -> [String] {
        let number = try #require(descriptor).number
        let reader = LineReader(number)
        var lines: [String] = []
        while true {
            switch try reader.next() {
            case .line(let line): lines.append(String(decoding: line, as: UTF8.self))
            case .wait:
                try #require(Poll.wait(for: [number], timeout: .seconds(10)) == [true])
            case .end: return lines
            }
        }
    }

    @Test func `A program gets its arguments, environment and directory`() throws {
        let process = try Subprocess(
            ["sh", "-c", "echo \"$1 $NAME\"; pwd; echo bad >&2; exit 3", "sh", "a b"],
            environment: ["NAME": "x=y", "PATH": "/usr/bin:/bin"], directory: "/",
            output: .pipe, error: .pipe)
        #expect(try lines(of: process.output) == ["a b x=y", "/"])
        #expect(try lines(of: process.error) == ["bad"])
        #expect(process.wait(timeout: .seconds(10)) == .code(3))
        #expect(process.poll() == .code(3))
    }

    @Test func `Its standard input is a pipe that ends when it is closed`() throws {
        let process = try Subprocess(["cat"], input: .pipe, output: .pipe)
        let input = try #require(process.input).number
        try Descriptor.writeAll(Array("one\ntwo".utf8), to: input)
        process.input = nil
        #expect(try lines(of: process.output) == ["one", "two"])
    }

    @Test func `A program that does not exist is an error, not an exit`() {
        let error = #expect(throws: SystemError.self) { try Subprocess(["/no/such/program"]) }
        #expect(error?.isNotFound == true)
        #expect(error?.description == "start /no/such/program: No such file or directory")
    }

    @Test func `A signal ends it and is told from an exit code`() throws {
        let process = try Subprocess(["sleep", "60"])
        #expect(process.poll() == nil)
        process.send(.terminate)
        #expect(process.wait(timeout: .seconds(10)) == .signal(Signal.terminate.rawValue))
    }

    @Test func `The child is killed when its object goes`() throws {
        // The sleeper holds the last writing end: the pipe ends when it is dead.
        var pipe: Pipe? = try Pipe()
        let reading = try #require(pipe).reading
        var process: Subprocess? = try Subprocess(
            ["sleep", "60"], output: .descriptor(#require(pipe).writing.number))
        pipe = nil
        try reading.setNonblocking()
        #expect(try reading.read(max: 1) == nil)
        #expect(process?.poll() == nil)
        process = nil
        #expect(Poll.wait(for: [reading.number], timeout: .seconds(10)) == [true])
        #expect(try reading.read(max: 1) == [])
        #expect(process == nil && pipe == nil)
    }

    @Test func `Signals that the parent blocks and ignores work in the child`() throws {
        SignalDescriptor.ignoreBrokenPipes()
        let signals = try SignalDescriptor([.user2])
        let process = try Subprocess(["sh", "-c", "kill -USR2 $$; sleep 60"])
        #expect(process.wait(timeout: .seconds(10)) == .signal(Signal.user2.rawValue))
        #expect(signals.next() == nil)
        let pipe = try Subprocess(["sh", "-c", "kill -PIPE $$; sleep 60"])
        #expect(pipe.wait(timeout: .seconds(10)) == .signal(Signal.pipe.rawValue))
    }

    @Test func `A file in memory can be opened again by who gets it as standard input`() throws {
        let file = try Descriptor.memoryFile(Array("one\ntwo\n".utf8), label: "test")
        let process = try Subprocess(
            ["cat", "/proc/self/fd/0", "/proc/self/fd/0"], input: .descriptor(file.number),
            output: .pipe)
        #expect(try lines(of: process.output) == ["one", "two", "one", "two"])
    }

    @Test(arguments: [true, false])
    func `A program is in its parent's process group, or in one of its own`(_ own: Bool) throws {
        let process = try Subprocess(
            ["sh", "-c", "read line; ps -o pgid= -p $$"], input: .pipe, output: .pipe,
            inOwnGroup: own)
        process.input = nil
        let group = try lines(of: process.output).first?.split(separator: " ").last
        #expect((group.flatMap { Int32($0) } == process.pid) == own)
    }

    @Test func `A pipe has no size in columns and rows`() throws {
        #expect(Terminal.size(of: try Pipe().writing.number) == nil)
    }
}
