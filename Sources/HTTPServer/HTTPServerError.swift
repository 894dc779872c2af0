public import EventLoop

/// A server cannot listen.
public struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Where it was to listen.
    public var address: ListenAddress
    /// Why it cannot.
    public var reason: String

    /// One line: where and why.
    public var description: String { "cannot listen on \(address): \(reason)" }
}

/// What a server bears.
public struct HTTPServerLimits {
    /// The longest request body; a longer one is answered with `oversized`.
    public var bodyBytesMax = 64 * 1024
    /// The most connections at a time; more wait to be accepted.
    public var connectionsMax = 256
    /// A connection on which nothing moves for so long is closed, save an open stream that has
    /// nothing to send. Whole seconds.
    public var idleSeconds = 60
    /// How long a request may take to come whole, from the connection's beginning or the end of the
    /// answer before; nil: as long as something moves. With it, who has taken longest over a
    /// request is hung up on where no connection is left for others.
    public var requestTimeMax: Duration?
    /// The longest request line with headers.
    public var headBytesMax = 32 * 1024
    /// The answer to a body that is too long.
    public var oversized = HTTPServerResponse(
        status: 413, headers: [(name: "Content-Type", value: "text/plain; charset=utf-8")],
        body: Array("the request's body is too long\n".utf8))
    /// The answer to a request whose head two readers may read in two ways, by what is wrong with
    /// it. The connection ends after it: one that says its end twice is two requests to whoever
    /// stands between (RFC 9112, section 6.3).
    public var malformed: (String) -> HTTPServerResponse = { reason in
        HTTPServerResponse(
            status: 400, headers: [(name: "Content-Type", value: "text/plain; charset=utf-8")],
            body: Array("\(reason)\n".utf8))
    }

    /// The limits of a small service.
    public init() {}
}
