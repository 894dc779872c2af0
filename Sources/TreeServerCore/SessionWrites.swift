internal import JSON
internal import Tree
internal import TreeWire

// What sessions write.
extension TreeServer {
    /// Replaces a value; where the client shows the hash of what it has seen, only if that is still
    /// there: a step of a transaction.
    func put(_ request: SessionRequest, _ session: Session) throws(Refusal) -> SessionReply {
        let path = try path(request, mayBePriority: true)
        guard let data = request.member(SessionRequest.Name.data) else { throw .noData }
        let update = Update(
            path: path,
            value: try decode(
                request.tape, data, at: path, in: session.namespace, now: request.now))
        if let index = request.member(SessionRequest.Name.hash) {
            // Who may not write there, or not read, learns nothing of what is there.
            guard session.namespace.mayWrite(update, as: session.caller, at: request.now),
                session.namespace.mayRead(path, as: session.caller, at: request.now)
            else { throw .permissionDenied }
            let hash = request.tape.text(index)
            guard session.namespace.tree.get(path).nodeHash == hash else { return .stale }
        }
        try apply(
            update, to: session.namespace, at: path, as: .put, by: session.caller, now: request.now)
        return .done
    }

    /// Replaces several places below one.
    func merge(_ request: SessionRequest, _ session: Session) throws(Refusal) -> SessionReply {
        let path = try path(request)
        guard let data = request.member(SessionRequest.Name.data),
            request.tape.kind(data) == .object
        else { throw Refusal(400, "Invalid data; an update needs an object.") }
        let update = try updates(
            request.tape, data, below: path, in: session.namespace, at: request.now)
        try apply(
            update, to: session.namespace, at: path, as: .patch, by: session.caller,
            now: request.now)
        return .done
    }
}
