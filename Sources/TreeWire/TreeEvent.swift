public import JSON
public import Tree

/// What an event of a stream says.
public enum TreeEvent: Equatable, Sendable {
    /// The value at the path, from the place that is listened to, was replaced.
    case put(Path, Value)
    /// At the path these places below were replaced.
    case patch(Path, [Update.Write])
    /// The stream lives.
    case keepAlive
    /// The server ends the stream; the text says why, empty where it does not.
    case cancel(String)
    /// The credential has expired: connect again with a new one.
    case authRevoked

    /// Why an event cannot be understood.
    public enum Failure: Error, Equatable, Sendable {
        /// The data is not what the event's name promises.
        case data(event: String)
    }

    /// Reads an event; nil where its name is not one of the database's.
    public init?(
        _ event: ServerSentEvent, parser: JSONParser, decoder: inout ValueDecoder
    ) throws(Failure) {
        switch TreeEventName(rawValue: event.name) {
        case nil: return nil
        case .keepAlive: self = .keepAlive
        case .authRevoked: self = .authRevoked
        case .cancel:
            let text = String(decoding: event.data, as: UTF8.self)
            self = .cancel(text == "null" ? "" : text)
        case .put, .patch:
            do {
                let tape = try parser.parse(event.data)
                guard let path = tape.member(Array("path".utf8), of: 0),
                    let data = tape.member(Array("data".utf8), of: 0), tape.kind(path) == .string
                else { throw Failure.data(event: event.name) }
                let place = Path(tape.text(path))
                if event.name == TreeEventName.put.rawValue {
                    self = .put(place, try decoder.decode(tape, data))
                } else {
                    self = .patch(place, try Self.writes(tape, data, &decoder))
                }
            } catch {
                throw .data(event: event.name)
            }
        }
    }

    private static func writes(
        _ tape: JSONTape, _ data: Int, _ decoder: inout ValueDecoder
    ) throws -> [Update.Write] {
        guard tape.kind(data) == .object else { throw Failure.data(event: "patch") }
        var writes: [Update.Write] = []
        for (name, value) in tape.members(of: data) {
            let write = Update.Write(
                path: Path(tape.text(name)), value: try decoder.decode(tape, value))
            writes.append(write)
        }
        return writes
    }

    /// Applies the event to a replica of the place that is listened to.
    public func apply(to replica: inout Value) {
        switch self {
        case .put(let path, let value): replica.set(value, at: path)
        case .patch(let path, let writes):
            for write in writes { replica.set(write.value, at: path.appending(write.path)) }
        case .keepAlive, .cancel, .authRevoked: break
        }
    }
}
