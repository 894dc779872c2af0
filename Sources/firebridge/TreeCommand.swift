internal import Arguments
internal import EventLoop
internal import HTTPServer
internal import TreeAuth
internal import TreeServerCore

/// `firebridge tree`: the embedded node-tree server, in memory.
enum TreeCommand {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(_ arguments: Arguments) -> Int32 {
        for flag in ["data", "fault", "export", "import"] where arguments.has(flag) {
            return Output.fail("tree: --\(flag) is not yet supported", code: ExitCode.usage)
        }
        let text = arguments.value("listen") ?? "127.0.0.1:9000"
        guard let listen = ListenAddress(text) else {
            return Output.fail(
                "tree: --listen: expected HOST:PORT or [IPV6]:PORT, found '\(text)'",
                code: ExitCode.usage)
        }
        do {
            let signals = try SignalDescriptor([.terminate, .interrupt])
            var options = TreeServer.Options()
            options.fence = arguments.has("fence")
            options.rules = try arguments.value("rules").map(TreeGuard.rules)
            let keys = arguments.value("jwks").map { WatchedKeys($0, at: Clock.now().wall) }
            let authority = try arguments.value("jwks").map(TreeGuard.authority)
            let service = try TreeService(
                listen: listen, options: options, authority: authority ?? .emulator, keys: keys)
            say("firebridge: tree listening on http://\(service.address)/?ns=demo\n")
            service.serve(until: signals)
            return ExitCode.ok
        } catch let failure as TreeGuard.Failure {
            return failure.tell()
        } catch let error as HTTPServerError {
            return Output.fail("tree: \(error)", code: ExitCode.unreachable)
        } catch {
            return Output.fail("tree: \(error)", code: ExitCode.internalError)
        }
    }

    private static func say(_ text: String) {
        try? Descriptor.writeAll(Array(text.utf8), to: 2)
    }
}
