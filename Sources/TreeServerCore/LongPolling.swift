internal import JSON
internal import Tree
internal import TreeWire

// `/.lp`: for browsers whose WebSocket does not get through, or that do not trust it yet.
extension TreeServer {
    /// So long a poll may wait for something to be said, in milliseconds: browsers ask again after
    /// 25 s.
    static let pollMax: Int64 = 20_000
    /// A client that has not asked for so long is gone.
    static let pollSilenceMax: Int64 = 60_000
    /// Nor one that has dropped a poll and not asked again for so long.
    static let pollCutMax: Int64 = 5_000

    func poll(
        _ request: TreeRequest, _ target: RESTTarget, _ namespace: Namespace, at now: Int64,
        using random: inout some RandomNumberGenerator
    ) -> TreeAnswer {
        guard request.method == "GET" else {
            return .response(Refusal(405, "Method \(request.method) is not supported").response)
        }
        if target.parameter("start") != nil {
            return start(request, target, namespace, at: now, using: &random)
        }
        guard let number = target.parameter("id"), let password = target.parameter("pw"),
            let session = Int(String(decoding: number, as: UTF8.self)).flatMap({
                sessions[SessionID(number: $0)]
            }), session.poll?.password.utf8.elementsEqual(password) == true
        else { return script(Array("pLPCommand('close');".utf8)) }
        if target.parameter("dframe") != nil { return .response(farewellPage(target)) }
        if target.parameter("disconn") != nil {
            end(session, at: now)
            return script([])
        }
        return poll(session, target, at: now)
    }

    /// Opens a session. The script's functions find those of the page, which has the frame that
    /// polls.
    private func start(
        _ request: TreeRequest, _ target: RESTTarget, _ namespace: Namespace, at now: Int64,
        using random: inout some RandomNumberGenerator
    ) -> TreeAnswer {
        endUnasked(at: now)
        let callback = (target.parameter("cb") ?? []).filter(isLetterOrDigit).prefix(32)
        let session = open(namespace, using: &random)
        var poll = LongPoll(password: randomName(&random), at: now)
        tickDue = min(tickDue, now + Self.pollSilenceMax)
        let host = request.headers.host ?? "127.0.0.1:9000"
        poll.say(SessionMessage.hello(now: now, host: host, session: session.name))
        let suffix = String(decoding: callback, as: UTF8.self)
        var text = Array(
            """
            function pLPCommand(c,a,b){var f=parent["pLPCommand\(suffix)"];if(f)f(c,a,b)}
            function pRTLPCB(n,d){var f=parent["pRTLPCB\(suffix)"];if(f)f(n,d)}
            pLPCommand('start','\(session.id.number)','\(poll.password)');

            """.utf8)
        text.append(contentsOf: poll.answer(closing: false))
        session.poll = poll
        unasked.append(session.id)
        return script(text)
    }

    /// Makes room for one more session whose client has not asked yet: clients ask at once.
    private func endUnasked(at now: Int64) {
        guard unasked.count >= options.unaskedSessionsMax else { return }
        unasked.removeAll { sessions[$0]?.poll?.isAsked != false }
        guard unasked.count >= options.unaskedSessionsMax, let oldest = unasked.first else {
            return
        }
        unasked.removeFirst()
        if let session = sessions[oldest] { end(session, at: now) }
    }

    /// Takes what the client says, and waits for something to say.
    private func poll(_ session: Session, _ target: RESTTarget, at now: Int64) -> TreeAnswer {
        session.poll?.heard = now
        session.poll?.isAsked = true
        guard let messages = session.poll?.take(target, bytesMax: options.messageBytesMax) else {
            hangUp(session, "expected seg, ts and d of pieces", at: now)
            return script([])
        }
        // The client takes answers in their order: the older poll goes first.
        answerPoll(session, closing: false)
        for message in messages where sessions[session.id] != nil {
            perform(message, session, at: now)
        }
        if sessions[session.id] == nil {
            return script(session.poll?.answer(closing: true) ?? [])
        }
        if session.poll == nil { return script(lastAnswer(of: session)) }
        if session.poll?.messages.isEmpty == false {
            return script(session.poll?.answer(closing: false) ?? [])
        }
        let id = nextStreamID()
        session.poll?.waiting = id
        session.poll?.due = now + Self.pollMax
        polls[id] = session.id
        tickDue = min(tickDue, now + Self.pollMax)
        return .stream(id, scriptResponse([]))
    }

    /// Answers the polls of sessions that have something to say.
    func answerPolls() {
        guard !polled.isEmpty else { return }
        let ids = polled
        polled = []
        for id in ids {
            guard let session = sessions[id], session.poll?.messages.isEmpty == false else {
                continue
            }
            answerPoll(session, closing: false)
        }
    }

