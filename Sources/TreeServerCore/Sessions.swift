internal import JSON
internal import Tree
internal import TreeWire

// Sessions: connecting, messages in, leaving.
extension TreeServer {
    /// How many sessions are open.
    public var sessionCount: Int { sessions.count }

    /// A frame of a session's client has come: UTF-8.
    ///
    /// Its answers, and what its writes mean for others, are in `nextOutput` when this returns.
    ///
    /// - Parameter now: milliseconds since 1970.
    public func received(_ frame: [UInt8], from id: SessionID, at now: Int64) {
        guard let session = sessions[id] else { return }
        do {
            guard let message = try session.assembler.feed(frame) else { return }
            perform(message, session, at: now)
        } catch {
            hangUp(session, "a message is longer than \(options.messageBytesMax) bytes", at: now)
        }
    }

    /// A session's client is gone, or was cut off: its `onDisconnect` writes take effect.
    public func disconnected(_ id: SessionID, at now: Int64) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        for listen in session.listens.values { session.namespace.close(listen.stream) }
        session.listens = [:]
        runOnDisconnect(session, at: now)
    }

    /// Opens a session; the answer that makes a WebSocket of its connection.
    func connect(
        _ request: TreeRequest, _ namespace: Namespace, at now: Int64,
        using random: inout some RandomNumberGenerator
    ) throws(Refusal) -> TreeAnswer {
        guard request.method == "GET",
            request.headers.upgrade?.lowercased().contains("websocket") == true,
            let key = request.headers.webSocketKey, let accept = WebSocketHandshake.accept(key)
        else { throw Refusal(400, "Expected the opening of a WebSocket connection") }
        guard request.headers.webSocketVersion == "13" else {
            var refusal = Refusal(426, "Only version 13 of the WebSocket protocol is spoken")
            refusal.response.add("Sec-WebSocket-Version", "13")
            throw refusal
        }
        let id = open(
            namespace, host: request.headers.host, at: now, using: &random)
        var response = TreeResponse(101, [], type: nil)
        response.headers = []
        response.add("Upgrade", "websocket")
        response.add("Sec-WebSocket-Accept", accept)
        return .session(id, response)
    }

    /// Opens a session and greets its client.
    func open(
        _ namespace: Namespace, host: String?, at now: Int64,
        using random: inout some RandomNumberGenerator
    ) -> SessionID {
        sessionsOpened += 1
        let id = SessionID(number: sessionsOpened)
        sessions[id] = Session(
            id: id, namespace: namespace, messageBytesMax: options.messageBytesMax)
        let name = (0..<16).map { _ in
            String(UInt8(truncatingIfNeeded: random.next() & 15), radix: 16)
        }
        let host = host ?? "127.0.0.1:9000"
        output.append(
            .message(id, SessionMessage.hello(now: now, host: host, session: name.joined())))
        return id
    }

    /// Ends a session whose client does not speak the protocol.
    func hangUp(_ session: Session, _ why: String, at now: Int64) {
        output.append(.message(session.id, SessionMessage.error(why)))
        output.append(.close(session.id))
        disconnected(session.id, at: now)
    }

    private func perform(_ message: [UInt8], _ session: Session, at now: Int64) {
        guard let tape = try? parser.parse(message, depthMax: 128),
            let type = tape.member(SessionRequest.Name.type, of: 0),
            let data = tape.member(SessionRequest.Name.data, of: 0), tape.kind(data) == .object
        else { return hangUp(session, "expected {\"t\":…,\"d\":{…}}", at: now) }
        if tape.isText(type, Array("c".utf8)) {
            // Nothing but a ping asks for an answer.
            guard let inner = tape.member(SessionRequest.Name.type, of: data),
                tape.isText(inner, Array("p".utf8))
            else { return }
            return output.append(.message(session.id, SessionMessage.pong))
        }
        guard let request = SessionRequest(tape, data, at: now) else {
            return hangUp(session, "expected a request {\"r\":…,\"a\":…,\"b\":{…}}", at: now)
        }
        let reply: SessionReply
        do {
            reply = try answer(request, session)
        } catch {
            reply = SessionReply(error)
        }
        output.append(
            .message(
                session.id,
                SessionMessage.reply(
                    to: request.number, status: reply.status, data: reply.data)))
    }

    private func answer(
        _ request: SessionRequest, _ session: Session
    ) throws(Refusal) -> SessionReply {
        switch request.action {
        case "q", "l": try listen(request, session)
        case "n", "u": try unlisten(request, session)
        case "g": try get(request, session)
        case "p": try put(request, session)
        case "m": try merge(request, session)
        case "o", "om": try queueOnDisconnect(request, session)
        case "oc": try cancelOnDisconnect(request, session)
        case "auth": authenticate(request, session, isAccessToken: false)
        case "gauth": authenticate(request, session, isAccessToken: true)
        case "unauth": signOut(session, at: request.now)
        // Statistics and App Check are accepted and mean nothing here. `unappeck` is no mistake
        // of ours.
        case "s", "appcheck", "unappcheck", "unappeck": .done
        default: throw Refusal(400, "Unknown action '\(request.action)'")
        }
    }

    /// The place that a request names.
    func path(_ request: SessionRequest, mayBePriority: Bool = false) throws(Refusal) -> Path {
        guard let text = request.text(SessionRequest.Name.path) else {
            throw Refusal(400, "Invalid path: p must be a string")
        }
        let path = Path(text)
        try check(path, mayBePriority: mayBePriority)
        return path
    }
}
