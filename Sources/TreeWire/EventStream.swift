public import Tree

/// The name of an event on a stream.
public enum TreeEventName: String, Sendable {
    case put, patch, cancel
    case keepAlive = "keep-alive"
    case authRevoked = "auth_revoked"
}

extension [UInt8] {
    /// Appends one event of a stream: its name, its data on one line, an empty line.
    ///
    /// - Parameter data: JSON without line breaks.
    public mutating func append(event: TreeEventName, data: [UInt8]) {
        append(contentsOf: "event: ".utf8)
        append(contentsOf: event.rawValue.utf8)
        append(contentsOf: "\ndata: ".utf8)
        append(contentsOf: data)
        append(contentsOf: "\n\n".utf8)
    }

    /// Appends a `put` or `patch`: its path, from the place that is listened to, and its data.
    ///
    /// - Parameter data: JSON without line breaks.
    public mutating func append(event: TreeEventName, path: Path, data: [UInt8]) {
        append(contentsOf: "event: ".utf8)
        append(contentsOf: event.rawValue.utf8)
        append(contentsOf: "\ndata: {\"path\":".utf8)
        append(json: .string([UInt8(ascii: "/")] + path.joined))
        append(contentsOf: ",\"data\":".utf8)
        append(contentsOf: data)
        append(contentsOf: "}\n\n".utf8)
    }
}

/// The event that says that the stream lives: `keep-alive`.
public let keepAliveEvent: [UInt8] = {
    var event: [UInt8] = []
    event.append(event: .keepAlive, data: Array("null".utf8))
    return event
}()
