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

    /// Takes from a session the listens that its client may no longer have.
    func recheckListens(of session: Session, at now: Int64) {
        session.rulesSeen = session.namespace.rulesChanges
        let sorted = session.listens.sorted { $0.value.stream < $1.value.stream }
        for (key, listen) in sorted
        where !session.namespace.mayRead(key.path, listen.query, as: session.caller, at: now) {
            session.listens[key] = nil
            session.namespace.close(listen.stream)
            output.append(
                .message(
                    session.id, SessionMessage.revoked(key.path, query: listen.queryText)))
        }
    }

    /// The rules of a database may have changed: its sessions' listens are asked for again.
    func recheckSessions(of namespace: Namespace, at now: Int64) {
        for session in sessions.values.sorted(by: { $0.id.number < $1.id.number })
        where session.namespace === namespace && session.rulesSeen != namespace.rulesChanges {
            recheckListens(of: session, at: now)
        }
    }

    /// Tells the clients whose credential has ended; they are nobody until they show another.
    func expireSessions(at now: Int64) {
        for session in sessions.values.sorted(by: { $0.id.number < $1.id.number }) {
            guard let expires = session.caller.expires, expires <= now else { continue }
            session.caller = .anonymous
            output.append(
                .message(
                    session.id,
                    SessionMessage.authRevoked(
                        status: "expired_token", message: "Auth token is expired.")))
            recheckListens(of: session, at: now)
        }
    }

    /// When the first credential of a session ends.
    var nextExpiry: Int64? { sessions.values.lazy.compactMap(\.caller.expires).min() }
}
