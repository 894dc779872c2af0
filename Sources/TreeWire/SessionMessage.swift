public import Tree

/// What a server says in a session of the database's WebSocket protocol, version 5.
///
/// Each is one JSON text, `{"t":"c"|"d","d":…}`; `MessageFrames.cut` cuts it for the wire.
public enum SessionMessage {
    /// What a push says of a place.
    public enum Push: String, Sendable {
        /// The value there is now this.
        case replaced = "d"
        /// The children, or places below, that the data names are now these; null is gone.
        case merged = "m"
    }

    /// A push of data.
    ///
    /// - Parameters:
    ///   - data: JSON in the export form.
    ///   - tag: the client's name of a filtered listen.
    public static func data(_ push: Push, at path: Path, _ data: [UInt8], tag: Int64?) -> [UInt8] {
        var out = Array("{\"t\":\"d\",\"d\":{\"a\":\"\(push.rawValue)\",\"b\":{\"p\":".utf8)
        out.append(json: .string(path.joined))
        out.append(contentsOf: ",\"d\":".utf8)
        out.append(contentsOf: data)
        if let tag { out.append(contentsOf: ",\"t\":\(tag)".utf8) }
        out.append(contentsOf: "}}}".utf8)
        return out
    }

    /// The client may no longer listen.
    ///
    /// - Parameter query: the query object as the client sent it; nil for an unfiltered listen.
    public static func revoked(_ path: Path, query: [UInt8]?) -> [UInt8] {
        var out = Array("{\"t\":\"d\",\"d\":{\"a\":\"c\",\"b\":{\"p\":".utf8)
        out.append(json: .string(path.joined))
        if let query {
            out.append(contentsOf: ",\"q\":[".utf8)
            out.append(contentsOf: query)
            out.append(UInt8(ascii: "]"))
        }
        out.append(contentsOf: "}}}".utf8)
        return out
    }

    /// The credential no longer counts: clients connect again with a new one.
    public static func authRevoked(status: String, message: String) -> [UInt8] {
        var out = Array("{\"t\":\"d\",\"d\":{\"a\":\"ac\",\"b\":{\"s\":".utf8)
        out.append(json: .string(Array(status.utf8)))
        out.append(contentsOf: ",\"d\":".utf8)
        out.append(json: .string(Array(message.utf8)))
        out.append(contentsOf: "}}}".utf8)
        return out
    }

    /// The answer to a request.
    ///
    /// - Parameters:
    ///   - request: the request's number as the client wrote it.
    ///   - data: JSON.
    public static func reply(
        to request: some Collection<UInt8>, status: String, data: [UInt8]
    ) -> [UInt8] {
        var out = Array("{\"t\":\"d\",\"d\":{\"r\":".utf8)
        out.append(contentsOf: request)
        out.append(contentsOf: ",\"b\":{\"s\":".utf8)
        out.append(json: .string(Array(status.utf8)))
        out.append(contentsOf: ",\"d\":".utf8)
        out.append(contentsOf: data)
        out.append(contentsOf: "}}}".utf8)
        return out
    }

    /// The first message of a session.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - host: where the client is to connect again: what it called the server.
    ///   - session: the session's name.
    public static func hello(now: Int64, host: String, session: String) -> [UInt8] {
        var out = Array("{\"t\":\"c\",\"d\":{\"t\":\"h\",\"d\":{\"ts\":\(now),".utf8)
        out.append(contentsOf: "\"v\":\"5\",\"h\":".utf8)
        out.append(json: .string(Array(host.utf8)))
        out.append(contentsOf: ",\"s\":".utf8)
        out.append(json: .string(Array(session.utf8)))
        out.append(contentsOf: "}}}".utf8)
        return out
    }

    /// The answer to a ping. It must have data, or clients do not count it.
    public static let pong = Array("{\"t\":\"c\",\"d\":{\"t\":\"o\",\"d\":{}}}".utf8)

    /// The server is ready to change to this socket, from long polling.
    public static let switching = Array("{\"t\":\"c\",\"d\":{\"t\":\"a\",\"d\":{}}}".utf8)

    /// The last message before the change: what follows comes over the socket.
    public static let switched = Array("{\"t\":\"c\",\"d\":{\"t\":\"n\",\"d\":{}}}".utf8)

    /// Connect again.
    ///
    /// - Parameter host: where.
    public static func reset(host: String) -> [UInt8] {
        var out = Array("{\"t\":\"c\",\"d\":{\"t\":\"r\",\"d\":".utf8)
        out.append(json: .string(Array(host.utf8)))
        out.append(contentsOf: "}}".utf8)
        return out
    }

    /// The last message before the server hangs up on one who does not speak the protocol. Clients
    /// log it.
    public static func error(_ message: String) -> [UInt8] {
        var out = Array("{\"t\":\"c\",\"d\":{\"t\":\"e\",\"d\":".utf8)
        out.append(json: .string(Array(message.utf8)))
        out.append(contentsOf: "}}".utf8)
        return out
    }
}
