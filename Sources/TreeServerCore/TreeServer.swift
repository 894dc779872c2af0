internal import JSON
public import Tree
internal import TreeWire

/// A Realtime Database: requests in, answers and stream events out. It opens no socket and reads no
/// clock.
///
/// Every answer is whole when `answer` returns; a write has then taken effect and `nextOutput` has
/// its events.
public final class TreeServer {
    /// What can be chosen.
    public struct Options: Sendable {
        /// Refuse writes whose fence has been overtaken (contract section 7).
        public var fence = false
        /// What the database accepts.
        public var limits = TreeLimits()
        /// The most a read may answer, in bytes.
        public var readBytesMax = 256 * 1024 * 1024
        /// How often an open stream says that it lives, in milliseconds.
        public var keepAliveInterval: Int64 = 30_000
        /// The database of a request that names none.
        public var defaultNamespace = "demo"

        /// The usual choice.
        public init() {}
    }

    let options: Options
    let parser = JSONParser()
    var decoder: ValueDecoder
    var pushIDs = PushIDGenerator()
    private var namespaces: [[UInt8]: Namespace] = [:]
    private var open: [StreamID: OpenStream] = [:]
    private var streamsOpened = 0
    private var output: [StreamOutput] = []
    private var outputIndex = 0
    /// No stream's sign of life is due earlier.
    private var keepAliveDue = Int64.max

    private struct OpenStream {
        var namespace: Namespace
        var keepAliveDue: Int64
    }

    /// A server without any database yet: each is made when it is first named.
    public init(options: Options = Options()) {
        self.options = options
        decoder = ValueDecoder(limits: options.limits)
    }

    /// The answer to a request.
    ///
    /// - Parameter now: milliseconds since 1970.
    public func answer(
        _ request: TreeRequest, at now: Int64, using random: inout some RandomNumberGenerator
    ) -> TreeAnswer {
        do {
            return try route(request, at: now, using: &random)
        } catch {
            return .response(error.response)
        }
    }

    /// The databases, by name.
    public var namespaceNames: [[UInt8]] {
        namespaces.keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    func namespace(_ name: [UInt8]) -> Namespace {
        if let known = namespaces[name] { return known }
        let fresh = Namespace(name: name)
        namespaces[name] = fresh
        return fresh
    }
}

// Streams.
extension TreeServer {
    /// The next thing to be done with an open stream; nil where there is none.
    public func nextOutput() -> StreamOutput? {
        guard outputIndex < output.count else {
            output.removeAll(keepingCapacity: true)
            outputIndex = 0
            return nil
        }
        defer { outputIndex += 1 }
        return output[outputIndex]
    }

    /// A stream is gone: its client left, or was cut off.
    public func closed(_ stream: StreamID) {
        open.removeValue(forKey: stream)?.namespace.close(stream)
    }

    /// How many streams are open.
    public var streamCount: Int { open.count }

    /// When `tick` is due, in milliseconds since 1970; nil where it never is.
    public var nextTick: Int64? { open.isEmpty ? nil : keepAliveDue }

    /// Does what time asks for: each stream says regularly that it lives.
    public func tick(at now: Int64) {
        guard now >= keepAliveDue else { return }
        for (id, stream) in open.sorted(by: { $0.key < $1.key }) where stream.keepAliveDue <= now {
            output.append(.send(id, keepAliveEvent))
            open[id]?.keepAliveDue = now + options.keepAliveInterval
        }
        keepAliveDue = open.values.lazy.map(\.keepAliveDue).min() ?? .max
    }

    func openStream(
        _ stream: Namespace.Stream, in namespace: Namespace, at now: Int64
    ) throws(Refusal) -> TreeAnswer {
        streamsOpened += 1
        let id = StreamID(number: streamsOpened)
        let data = namespace.open(id, stream).json(stream.style)
        guard data.count <= options.readBytesMax else {
            namespace.close(id)
            throw .tooMuchRead
        }
        let due = now + options.keepAliveInterval
        open[id] = OpenStream(namespace: namespace, keepAliveDue: due)
        keepAliveDue = min(keepAliveDue, due)
        var event: [UInt8] = []
        event.append(event: .put, path: .root, data: data)
        return .stream(id, TreeResponse(200, event, type: "text/event-stream; charset=utf-8"))
    }

    /// Applies a change that its caller may make, and queues its events.
    func apply(
        _ update: Update, to namespace: Namespace, at place: Path, as change: Namespace.Change,
        by caller: Caller, now: Int64
    ) throws(Refusal) {
        guard namespace.mayWrite(update, as: caller, at: now) else { throw .permissionDenied }
        if options.fence, Fence.refuses(update, in: namespace.tree) { throw .permissionDenied }
        namespace.apply(update, at: place, as: change) { output.append(.send($0, $1)) }
    }
}
