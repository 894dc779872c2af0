internal import Arguments
internal import Configuration
internal import Demo
internal import EventLoop

/// `firebridge demo`: broker, recorded conversations, bridge and tree by one command.
enum DemoCommand {
    static func run(_ arguments: Arguments) -> Int32 {
        let address = arguments.value("listen") ?? "127.0.0.1:9000"
        guard let listen = ListenAddress(address) else {
            return Output.fail(
                "demo: --listen: expected HOST:PORT or [IPV6]:PORT, found '\(address)'",
                code: ExitCode.usage)
        }
        var length: Duration?
        if let text = arguments.value("for") {
            guard let duration = DurationText.parse(text), duration > .zero else {
                return Output.fail(
                    "demo: --for: expected a duration such as 20s or 5m, found '\(text)'",
                    code: ExitCode.usage)
            }
            length = duration
        }
        do throws(DemoFailure) {
            try Demonstration(listen: listen, length: length).run()
            return ExitCode.ok
        } catch {
            return Output.fail("demo: \(error)", code: code(of: error))
        }
    }

    private static func code(of failure: DemoFailure) -> Int32 {
        switch failure.kind {
        case .unreachable: ExitCode.unreachable
        case .wrong: ExitCode.internalError
        }
    }
}