    /// Answers the poll that waits, if one does.
    func answerPoll(_ session: Session, closing: Bool) {
        guard let id = session.poll?.waiting, let text = session.poll?.answer(closing: closing)
        else { return }
        session.poll?.waiting = nil
        polls[id] = nil
        output.append(.send(id, text))
        output.append(.end(id))
    }

    /// The client has dropped its poll: either it asks again soon, or it is gone.
    func pollCut(_ id: SessionID) {
        sessions[id]?.poll?.waiting = nil
        sessions[id]?.poll?.isCut = true
        tickDue = 0
    }

    /// Answers a poll that has waited long enough, and ends a session that no longer polls.
    ///
    /// - Returns: when this is due again.
    func checkPoll(_ session: Session, at now: Int64) -> Int64 {
        guard var poll = session.poll else { return .max }
        if poll.isCut {
            poll.isCut = false
            poll.heard = min(poll.heard, now - Self.pollSilenceMax + Self.pollCutMax)
            session.poll = poll
        }
        if poll.isOverfull
            || poll.waiting == nil && now - poll.heard >= Self.pollSilenceMax
        {
            end(session, at: now)
            return .max
        }
        guard poll.waiting != nil else { return poll.heard + Self.pollSilenceMax }
        if poll.due > now { return poll.due }
        session.poll?.heard = now
        answerPoll(session, closing: false)
        return now + Self.pollSilenceMax
    }

    private func script(_ text: [UInt8]) -> TreeAnswer { .response(scriptResponse(text)) }

    private func scriptResponse(_ text: [UInt8]) -> TreeResponse {
        TreeResponse(200, text, type: "application/javascript; charset=utf-8")
    }

    /// A page in a frame that says goodbye when the client removes it.
    private func farewellPage(_ target: RESTTarget) -> TreeResponse {
        let id = (target.parameter("id") ?? []).filter(isLetterOrDigit)
        let password = (target.parameter("pw") ?? []).filter(isLetterOrDigit)
        let query =
            "id=\(String(decoding: id, as: UTF8.self))"
            + "&pw=\(String(decoding: password, as: UTF8.self))"
        let page = """
            <!DOCTYPE html><script>addEventListener("pagehide",function(){\
            fetch("/.lp?disconn=t&\(query)",{keepalive:true})})</script>

            """
        return TreeResponse(200, Array(page.utf8), type: "text/html; charset=utf-8")
    }
}

// From long polling to a WebSocket.
extension TreeServer {
    /// A polling client has opened a socket: the server is ready to change.
    func beginUpgrade(of name: String) -> SessionID {
        sessionsOpened += 1
        let socket = SessionID(number: sessionsOpened)
        let session = sessions.values.first { $0.name == name && $0.poll != nil }
        guard let session, session.upgrade == nil else {
            // Whose session is unknown, or already changes, stays where he is.
            output.append(.message(socket, SessionMessage.reset(host: "")))
            output.append(.close(socket))
            return socket
        }
        session.upgrade = Upgrade(
            socket: socket, assembler: MessageAssembler(bytesMax: options.messageBytesMax))
        upgrades[socket] = session.id
        output.append(.message(socket, SessionMessage.switching))
        return socket
    }

    /// A frame over the new socket: pings are answered, requests wait for the last poll.
    func upgrading(
        _ frame: [UInt8], _ session: Session, at now: Int64
    ) throws(MessageAssembler.Failure) {
        guard let message = try session.upgrade?.assembler.feed(frame),
            let socket = session.upgrade?.socket
        else { return }
        if let tape = try? parser.parse(message, depthMax: 128),
            let type = tape.member(SessionRequest.Name.type, of: 0),
            tape.isText(type, Array("c".utf8)),
            let data = tape.member(SessionRequest.Name.data, of: 0)
        {
            if let inner = tape.member(SessionRequest.Name.type, of: data),
                tape.isText(inner, Array("p".utf8))
            {
                output.append(.message(socket, SessionMessage.pong))
            }
            return
        }
        session.upgrade?.held.append(message)
        session.upgrade?.heldBytes += message.count
        if let bytes = session.upgrade?.heldBytes, bytes > options.messageBytesMax {
            throw .tooLong
        }
    }

    /// The client has said its last by polling: what follows goes over the socket, both ways.
    func finishUpgrade(_ session: Session, at now: Int64) {
        guard let upgrade = session.upgrade, session.poll != nil else { return }
        session.poll?.say(SessionMessage.switched)
        session.upgrade = nil
        session.socket = upgrade.socket
        session.assembler = upgrade.assembler
        session.lastAnswer = session.poll?.answer(closing: true)
        session.poll = nil
        for message in upgrade.held where sessions[session.id] != nil {
            perform(message, session, at: now)
        }
    }

    /// What the poll with which the client said its last is answered.
    private func lastAnswer(of session: Session) -> [UInt8] {
        defer { session.lastAnswer = nil }
        return session.lastAnswer ?? []
    }
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    default: false
    }
}
