internal import Arguments
internal import EventLoop
internal import HTTPServer
internal import Page
internal import Tree
internal import TreeServerCore
internal import TreeWire

/// `firebridge tree`: the embedded node-tree server, in memory.
enum TreeCommand {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(_ arguments: Arguments) -> Int32 {
        for flag in ["data", "rules", "jwks", "fault", "export", "import"]
        where arguments.has(flag) {
            return Output.fail("tree: --\(flag) is not yet supported", code: ExitCode.usage)
        }
        let text = arguments.value("listen") ?? "127.0.0.1:9000"
        guard let listen = ListenAddress(text) else {
            return Output.fail(
                "tree: --listen: expected HOST:PORT or [IPV6]:PORT, found '\(text)'",
                code: ExitCode.usage)
        }
        return run(listen, fence: arguments.has("fence"), desk: PageDesk(.tree))
    }

    /// Serves a tree and its page until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(_ listen: ListenAddress, fence: Bool, desk: PageDesk) -> Int32 {
        do {
            let signals = try SignalDescriptor([.terminate, .interrupt])
            let service = try TreeService(listen: listen, fence: fence, desk: desk)
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

/// The tree server behind a listening socket.
final class TreeService {
    private let tree: TreeServer
    private let http: HTTPServer
    private let streams: OpenStreams
    private let desk: PageDesk

    /// Streams by their name in the tree server, shared with the handler.
    private final class OpenStreams {
        var byID: [StreamID: HTTPServerStream] = [:]
    }

    init(listen: ListenAddress, fence: Bool, desk: PageDesk) throws {
        var options = TreeServer.Options()
        options.fence = fence
        let tree = TreeServer(options: options)
        let streams = OpenStreams()
        var limits = HTTPServerLimits()
        limits.bodyBytesMax = options.limits.writeBytesMax
        limits.connectionsMax = 1000
        limits.oversized = HTTPServerResponse(
            status: 400,
            headers: [(name: "Content-Type", value: "application/json; charset=utf-8")],
            body: errorBody(
                "Data to write exceeds the maximum size that can be modified with a single request."
            ))
        var random = SystemRandomNumberGenerator()
        http = try HTTPServer(listen: listen, limits: limits) { request in
            if let answer = desk.answer(request) { return answer }
            let asked = TreeRequest(
                method: request.method, target: request.target,
                headers: TreeRequest.Headers(request.header), body: request.body)
            switch tree.answer(asked, at: Clock.now().wall, using: &random) {
            case .response(let answer): return response(answer, .bytes(answer.body))
            case .stream(let id, let head):
                let stream = HTTPServerStream(first: head.body) {
                    streams.byID[id] = nil
                    tree.closed(id)
                }
                streams.byID[id] = stream
                return response(head, .stream(stream))
            }
        }
        self.tree = tree
        self.streams = streams
        self.desk = desk
    }

    /// Where it listens.
    var address: ListenAddress { http.address }

    /// Serves until a signal comes.
    func serve(until signals: SignalDescriptor) {
        while true {
            let ready = Poll.wait(
                for: [http.descriptor, signals.number] + desk.descriptors, timeout: timeout)
            if ready[1], signals.next() != nil { return }
            desk.turn()
            http.run()
            if desk.cutsStreams { for stream in streams.byID.values { stream.end() } }
            tree.tick(at: Clock.now().wall)
            pump()
        }
    }

    /// How long there is nothing to do without a request.
    private var timeout: Duration? {
        let tick = tree.nextTick.map { Duration.milliseconds(max(0, $0 - Clock.now().wall)) }
        guard let http = http.nextTimeout else { return tick }
        return tick.map { min($0, http) } ?? http
    }

    /// Gives the streams what the tree server has for them.
    private func pump() {
        while let output = tree.nextOutput() {
            switch output {
            case .send(let id, let event):
                // Cut off for reading too slowly: the connection ends when it can, the events now.
                if streams.byID[id]?.send(event) == false { tree.closed(id) }
            case .end(let id): streams.byID[id]?.end()
            }
        }
    }
}

private func response(_ answer: TreeResponse, _ body: HTTPServerResponse.Body) -> HTTPServerResponse
{
    HTTPServerResponse(
        status: answer.status,
        headers: answer.headers.map { (name: $0.name, value: $0.value) }, body: body)
}
