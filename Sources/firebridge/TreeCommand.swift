internal import Arguments
internal import EventLoop
internal import HTTPServer
internal import Page
internal import TreeServerCore

/// `firebridge tree`: the embedded node-tree server, in memory or in a directory.
enum TreeCommand {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(_ arguments: Arguments) -> Int32 {
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
            let tree = TreeServer(options: options)
            let data = try TreeData(arguments, tree)
            if let code = try TreeTransfer.run(arguments, tree, data) { return code }
            return run(
                listen, tree, data: data, keys: keys, desk: PageDesk(.tree), faults: faults)
        } catch {
            return error.tell()
        }
    }

    /// Serves a tree and its page until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(
        _ listen: ListenAddress, _ tree: TreeServer, data: TreeData? = nil,
        keys: WatchedKeys? = nil, desk: PageDesk, faults: FaultDesk? = nil
    ) -> Int32 {
        do {
            let reloads: [Signal] = faults == nil ? [] : [.hangUp]
            let signals = try SignalDescriptor([.terminate, .interrupt] + reloads)
            let service = try TreeService(
                listen: listen, tree, data: data, keys: keys, desk: desk, faults: faults)
            say("firebridge: tree listening on http://\(service.address)/?ns=demo\n")
            service.serve(until: signals)
            data?.close()
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
