internal import JSON
internal import Tree
internal import TreeWire

/// One client of the database's own protocol, over a WebSocket or long polling: what it listens to,
/// and what is to happen when it leaves.
final class Session {
    let id: SessionID
    /// By what its client calls it: unguessable.
    let name: String
    let namespace: Namespace
    /// The socket that is written to where there is no `poll`.
    var socket: SessionID
    /// Its client polls.
    var poll: LongPoll?
    /// The socket to which a polling client is changing.
    var upgrade: Upgrade?
    /// What the last poll is answered with once the client has changed to a socket.
    var lastAnswer: [UInt8]?
    var caller = Caller.anonymous
    var listens: [ListenKey: Listen] = [:]
    var onDisconnect = OnDisconnect()
    var assembler: MessageAssembler

    /// How a client names a listen: by its place, and its tag where it is filtered.
    struct ListenKey: Hashable {
        var path: Path
        var tag: Int64?
    }

    struct Listen {
        var stream: StreamID
        var query: Query?
        /// The query as the client wrote it.
        var queryText: [UInt8]?
    }

    init(id: SessionID, name: String, namespace: Namespace, messageBytesMax: Int) {
        self.id = id
        self.name = name
        socket = id
        self.namespace = namespace
        assembler = MessageAssembler(bytesMax: messageBytesMax)
    }
}

/// One request of a session, taken apart.
struct SessionRequest {
    var tape: JSONTape
    /// Its number as the client wrote it.
    var number: ArraySlice<UInt8>
    var action: String
    /// The body, an object.
    var body: Int
    var now: Int64

    /// The request of a message; nil where it is none.
    init?(_ tape: JSONTape, _ data: Int, at now: Int64) {
        guard let number = tape.member(Name.request, of: data), tape.kind(number) == .number,
            let action = tape.member(Name.action, of: data), tape.kind(action) == .string,
            let body = tape.member(Name.body, of: data), tape.kind(body) == .object
        else { return nil }
        self.tape = tape
        self.number = tape.raw(number)
        self.action = String(decoding: tape.text(action), as: UTF8.self)
        self.body = body
        self.now = now
    }

    func member(_ name: [UInt8]) -> Int? { tape.member(name, of: body) }

    /// The text of a member; nil where it is missing or no text.
    func text(_ name: [UInt8]) -> [UInt8]? {
        guard let index = member(name), tape.kind(index) == .string else { return nil }
        return tape.text(index)
    }

    /// The member names of the protocol.
    enum Name {
        static let action = Array("a".utf8)
        static let authOverride = Array("authvar".utf8)
        static let body = Array("b".utf8)
        static let credential = Array("cred".utf8)
        static let data = Array("d".utf8)
        static let hash = Array("h".utf8)
        static let noAuth = Array("noauth".utf8)
        static let path = Array("p".utf8)
        static let query = Array("q".utf8)
        static let request = Array("r".utf8)
        static let tag = Array("t".utf8)
        static let type = Array("t".utf8)
    }
}

/// What a request is answered with.
struct SessionReply {
    var status = "ok"
    /// JSON.
    var data: [UInt8]

    static let done = SessionReply(data: Array("\"\"".utf8))
    static let listening = SessionReply(data: Array("{}".utf8))
    static let unindexed = SessionReply(data: Array("{\"w\":[\"no_index\"]}".utf8))
    static let stale = SessionReply(
        status: "datastale", message: "Transaction hash does not match")

    init(status: String = "ok", data: [UInt8]) {
        self.status = status
        self.data = data
    }

    init(status: String, message: String) {
        self.status = status
        data = Value.string(Array(message.utf8)).json()
    }

    init(_ refusal: Refusal) {
        let status =
            switch refusal.cause {
            case .denied: "permission_denied"
            case .tooBig: "too_big"
            case .invalid: "failure"
            }
        self.init(status: status, message: refusal.message)
    }
}
