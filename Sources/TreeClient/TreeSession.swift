public import BridgeCore
internal import EventLoop
internal import HTTPClient

/// A look at a tree for one-shot commands: each call waits for its answer and nothing is retried.
public final class TreeSession {
    private let http: HTTPClient
    private let client: TreeClient
    private let url: DatabaseURL
    private var lastID = 0

    /// Makes a session.
    ///
    /// - Parameter caFile: the certificate authorities to trust; nil for the system's.
    /// - Parameter timeout: for each request.
    public init(
        url: DatabaseURL, credentials: Credentials, caFile: String? = nil,
        timeout: Duration = .seconds(10)
    ) throws(TreeClientError) {
        var options = HTTPClient.Options()
        options.caFile = caFile
        options.allowPlainHTTP = credentials.needPlainHTTP(for: url)
        options.responseBytesMax = 256 << 20
        self.url = url
        http = HTTPClient(options)
        client = try TreeClient(url: url, credentials: credentials, http: http, timeout: timeout)
    }

    /// The node's JSON.
    ///
    /// - Parameter path: keys joined by `/`; slashes around it do not count.
    public func get(_ path: [UInt8], shallow: Bool = false) throws(TreeClientError) -> [UInt8] {
        let outcome = perform(.get(path: trimmed(path), shallow: shallow))
        guard case .done(let body, _) = outcome else { throw error(outcome) }
        return body
    }

    /// Replaces the node.
    ///
    /// - Parameter json: its value; `null` removes it.
    public func set(_ path: [UInt8], json: [UInt8]) throws(TreeClientError) {
        let exchange = Exchange(
            id: nextID(), method: "PUT",
            url: url.node(trimmed(path), query: ["print=silent"]), body: json,
            startedAt: Clock.monotonic())
        client.send(exchange, .now)
        let outcome = answer()
        guard case .done = outcome else { throw error(outcome) }
    }

    /// Sends one of the core's requests.
    public func perform(_ method: Request.Method) -> Outcome {
        client.send(method, requestID: nextID(), now: .now)
        return answer()
    }

    /// Reads the node's event stream until it ends.
    ///
    /// - Parameter stop: a descriptor (of signals) that ends the watching when it can be read.
    /// - Parameter piece: is given the bytes as they come; false ends the watching.
    /// - Returns: whether it was the database that ended it, in order.
    @discardableResult
    public func watch(
        _ path: [UInt8], stop: Int32? = nil, _ piece: ([UInt8]) -> Bool
    ) throws(TreeClientError) -> Bool {
        client.watch(path: trimmed(path), requestID: nextID(), now: .now)
        while true {
            while let next = client.nextPiece() {
                guard piece(next.bytes) else {
                    client.cancelAll()
                    return false
                }
            }
            if let answer = client.nextAnswer() {
                guard case .done = answer.outcome else { throw error(answer.outcome) }
                return true
            }
            if turn(stop: stop) {
                client.cancelAll()
                return false
            }
        }
    }

    /// What the client has to say about its credentials.
    public func nextNotice() -> Notice? { client.nextNotice() }

    private func answer() -> Outcome {
        while true {
            if let answer = client.nextAnswer() { return answer.outcome }
            _ = turn(stop: nil)
        }
    }

    /// Sleeps until something happens and takes it in.
    ///
    /// - Returns: whether the descriptor can be read.
    private func turn(stop: Int32?) -> Bool {
        let due = client.deadline.map { Duration.nanoseconds(max($0 - Clock.monotonic(), 0)) }
        let ready = http.wait(for: stop.map { [$0] } ?? [], timeout: due)
        while let event = http.nextEvent() { client.handle(event, now: .now) }
        client.tick(now: .now)
        return ready.contains(true)
    }

    private func nextID() -> Int {
        lastID += 1
        return lastID
    }

    private func trimmed(_ path: [UInt8]) -> [UInt8] {
        Array(path.split(separator: UInt8(ascii: "/")).joined(separator: [UInt8(ascii: "/")]))
    }

    private func error(_ outcome: Outcome) -> TreeClientError {
        switch outcome {
        case .done: TreeClientError("done")
        case .unauthorized(let text), .unavailable(let text, _), .unanswered(let text, _):
            TreeClientError("\(url): \(text)", isService: true)
        // What the database denies is no wrong path or value.
        case .refused(let status, let text):
            TreeClientError("\(url): \(text)", isService: [401, 403].contains(status))
        case .tooBig(let text): TreeClientError("\(url): \(text)")
        }
    }
}

extension Moment {
    fileprivate static var now: Moment {
        let (monotonic, wall) = Clock.now()
        return Moment(monotonic: monotonic, wall: wall)
    }
}
