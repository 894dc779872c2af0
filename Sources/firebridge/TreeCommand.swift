internal import Arguments
internal import EventLoop
internal import HTTPServer
internal import Page
internal import TreeAuth
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
        do {
            var parts = TreeParts(desk: PageDesk(.tree))
            parts.options.fence = arguments.has("fence")
            parts.options.rules = try arguments.value("rules").map(TreeGuard.rules)
            parts.keys = arguments.value("jwks").map { WatchedKeys($0, at: Clock.now().wall) }
            if let keys = arguments.value("jwks") {
                parts.authority = try TreeGuard.authority(keys)
            }
            parts.faults = try arguments.value("fault").map(FaultDesk.init)
            return run(listen, parts)
        } catch {
            return error.tell()
        }
    }

    /// Serves a tree and its page until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(_ listen: ListenAddress, _ parts: TreeParts) -> Int32 {
        do {
            let reloads: [Signal] = parts.faults == nil ? [] : [.hangUp]
            let signals = try SignalDescriptor([.terminate, .interrupt] + reloads)
            let service = try TreeService(listen: listen, parts)
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

/// What a tree is served with.
struct TreeParts {
    var options = TreeServer.Options()
    var authority = Authority.emulator
    /// The file of the keys that `authority` holds, to be read again.
    var keys: WatchedKeys?
    var desk: PageDesk
    var faults: FaultDesk?
}
