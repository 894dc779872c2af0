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
        guard let session = sessions[upgrades[id] ?? id] else { return }
        do {
            if session.upgrade?.socket == id {
                try upgrading(frame, session, at: now)
            } else if let message = try session.assembler.feed(frame) {
                perform(message, session, at: now)
            }
        } catch {
            hangUp(session, "a message is longer than \(options.messageBytesMax) bytes", at: now)
        }
    }

    /// A session's client is gone, or was cut off: its `onDisconnect` writes take effect.
    public func disconnected(_ id: SessionID, at now: Int64) {
        if let upgraded = upgrades.removeValue(forKey: id) {
            guard let session = sessions[upgraded] else { return }
            if session.upgrade?.socket == id { return session.upgrade = nil }
            return end(session, at: now)
        }
        if let session = sessions[id] { end(session, at: now) }
    }

    func end(_ session: Session, at now: Int64) {
        guard sessions.removeValue(forKey: session.id) != nil else { return }
        if let upgrade = session.upgrade {
            upgrades[upgrade.socket] = nil
            output.append(.close(upgrade.socket))
        }
        for listen in session.listens.values { session.namespace.close(listen.stream) }
        session.listens = [:]
        runOnDisconnect(session, at: now)
        session.namespace.sessionCount -= 1
        forgetIfBlank(session.namespace)
    }

    /// Says something to a session's client.
    func tell(_ session: Session, _ message: [UInt8]) {
        guard session.poll != nil else { return output.append(.message(session.socket, message)) }
        if session.poll?.messages.isEmpty == true { polled.append(session.id) }
        session.poll?.say(message, bytesMax: options.pollBytesMax)
        // Not here: the writes of its end must not come between those that are being told.
        if session.poll?.isOverfull == true { tickDue = 0 }
    }

    /// Opens a session; the answer that makes a WebSocket of its connection.
    func connect(
        _ request: TreeRequest, _ target: RESTTarget, _ namespace: Namespace, at now: Int64,
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
        let id: SessionID
        if let name = target.parameter("s") {
            id = beginUpgrade(of: String(decoding: name, as: UTF8.self))
        } else {
            let session = open(namespace, using: &random)
            greet(session, host: request.headers.host, at: now)
            id = session.id
        }
        var response = TreeResponse(101, [], type: nil)
        response.headers = []
        response.add("Upgrade", "websocket")
        response.add("Sec-WebSocket-Accept", accept)
        return .session(id, response)
    }

    /// Opens a session.
    func open(_ namespace: Namespace, using random: inout some RandomNumberGenerator) -> Session {
        sessionsOpened += 1
        let session = Session(
            id: SessionID(number: sessionsOpened), name: randomName(&random), namespace: namespace,
            messageBytesMax: options.messageBytesMax)
        sessions[session.id] = session
        namespace.sessionCount += 1
        return session
    }

    /// A name that nobody guesses: 32 hexadecimal digits.
    func randomName(_ random: inout some RandomNumberGenerator) -> String {
        let digits = Array("0123456789abcdef")
        return String((0..<32).map { _ in digits[Int(random.next() & 15)] })
    }

    /// The first message: the server speaks first.
    func greet(_ session: Session, host: String?, at now: Int64) {
        let host = host ?? "127.0.0.1:9000"
        tell(session, SessionMessage.hello(now: now, host: host, session: session.name))
    }

    /// Ends a session whose client does not speak the protocol.
    func hangUp(_ session: Session, _ why: String, at now: Int64) {
        tell(session, SessionMessage.error(why))
        if session.poll == nil {
            output.append(.close(session.socket))
        } else {
            answerPoll(session, closing: true)
        }
        end(session, at: now)
    }

    /// Does what a message asks for.
    func perform(_ message: [UInt8], _ session: Session, at now: Int64) {
        guard let tape = try? parser.parse(message, depthMax: 128),
            let type = tape.member(SessionRequest.Name.type, of: 0),
            let data = tape.member(SessionRequest.Name.data, of: 0), tape.kind(data) == .object
        else { return hangUp(session, "expected {\"t\":…,\"d\":{…}}", at: now) }
        if tape.isText(type, Array("c".utf8)) {
            guard let inner = tape.member(SessionRequest.Name.type, of: data) else { return }
            if tape.isText(inner, Array("p".utf8)) { tell(session, SessionMessage.pong) }
            if tape.isText(inner, Array("n".utf8)) { finishUpgrade(session, at: now) }
            return
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
        tell(
            session,
            SessionMessage.reply(to: request.number, status: reply.status, data: reply.data))
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
