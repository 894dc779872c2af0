/// A request, as far as the tree server cares.
public struct TreeRequest: Sendable {
    /// `GET`, `PUT`, …
    public var method: String
    /// Path and query as they stand in the request line.
    public var target: [UInt8]
    /// The headers.
    public var headers: Headers
    /// The whole body.
    public var body: [UInt8]

    /// The headers that matter.
    public struct Headers: Sendable {
        /// `Host`.
        public var host: String?
        /// `Accept`.
        public var accept: String?
        /// `Authorization`.
        public var authorization: String?
        /// `X-Firebase-ETag`.
        public var wantsETag: String?
        /// `If-Match`.
        public var ifMatch: String?
        /// `If-None-Match`.
        public var ifNoneMatch: String?
        /// `X-HTTP-Method-Override`.
        public var methodOverride: String?
        /// `Access-Control-Request-Headers`.
        public var requestedHeaders: String?

        /// `Upgrade`.
        public var upgrade: String?
        /// `Sec-WebSocket-Key`.
        public var webSocketKey: String?
        /// `Sec-WebSocket-Version`.
        public var webSocketVersion: String?

        /// No headers.
        public init() {}

        /// The headers that a lookup by name, in any case, gives.
        public init(_ lookup: (String) -> String?) {
            host = lookup("Host")
            accept = lookup("Accept")
            authorization = lookup("Authorization")
            wantsETag = lookup("X-Firebase-ETag")
            ifMatch = lookup("If-Match")
            ifNoneMatch = lookup("If-None-Match")
            methodOverride = lookup("X-HTTP-Method-Override")
            requestedHeaders = lookup("Access-Control-Request-Headers")
            upgrade = lookup("Upgrade")
            webSocketKey = lookup("Sec-WebSocket-Key")
            webSocketVersion = lookup("Sec-WebSocket-Version")
        }
    }

    /// Whether an event stream is asked for.
    var wantsEvents: Bool {
        headers.accept?.lowercased().contains("text/event-stream") == true
    }

    /// Makes a request.
    public init(
        method: String, target: [UInt8], headers: Headers = Headers(), body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}

/// A whole answer.
public struct TreeResponse: Equatable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// Names and values; the length is the shell's.
    public var headers: [Header]
    /// The body.
    public var body: [UInt8]

    /// One header.
    public struct Header: Equatable, Sendable {
        /// Its name.
        public var name: String
        /// Its value.
        public var value: String
    }

    init(_ status: Int, _ body: [UInt8], type: String? = jsonType) {
        self.status = status
        self.body = body
        headers = [
            Header(name: "Access-Control-Allow-Origin", value: "*"),
            Header(name: "Cache-Control", value: "no-cache"),
        ]
        if let type { add("Content-Type", type) }
    }

    mutating func add(_ name: String, _ value: String) {
        headers.append(Header(name: name, value: value))
    }

    /// The value of the first header of that name.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

let jsonType = "application/json; charset=utf-8"

/// Names an event stream; never used twice.
public struct StreamID: Hashable, Sendable {
    let number: Int
}

/// Names a session; never used twice.
public struct SessionID: Hashable, Sendable {
    let number: Int
}

/// What a request is answered with.
public enum TreeAnswer: Sendable {
    /// A whole answer.
    case response(TreeResponse)
    /// An answer that stays open: its head with the first bytes as body, then what
    /// `TreeServer.nextOutput` says for that stream.
    case stream(StreamID, TreeResponse)
    /// The connection becomes a WebSocket: its head, then what `TreeServer.nextOutput` says for
    /// that session. Give its text frames to `TreeServer.received` and its end to `disconnected`.
    case session(SessionID, TreeResponse)
}

/// What is to be done with an open stream or session.
public enum TreeOutput: Equatable, Sendable {
    /// Send these bytes, one event.
    case send(StreamID, [UInt8])
    /// End it: the server has said so in its last event.
    case end(StreamID)
    /// Send the session's client this message, cut by `MessageFrames`.
    case message(SessionID, [UInt8])
    /// Hang up on the session's client after what it was sent. It is gone already for the server.
    case close(SessionID)
}
