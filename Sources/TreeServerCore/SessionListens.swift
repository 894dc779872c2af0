internal import JSON
internal import Tree
internal import TreeWire

// What sessions read and listen to.
extension TreeServer {
    func listen(_ request: SessionRequest, _ session: Session) throws(Refusal) -> SessionReply {
        let (key, query) = try listen(of: request)
        let namespace = session.namespace
        guard namespace.mayRead(key.path, query, as: session.caller, at: request.now) else {
            throw .permissionDenied
        }
        if let old = session.listens.removeValue(forKey: key) { namespace.close(old.stream) }
        guard session.listens.count < options.listensMax else {
            throw Refusal(400, "A client may listen to \(options.listensMax) places at most")
        }
        let stream = nextStreamID()
        let value = namespace.open(
            stream,
            Listener(
                path: key.path, form: .session(session.id, tag: key.tag), caller: session.caller,
                window: query.map { QueryWindow($0) }), at: request.now)
        if namespace.listener(stream)?.dependsOnTime == true {
            tickDue = min(tickDue, request.now + options.keepAliveInterval)
        }
        let queryText = request.member(SessionRequest.Name.query).map {
            Array(request.tape.raw($0))
        }
        let data = value.json(.export)
        guard data.count <= MessageFrames.partsMax * MessageFrames.unitsMax else {
            namespace.close(stream)
            throw .tooMuchRead
        }
        session.listens[key] = Session.Listen(stream: stream, query: query, queryText: queryText)
        // A client that shows the hash of what it has need not be told again.
        let hash = request.text(SessionRequest.Name.hash) ?? []
        if hash.isEmpty || hash != value.nodeHash {
            let push = SessionMessage.data(.replaced, at: key.path, data, tag: key.tag)
            tell(session, push)
        }
        let isUnindexed = query.map { namespace.missingIndex(for: $0, at: key.path) != nil }
        return isUnindexed == true ? .unindexed : .listening
    }

    func unlisten(_ request: SessionRequest, _ session: Session) throws(Refusal) -> SessionReply {
        let (key, _) = try listen(of: request)
        if let listen = session.listens.removeValue(forKey: key) {
            session.namespace.close(listen.stream)
        }
        return .done
    }

    func get(_ request: SessionRequest, _ session: Session) throws(Refusal) -> SessionReply {
        let path = try path(request)
        let query = try query(of: request)
        let namespace = session.namespace
        guard namespace.mayRead(path, query, as: session.caller, at: request.now) else {
            throw .permissionDenied
        }
        if let query, let missing = namespace.missingIndex(for: query, at: path) {
            throw Refusal(400, missing)
        }
        let value = namespace.tree.get(path)
        let data = (query?.select(from: value) ?? value).json(.export)
        guard data.count <= MessageFrames.partsMax * MessageFrames.unitsMax else {
            throw .tooMuchRead
        }
        return SessionReply(data: data)
    }

    private func listen(
        of request: SessionRequest
    ) throws(Refusal) -> (key: Session.ListenKey, query: Query?) {
        let tag = request.member(SessionRequest.Name.tag).flatMap { request.tape.int64($0) }
        return (Session.ListenKey(path: try path(request), tag: tag), try query(of: request))
    }

    private func query(of request: SessionRequest) throws(Refusal) -> Query? {
        guard let index = request.member(SessionRequest.Name.query) else { return nil }
        return try Query(request.tape, index)
    }
}
