internal import Arguments
internal import EventLoop
internal import HTTPServer
internal import Page
internal import TreeServerCore

/// `firebridge tree`: the embedded node-tree server, in memory.
enum TreeCommand {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(_ arguments: Arguments) -> Int32 {
        for flag in ["data", "export", "import"] where arguments.has(flag) {
            return Output.fail("tree: --\(flag) is not yet supported", code: ExitCode.usage)
        }
        let text = arguments.value("listen") ?? "127.0.0.1:9000"
        guard let listen = ListenAddress(text) else {
            return Output.fail(
                "tree: --listen: expected HOST:PORT or [IPV6]:PORT, found '\(text)'",
                code: ExitCode.usage)
        }
        var options = TreeServer.Options()
        options.fence = arguments.has("fence")
        do throws(TreeGuard.Failure) {
            options.rules = try arguments.value("rules").map(TreeGuard.rules)
            let keys = try arguments.value("jwks").map(WatchedKeys.init)
            let faults = try arguments.value("fault").map(FaultDesk.init)
            return run(listen, options, keys: keys, desk: PageDesk(.tree), faults: faults)
        } catch {
            return error.tell()
        }
    }

    /// Serves a tree and its page until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(
        _ listen: ListenAddress, _ options: TreeServer.Options, keys: WatchedKeys? = nil,
        desk: PageDesk, faults: FaultDesk? = nil
    ) -> Int32 {
        do {
            let reloads: [Signal] = faults == nil ? [] : [.hangUp]
            let signals = try SignalDescriptor([.terminate, .interrupt] + reloads)
            let service = try TreeService(
                listen: listen, options: options, keys: keys, desk: desk, faults: faults)
            say("firebridge: tree listening on http://\(service.address)/?ns=demo\n")
            service.serve(until: signals)
            return ExitCode.ok
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
