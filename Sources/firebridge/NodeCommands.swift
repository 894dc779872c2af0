internal import Arguments
internal import EventLoop
internal import TreeClient
internal import TreeWire

/// `firebridge get`, `set` and `watch`: a look at a tree from the shell.
enum NodeCommands {
    static func get(_ arguments: Arguments) -> Int32 {
        withSession(arguments) { session throws(TreeClientError) in
            var body = try session.get(path(arguments))
            if body.last != 0x0A { body.append(0x0A) }
            return Output.print(body)
        }
    }

    static func set(_ arguments: Arguments) -> Int32 {
        withSession(arguments) { session throws(TreeClientError) in
            try session.set(path(arguments), json: Array(arguments.operands[1].utf8))
            return ExitCode.ok
        }
    }

    /// Prints `EVENT DATA`, a line an event, until it is interrupted or nobody reads it any more.
    /// That the database ends the watching is a failure: whoever watches would take it for silence.
    static func watch(_ arguments: Arguments) -> Int32 {
        guard let signals = try? SignalDescriptor([.terminate, .interrupt]) else {
            return Output.fail("watch: no signals", code: ExitCode.internalError)
        }
        return withSession(arguments) { session throws(TreeClientError) in
            var parser = EventStreamParser()
            var code = ExitCode.ok
            let isEnded = try session.watch(path(arguments), stop: signals.number) { bytes in
                do {
                    for event in try parser.feed(bytes) where event.name != "keep-alive" {
                        try Descriptor.writeAll(
                            Array("\(event.name) ".utf8) + event.data + [0x0A], to: 1)
                        if let why = reason(ofEnd: event.name) {
                            code = Output.fail("watch: \(why)", code: ExitCode.unreachable)
                            return false
                        }
                    }
                    return true
                } catch let error as SystemError {
                    code = Output.code(of: error)
                } catch let error as EventStreamParser.TooLong {
                    code = Output.fail(
                        "watch: an event is longer than \(error.bytesMax) bytes",
                        code: ExitCode.unreachable)
                } catch {
                    code = Output.fail("watch: \(error)", code: ExitCode.internalError)
                }
                return false
            }
            guard isEnded else { return code }
            return Output.fail(
                "watch: the database has ended the stream: watch again",
                code: ExitCode.unreachable)
        }
    }

    /// What an event after which no other comes means, and what to do; nil for others.
    private static func reason(ofEnd event: String) -> String? {
        switch TreeEventName(rawValue: event) {
        case .authRevoked:
            "the credentials are no longer valid: watch again with a new token (--token-file)"
        case .cancel:
            "the database has cancelled it, as when its rules no longer let PATH be read: "
                + "look at the rules, then watch again"
        default: nil
        }
    }

    private static func path(_ arguments: Arguments) -> [UInt8] {
        Array(arguments.operands[0].utf8)
    }

    /// The file of a token; read once here, so that a wrong one is no fault of the tree.
    private static func tokenFile(_ arguments: Arguments) throws(SystemError) -> String? {
        guard let file = arguments.value("token-file") else { return nil }
        if let warning = try File.readSecret(file).warning { Output.warn(warning) }
        return file
    }

    private static func withSession(
        _ arguments: Arguments, _ body: (TreeSession) throws(TreeClientError) -> Int32
    ) -> Int32 {
        let token: String?
        do throws(SystemError) {
            token = try tokenFile(arguments)
        } catch {
            return Output.fail("--token-file: \(error)", code: ExitCode.usage)
        }
        let url: DatabaseURL
        do throws(TreeClientError) {
            url = try DatabaseURL(
                parsing: arguments.value("url") ?? "http://127.0.0.1:9000/?ns=demo")
        } catch {
            return Output.fail(error.description, code: ExitCode.usage)
        }
        do throws(TreeClientError) {
            // A tree on this machine takes its owner's word; another one is asked as anybody.
            let anybody: Credentials = url.isLoopback ? .emulator : .none
            let session = try TreeSession(
                url: url, credentials: token.map(Credentials.accessToken) ?? anybody)
            return try body(session)
        } catch {
            return Output.fail(
                error.description, code: error.isService ? ExitCode.unreachable : ExitCode.usage)
        }
    }
}
