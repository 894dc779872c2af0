/// A whole request.
public struct HTTPServerRequest: Sendable {
    /// `GET`, `PUT`, …
    public var method: String
    /// Path and query as they stand in the request line, nothing decoded.
    public var target: [UInt8]
    /// The headers in their order.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]

    /// The path without its query, as a text.
    public var path: String {
        String(decoding: target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The value of the first header of that name, in any case.
    public func header(_ name: String) -> String? {
        headers.first { isSameName($0.name, name) }?.value
    }
}

private func isSameName(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lower($0) == lower($1) }
}

private func lower(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

/// An answer.
public struct HTTPServerResponse {
    /// What follows the head.
    public enum Body {
        /// These bytes.
        case bytes([UInt8])
        /// What the stream is given, until it is ended.
        case stream(HTTPServerStream)
        /// The connection becomes the socket's: status 101 with the headers of the handshake.
        case socket(HTTPServerSocket)
        /// Nothing yet: after so long the closure says what. The status and headers are its own.
        case later(milliseconds: Int64, () -> HTTPServerResponse)
        /// Nothing at all: the connection is closed.
        case cut
    }

    /// The HTTP status.
    public var status: Int
    /// Names and values. Length, date and framing are the server's.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Body
    /// Whether it waits until the server has called `settle`.
    public var waits = false

    /// Makes an answer.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Makes an answer with a whole body.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.init(status: status, headers: headers, body: .bytes(body))
    }
}
