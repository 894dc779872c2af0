/// A request to send.
public struct HTTPRequest: Sendable {
    /// A header's value.
    public enum Value: Sendable, ExpressibleByStringLiteral {
        case plain(String)
        /// Sent as it is, printed never.
        case secret(Secret)

        /// A plain value.
        public init(stringLiteral value: String) { self = .plain(value) }

        var bytes: [UInt8] {
            switch self {
            case .plain(let text): Array(text.utf8)
            case .secret(let secret): secret.reveal()
            }
        }
    }

    /// `GET`, `PATCH`, …
    public var method: String
    /// The whole URL, percent-encoded already. It is sent byte by byte as it stands.
    public var url: String
    /// What is added to the URL's query when it is sent, already encoded: `auth=…`.
    public var secretQuery: Secret?
    /// The headers, beside those that curl sends itself.
    public var headers: [(name: String, value: Value)]
    /// The body, nil for none.
    public var body: [UInt8]?
    /// The longest that the whole request may take once it has a connection slot; nil for no limit.
    public var timeout: Duration?
    /// The longest that the connection may be silent, in whole seconds: for streams.
    public var silenceMax: Duration?
    /// The largest body of an answer; nil takes the client's. Does not bind streams.
    public var responseBytesMax: Int?
    /// Whether the answer is told piece by piece as it comes.
    public var isStream: Bool

    /// Makes a request.
    public init(
        _ method: String, _ url: String, secretQuery: Secret? = nil,
        headers: [(name: String, value: Value)] = [], body: [UInt8]? = nil,
        timeout: Duration? = .seconds(10), silenceMax: Duration? = nil,
        responseBytesMax: Int? = nil, isStream: Bool = false
    ) {
        self.method = method
        self.url = url
        self.secretQuery = secretQuery
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.silenceMax = silenceMax
        self.responseBytesMax = responseBytesMax
        self.isStream = isStream
    }
}

/// An answer.
public struct HTTPResponse: Sendable {
    /// 200, 404, …
    public var status: Int
    /// Its headers.
    public var headers: HTTPHeaders
    /// Its body; empty at the end of a stream, whose pieces have been told before.
    public var body: [UInt8]
    /// How long what took.
    public var timings: Timings

    /// Durations since the request left the queue.
    public struct Timings: Equatable, Sendable {
        /// Until the TCP connection stood; zero on a reused one.
        public var connect = Duration.zero
        /// Until TLS stood; zero without TLS.
        public var tls = Duration.zero
        /// Until the first byte of the answer.
        public var firstByte = Duration.zero
        /// Until the end.
        public var total = Duration.zero
        /// How many connections were opened for it: 0 means that one was reused.
        public var connections = 0

        /// All zero.
        public init() {}
    }

    /// Makes an answer.
    public init(
        status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [],
        timings: Timings = Timings()
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.timings = timings
    }
}

/// The header lines of an answer, kept as they came and searched when asked.
public struct HTTPHeaders: Sendable {
    private(set) var lines: [[UInt8]] = []

    /// No headers.
    public init() {}

    mutating func append(line: some Sequence<UInt8>) { lines.append(Array(line)) }

    /// The value of the first header of that name, whatever its case, without the blanks around it.
    public subscript(name: String) -> String? {
        let name = Array(name.utf8).map(lowercased)
        for line in lines where line.count > name.count && line[name.count] == UInt8(ascii: ":") {
            guard zip(line, name).allSatisfy({ lowercased($0) == $1 }) else { continue }
            let blanks: Set<UInt8> = [0x09, 0x20]
            let value = line[(name.count + 1)...].drop { blanks.contains($0) }
            let end = value.lastIndex { !blanks.contains($0) }.map { $0 + 1 } ?? value.startIndex
            return String(decoding: value[..<end], as: UTF8.self)
        }
        return nil
    }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

/// What became of a request.
public enum HTTPEvent: Sendable {
    /// The answer; for a stream its end.
    case response(Int, HTTPResponse)
    /// A stream's answer begins.
    case head(Int, status: Int, headers: HTTPHeaders)
    /// A piece of a stream.
    case data(Int, [UInt8])
    /// There is no answer, or only a part of one.
    case failed(Int, HTTPError)
}
