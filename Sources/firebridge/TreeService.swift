internal import EventLoop
internal import HTTPServer
internal import Tree
internal import TreeServerCore
internal import TreeWire

/// The tree server behind a listening socket.
final class TreeService {
    private let tree: TreeServer
    private let http: HTTPServer
    private let clients: Clients
    private let desk: PageDesk
    private let faults: FaultDesk?
    private let data: TreeData?
    /// Whose signatures count; nil where none is looked at.
    private var keys: WatchedKeys?

    /// Opens the socket.
    init(
        listen: ListenAddress, _ tree: TreeServer, data: TreeData? = nil,
        keys: WatchedKeys? = nil, desk: PageDesk, faults: FaultDesk? = nil
    ) throws {
        let options = tree.options
        if let keys { tree.authority = keys.authority }
        self.keys = keys
        self.desk = desk
        self.faults = faults
        self.data = data
        let clients = Clients(tree, data, messageBytesMax: options.messageBytesMax)
        var limits = HTTPServerLimits()
        limits.bodyBytesMax = options.limits.writeBytesMax
        limits.headBytesMax = 16 * 1024
        limits.connectionsMax = max(100, min(20_000, Descriptor.raiseLimit() - 100))
        limits.oversized = refusal(
            "Data to write exceeds the maximum size that can be modified with a single request.")
        limits.malformed = { refusal("Invalid request; \($0).") }
        http = try HTTPServer(listen: listen, limits: limits) { request in
            if let answer = desk.answer(request) { return answer }
            guard let faults else { return clients.answer(request) }
            return faults.answer(request) { clients.answer(request) }
        }
        self.tree = tree
        self.clients = clients
        clients.http = http
        if data != nil {
            http.settle = { [unowned http] in
                clients.pump()
                http.flush()
            }
        }
    }

    /// Where it listens.
    var address: ListenAddress { http.address }

    /// Serves until a signal comes.
    func serve(until signals: SignalDescriptor) {
        while true {
            let ready = Poll.wait(
                for: [http.descriptor, signals.number] + desk.descriptors, timeout: timeout)
            if ready[1], let signal = signals.next() {
                guard signal == .hangUp else { return }
                faults?.reload()
            }
            if keys?.haveChanged(at: Clock.now().wall) == true, let keys {
                tree.authority = keys.authority
            }
            desk.turn()
            faults?.turn()
            data?.turn(at: Clock.now().wall)
            http.run()
            if desk.cutsStreams { clients.cutStreams() }
            tree.tick(at: Clock.now().wall)
            clients.pump()
            http.flush()
        }
    }

    /// How long there is nothing to do without a request.
    private var timeout: Duration? {
        let wall = [tree.nextTick, keys?.due].compactMap { $0 }.min()
        let tick = wall.map { Duration.milliseconds(max(0, $0 - Clock.now().wall)) }
        let due = [
            tick, http.nextTimeout, faults?.nextTurn, data?.nextTurn(at: Clock.now().wall),
        ]
        return due.compactMap { $0 }.min()
    }
}

/// Open streams and sockets by their names in the tree server.
private final class Clients {
    private let tree: TreeServer
    private let data: TreeData?
    private var random = SystemRandomNumberGenerator()
    private var streams: [StreamID: HTTPServerStream] = [:]
    private var sockets: [SessionID: HTTPServerSocket] = [:]
    weak var http: HTTPServer?

    private let messageBytesMax: Int

    init(_ tree: TreeServer, _ data: TreeData?, messageBytesMax: Int) {
        self.tree = tree
        self.data = data
        self.messageBytesMax = messageBytesMax
    }

    /// Answers a request. What it means for others is with them before its answer goes out.
    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
        let asked = TreeRequest(
            method: request.method, target: request.target,
            headers: TreeRequest.Headers(request.header), body: request.body)
        switch tree.answer(asked, at: Clock.now().wall, using: &random) {
        case .response(let answer):
            changed()
            http?.flush()
            var answer = response(answer, .bytes(answer.body))
            answer.waits = data?.isPending == true
            return answer
        case .stream(let id, let head):
            // What it shows at first is on the disk too.
            if data?.isPending == true { pump() }
            let stream = HTTPServerStream(first: head.body) { [unowned self] in
                streams[id] = nil
                tree.closed(id)
            }
            streams[id] = stream
            return response(head, .stream(stream))
        case .session(let id, let head):
            let socket = socket(id)
            sockets[id] = socket
            changed()
            return response(head, .socket(socket))
        }
    }

    private func socket(_ id: SessionID) -> HTTPServerSocket {
        HTTPServerSocket(
            messageBytesMax: messageBytesMax,
            onText: { [unowned self] frame in
                tree.received(frame, from: id, at: Clock.now().wall)
                changed()
            },
            onClose: { [unowned self] in
                sockets[id] = nil
                tree.disconnected(id, at: Clock.now().wall)
                changed()
            })
    }

    /// Something may have changed: others are told now, in a durable tree when all of the turn is
    /// on the disk.
    private func changed() {
        if data == nil { pump() }
    }

    /// Ends event streams and sockets, as a network does that breaks.
    func cutStreams() {
        for stream in streams.values { stream.end() }
        for socket in sockets.values { socket.close() }
    }

    /// Gives streams and sockets what the tree server has for them, in its order. Nobody is told
    /// what is not kept.
    func pump() {
        data?.settle(at: Clock.now().wall)
        while let output = tree.nextOutput() {
            switch output {
            case .send(let id, let event):
                // Cut off for reading too slowly: the connection ends when it can, the events now.
                if streams[id]?.send(event) == false { tree.closed(id) }
            case .end(let id): streams[id]?.end()
            case .message(let id, let message):
                sockets[id]?.send(messages: MessageFrames.cut(message))
            case .close(let id): sockets[id]?.close()
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

/// What the database says of a request that it never sees.
private func refusal(_ reason: String) -> HTTPServerResponse {
    HTTPServerResponse(
        status: 400, headers: [(name: "Content-Type", value: "application/json; charset=utf-8")],
        body: errorBody(reason))
}
