internal import JSON
public import Tree
public import TreeAuth
public import TreeRules
internal import TreeWire

/// A Realtime Database: requests and session messages in; answers, stream events and session
/// messages out. It opens no socket and reads no clock.
///
/// Every answer is whole when `answer` returns; a write has then taken effect and `nextOutput` has
/// its events. They come before the acknowledgement of a session's write, so that nobody knows of a
/// write earlier than its listeners.
public final class TreeServer {
    /// What can be chosen.
    public struct Options: Sendable {
        /// Refuse writes whose fence has been overtaken (contract section 7).
        public var fence = false
        /// What guards each database until it is given rules of its own; nil leaves it open.
        public var rules: Rules?
        /// What the database accepts.
        public var limits = TreeLimits()
        /// The most a read may answer, in bytes.
        public var readBytesMax = 256 * 1024 * 1024
        /// The longest message of a session's client, in bytes: a write of 16 MiB and its envelope.
        public var messageBytesMax = 16 * 1024 * 1024 + 64 * 1024
        /// The most places that one session may listen to.
        public var listensMax = 10_000
        /// The most that one session may leave to be written when it ends, in bytes.
        public var onDisconnectBytesMax = 16 * 1024 * 1024
        /// How much may wait for the next poll of a client that polls, in bytes.
        public var pollBytesMax = 16 * 1024 * 1024
        /// How many polling sessions may wait for their client's first poll; more end the oldest.
        public var unaskedSessionsMax = 1000
        /// How often an open stream says that it lives, in milliseconds.
        public var keepAliveInterval: Int64 = 30_000
        /// The database of a request that names none.
        public var defaultNamespace = "demo"

        /// The usual choice.
        public init() {}
    }

    /// What was chosen.
    public let options: Options
    /// Whose credentials count.
    public var authority = Authority.emulator {
        didSet { identities.removeAll() }
    }
    /// Whose credentials the last ones were, where it costs to find out.
    var identities: [Credential: Identity] = [:]
    /// Writes down what changes; nil where nothing is kept.
    var journal: Journal?
    let parser = JSONParser()
    var decoder: ValueDecoder
    var pushIDs = PushIDGenerator()
    private var namespaces: [[UInt8]: Namespace] = [:]
    /// One that was just made or emptied, until it is known whether there is anything in it.
    private var suspect: Namespace?
    private var open: [StreamID: OpenStream] = [:]
    private var streamsOpened = 0
    var sessions: [SessionID: Session] = [:]
    var sessionsOpened = 0
    /// Sockets to which polling clients have changed or are changing.
    var upgrades: [SessionID: SessionID] = [:]
    /// Polls that wait for something to be said.
    var polls: [StreamID: SessionID] = [:]
    /// Polling sessions whose client has not asked since it began, oldest first.
    var unasked: [SessionID] = []
    /// Polling sessions that have something to say.
    var polled: [SessionID] = []
    var output: [TreeOutput] = []
    private var outputIndex = 0
    /// No stream's sign of life is due, and no session's credential ends, earlier.
    var tickDue = Int64.max

    private struct OpenStream {
        var namespace: Namespace
        /// When its caller's credential ends.
        var expires: Int64
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
        defer { if let suspect { forgetIfBlank(suspect) } }
        do {
            return try route(request, at: now, using: &random)
        } catch {
            return .response(error.response)
        }
    }

    /// The databases in which there is something, by name.
    public var namespaceNames: [[UInt8]] {
        namespaces.filter { !$0.value.isBlank }.keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    func namespace(_ name: [UInt8]) -> Namespace {
        if let known = namespaces[name] { return known }
        let fresh = Namespace(name: name, rules: options.rules)
        namespaces[name] = fresh
        suspect = fresh
        return fresh
    }

    /// Whoever may do nothing may still name databases: those leave nothing behind.
    func forgetIfBlank(_ namespace: Namespace) {
        if suspect === namespace { suspect = nil }
        guard namespace.isBlank, namespaces[namespace.name] === namespace else { return }
        namespaces[namespace.name] = nil
    }
}

// Streams.
extension TreeServer {
    /// The next thing to be done with an open stream or session; nil where there is none.
    public func nextOutput() -> TreeOutput? {
        if outputIndex >= output.count { answerPolls() }
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
        if let namespace = open.removeValue(forKey: stream)?.namespace {
            namespace.close(stream)
            forgetIfBlank(namespace)
        }
        if let session = polls.removeValue(forKey: stream) { pollCut(session) }
    }

    /// How many streams are open.
    public var streamCount: Int { open.count }

    /// When `tick` is due, in milliseconds since 1970; nil where it never is.
    public var nextTick: Int64? {
        tickDue == .max || open.isEmpty && sessions.isEmpty ? nil : tickDue
    }

    /// So much time lies between two ticks at least, in milliseconds.
    private static let tickInterval: Int64 = 250

    /// Does what time asks for: each stream says regularly that it lives, credentials end, and who
    /// may no longer listen is told so.
    public func tick(at now: Int64) {
        guard now >= tickDue else { return }
        let due = open.filter { $0.value.keepAliveDue <= now }
        for (id, stream) in due.sorted(by: { $0.key < $1.key }) {
            if stream.expires <= now {
                end(id, saying: .authRevoked, "\"credential is no longer valid\"")
            } else if stream.namespace.hasLostAccess(id, at: now) {
                end(id, saying: .cancel, "null")
            } else {
                output.append(.send(id, keepAliveEvent))
                open[id]?.keepAliveDue = min(now + options.keepAliveInterval, stream.expires)
            }
        }
        let sessions = checkSessions(at: now)
        let next = min(open.values.lazy.map(\.keepAliveDue).min() ?? .max, sessions)
        // All are looked at: not for each of thousands by itself.
        tickDue = max(next, now + Self.tickInterval)
    }

    func nextStreamID() -> StreamID {
        streamsOpened += 1
        return StreamID(number: streamsOpened)
    }

    /// Ends what rules no longer allow: an event stream, or one listen of a session.
    func revoke(_ id: StreamID, in namespace: Namespace) {
        if let listener = namespace.listener(id),
            case .session(let session, let tag) = listener.form
        {
            revokeListen(Session.ListenKey(path: listener.path, tag: tag), of: session)
        } else {
            end(id, saying: .cancel, "null")
        }
    }

    private func end(_ id: StreamID, saying name: TreeEventName, _ data: String) {
        var event: [UInt8] = []
        event.append(event: name, data: Array(data.utf8))
        output.append(.send(id, event))
        output.append(.end(id))
        closed(id)
    }

    func openStream(
        _ listener: Listener, style: JSONStyle, in namespace: Namespace, at now: Int64
    ) throws(Refusal) -> TreeAnswer {
        let id = nextStreamID()
        let data = namespace.open(id, listener, at: now).json(style)
        guard data.count <= options.readBytesMax else {
            namespace.close(id)
            throw .tooMuchRead
        }
        let expires = listener.caller.expires ?? .max
        let due = min(now + options.keepAliveInterval, expires)
        open[id] = OpenStream(namespace: namespace, expires: expires, keepAliveDue: due)
        tickDue = min(tickDue, due)
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
        guard journal?.note(update, in: namespace.name) != false else { throw .tooBig }
        namespace.apply(update, at: place, as: change, now: now) { id, form, message in
            switch form {
            case .events: output.append(.send(id, message))
            case .session(let id, _):
                if let session = sessions[id] { tell(session, message) }
            }
        } revoke: {
            revoke($0, in: namespace)
        }
        if namespace.isBlank { suspect = namespace }
    }
}
