/// Where a server listens: `127.0.0.1:9000`, `localhost:9000`, `[::1]:9000`. Port 0 lets the system
/// choose.
public struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A numeric address, or a name that resolves to one; without brackets.
    public var host: String
    /// The port.
    public var port: UInt16

    /// Makes an address of its parts.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`; nil where the text is not that.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        var host = text[..<colon]
        let digits = text[text.index(after: colon)...]
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(digits) else {
            return nil
        }
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// As `init` reads it.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

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
    /// The longest request line with headers.
    public var headBytesMax = 32 * 1024
    /// The answer to a body that is too long.
    public var oversized = HTTPServerResponse(
        status: 413, headers: [(name: "Content-Type", value: "text/plain; charset=utf-8")],
        body: Array("the request's body is too long\n".utf8))

    /// The limits of a small service.
    public init() {}
}
