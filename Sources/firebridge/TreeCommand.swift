internal import EventLoop
internal import HTTPServer
internal import Tree
internal import TreeServerCore
internal import TreeWire

/// `firebridge tree`: the embedded node-tree server, in memory.
enum TreeCommand {
    static let usage = """
        usage: firebridge tree [--listen 127.0.0.1:9000] [--fence]

          --listen ADDRESS  where to listen; port 0 takes a free one
          --fence           refuse writes of a bridge whose fence has been overtaken

        Serves the REST API of Firebase Realtime Database, event streams included. Everything is kept
        in memory and gone when it ends. Databases are made when they are first named (?ns=NAME).

        """

    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code.
    static func run(arguments: [String]) -> Int32 {
        let options: Options
        do {
            options = try Options(arguments)
        } catch {
            say("firebridge: tree: \(error.message)\n\(usage)")
            return 64
        }
        if options.help {
            print(usage, terminator: "")
            return 0
        }
        do {
            let signals = try SignalDescriptor([.terminate, .interrupt])
            let service = try TreeService(listen: options.listen, fence: options.fence)
            say("firebridge: tree listening on http://\(service.address)/?ns=demo\n")
            service.serve(until: signals)
            return 0
        } catch let error as HTTPServerError {
            say("firebridge: tree: \(error)\n")
            return 69
        } catch {
            say("firebridge: tree: \(error)\n")
            return 70
        }
    }

    /// A command line that cannot be obeyed.
    struct UsageError: Error {
        var message: String
    }

    struct Options {
        var listen = ListenAddress(host: "127.0.0.1", port: 9000)
        var fence = false
        var help = false

        private static let later = [
            "--data", "--rules", "--jwks", "--fault", "--export", "--import",
        ]

        init(_ arguments: [String]) throws(UsageError) {
            var rest = arguments[...]
            while let argument = rest.popFirst() {
                let parts = argument.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = String(parts[0])
                switch name {
                case "--help": help = true
                case "--fence":
                    guard parts.count == 1 else {
                        throw UsageError(message: "--fence takes no value")
                    }
                    fence = true
                case "--listen":
                    guard let text = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                        throw UsageError(message: "--listen needs an address")
                    }
                    guard let address = ListenAddress(text) else {
                        throw UsageError(
                            message: "--listen: expected HOST:PORT or [IPV6]:PORT, found '\(text)'")
                    }
                    listen = address
                case _ where Self.later.contains(name):
                    throw UsageError(message: "\(name) is not yet supported")
                default:
                    throw UsageError(message: "unknown argument '\(argument)'")
                }
            }
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

    /// Streams by their name in the tree server, shared with the handler.
    private final class OpenStreams {
        var byID: [StreamID: HTTPServerStream] = [:]
    }

    init(listen: ListenAddress, fence: Bool) throws {
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
    }

    /// Where it listens.
    var address: ListenAddress { http.address }

    /// Serves until a signal comes.
    func serve(until signals: SignalDescriptor) {
        while true {
            let ready = Poll.wait(for: [http.descriptor, signals.number], timeout: timeout)
            if ready[1], signals.next() != nil { return }
            http.run()
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
            case .send(let id, let event): streams.byID[id]?.send(event)
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
