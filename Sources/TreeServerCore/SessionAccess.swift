internal import JSON
internal import Tree
internal import TreeWire

// Who a session's client is.
extension TreeServer {
    func authenticate(
        _ request: SessionRequest, _ session: Session, isAccessToken: Bool
    ) -> SessionReply {
        guard let token = request.text(SessionRequest.Name.credential) else {
            return SessionReply(status: "invalid_token", message: "cred must be a string")
        }
        var override: [UInt8]?
        if let index = request.member(SessionRequest.Name.authOverride) {
            override = Array(request.tape.raw(index))
        } else if request.member(SessionRequest.Name.noAuth) != nil {
            override = Array("null".utf8)
        }
        do {
            session.caller = try caller(
                Credential(token: token, isAccessToken: isAccessToken), override: override,
                at: request.now)
        } catch {
            return SessionReply(status: error.status, message: error.message)
        }
        if let expires = session.caller.expires { tickDue = min(tickDue, expires) }
        recheckListens(of: session, at: request.now)
        var data = Array("{\"auth\":".utf8)
        data.append(json: session.caller.auth)
        if let expires = session.caller.expires {
            data.append(contentsOf: ",\"expires\":\(expires / 1000)".utf8)
        }
        data.append(UInt8(ascii: "}"))
        return SessionReply(data: data)
    }

    func signOut(_ session: Session, at now: Int64) -> SessionReply {
        session.caller = .anonymous
        recheckListens(of: session, at: now)
        return .done
    }

    /// Takes from a session the listens that its client, being who it is now, may not have.
    private func recheckListens(of session: Session, at now: Int64) {
        for (key, listen) in session.listens.sorted(by: { $0.value.stream < $1.value.stream })
        where !session.namespace.keepsAccess(listen.stream, as: session.caller, at: now) {
            revokeListen(key, of: session.id)
        }
    }

    /// Tells a client that it may no longer listen somewhere.
    func revokeListen(_ key: Session.ListenKey, of id: SessionID) {
        guard let session = sessions[id], let listen = session.listens.removeValue(forKey: key)
        else { return }
        session.namespace.close(listen.stream)
        tell(session, SessionMessage.revoked(key.path, query: listen.queryText))
    }

    /// Tells the clients whose credential has ended, and those to whom time has closed a place.
    ///
    /// - Returns: when this is due again.
    func checkSessions(at now: Int64) -> Int64 {
        var due = Int64.max
        for session in sessions.values.sorted(by: { $0.id.number < $1.id.number }) {
            if let expires = session.caller.expires, expires <= now { expire(session, at: now) }
            due = min(due, session.caller.expires ?? .max, checkPoll(session, at: now))
            for (key, listen) in session.listens {
                if session.namespace.hasLostAccess(listen.stream, at: now) {
                    revokeListen(key, of: session.id)
                } else if session.namespace.listener(listen.stream)?.dependsOnTime == true {
                    due = min(due, now + options.keepAliveInterval)
                }
            }
        }
        return due
    }

    /// The client is nobody until it shows another credential.
    private func expire(_ session: Session, at now: Int64) {
        session.caller = .anonymous
        tell(
            session,
            SessionMessage.authRevoked(status: "expired_token", message: "Auth token is expired."))
        recheckListens(of: session, at: now)
    }
}
