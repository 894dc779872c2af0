/// One event as it came over the wire.
public struct ServerSentEvent: Equatable, Sendable {
    /// The event's name; `message` where the stream did not name it.
    public var name: String
    /// Its data, the lines joined by line feeds.
    public var data: [UInt8]

    /// Makes an event.
    public init(name: String, data: [UInt8]) {
        self.name = name
        self.data = data
    }
}

/// Cuts a byte stream of `text/event-stream` into events, however the bytes arrive.
public struct EventStreamParser {
    /// An event is longer than the parser keeps.
    public struct TooLong: Error, Equatable, Sendable {
        /// The limit, in bytes.
        public var bytesMax: Int
    }

    private let bytesMax: Int
    private var line: [UInt8] = []
    private var name = ""
    private var data: [UInt8] = []
    private var hasData = false
    /// The last byte was a carriage return: a line feed right after belongs to it.
    private var afterReturn = false
    private var isFirstLine = true

    /// A parser that refuses events longer than `bytesMax`.
    public init(bytesMax: Int = 512 * 1024 * 1024) { self.bytesMax = bytesMax }

    /// The events that are complete with these bytes, in order.
    public mutating func feed(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            defer { afterReturn = byte == 0x0D }
            if byte == 0x0A, afterReturn { continue }
            guard byte == 0x0A || byte == 0x0D else {
                guard line.count + data.count < bytesMax else { throw TooLong(bytesMax: bytesMax) }
                line.append(byte)
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isFirstLine = false
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(0x0A) }
            data.append(contentsOf: value)
            hasData = true
        default: break  // comments, `id`, `retry` and what may come: of no use here
        }
        return nil
    }

    private mutating func endEvent() -> ServerSentEvent? {
        defer {
            name = ""
            data = []
            hasData = false
        }
        guard hasData else { return nil }
        return ServerSentEvent(name: name.isEmpty ? "message" : name, data: data)
    }
}
