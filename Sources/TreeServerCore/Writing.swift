internal import JSON
internal import Tree
internal import TreeWire

// PUT, PATCH, POST, DELETE.
extension TreeServer {
    func put(_ call: Call) throws(Refusal) -> TreeResponse {
        try checkWrite(call)
        if let mismatch = try mismatch(call) { return mismatch }
        let value = try decode(
            parse(call.request.body), at: call.path, in: call.namespace, now: call.now)
        return try replace(call, with: value)
    }

    func delete(_ call: Call) throws(Refusal) -> TreeResponse {
        try checkWrite(call)
        if let mismatch = try mismatch(call) { return mismatch }
        return try replace(call, with: .null)
    }

    func post(
        _ call: Call, using random: inout some RandomNumberGenerator
    ) throws(Refusal) -> TreeResponse {
        try checkWrite(call)
        try refuseIfMatch(call)
        let name = pushIDs.next(at: call.now, using: &random)
        let path = call.path.appending(name)
        let value = try decode(
            parse(call.request.body), at: path, in: call.namespace, now: call.now)
        try apply(
            Update(path: path, value: value), to: call.namespace, at: path, as: .put,
            by: call.caller, now: call.now)
        var response = TreeResponse(200, Value.node([(Array("name".utf8), .string(name))]).json())
        if call.parameters.print == .silent { response = TreeResponse(204, [], type: nil) }
        if call.wantsETag { response.add("ETag", eTag(of: call.namespace.tree.get(path))) }
        return response
    }

    func patch(_ call: Call) throws(Refusal) -> TreeResponse {
        try checkWrite(call)
        try refuseIfMatch(call)
        let tape = try parse(call.request.body)
        if tape.kind(0) == .null { return try replace(call, with: .null) }
        guard tape.kind(0) == .object else {
            throw Refusal(400, "Invalid data; a PATCH needs a JSON object or null.")
        }
        let update = try updates(tape, 0, below: call.path, in: call.namespace, at: call.now)
        try apply(
            update, to: call.namespace, at: call.path, as: .patch, by: call.caller,
            now: call.now)
        if call.parameters.print == .silent { return TreeResponse(204, [], type: nil) }
        let body = patchJSON(
            update.writes.map { $0.relative(to: call.path.depth) }, call.parameters.style)
        return TreeResponse(200, body)
    }

    private func checkWrite(_ call: Call) throws(Refusal) {
        guard call.request.body.count <= options.limits.writeBytesMax else { throw .tooBig }
        guard call.parameters.query == nil, !call.parameters.shallow else { throw .queryOnWrite }
        guard call.parameters.callback == nil else {
            throw Refusal(400, "callback is supported on GET only")
        }
        try refuseMixing(call)
    }

    private func refuseIfMatch(_ call: Call) throws(Refusal) {
        guard call.request.headers.ifMatch == nil else {
            throw Refusal(400, "if-match is supported on PUT and DELETE only")
        }
    }

    /// Where `if-match` names another value than the one that stands there: the answer that shows
    /// it.
    private func mismatch(_ call: Call) throws(Refusal) -> TreeResponse? {
        guard let wanted = call.request.headers.ifMatch else { return nil }
        // The answer shows the value, and that it is another is to know something of it.
        guard call.namespace.mayRead(call.path, as: call.caller, at: call.now) else {
            throw .permissionDenied
        }
        let value = call.namespace.tree.get(call.path)
        let etag = eTag(of: value)
        guard wanted != etag else { return nil }
        var response = TreeResponse(412, value.json(call.parameters.style))
        response.add("ETag", etag)
        return response
    }

    /// Replaces the value at the place of the request; the answer shows what stands there now.
    private func replace(_ call: Call, with value: Value) throws(Refusal) -> TreeResponse {
        let update = Update(path: call.path, value: value)
        try apply(
            update, to: call.namespace, at: call.path, as: .put, by: call.caller,
            now: call.now)
        var response =
            call.parameters.print == .silent
            ? TreeResponse(204, [], type: nil)
            : TreeResponse(200, value.json(call.parameters.style))
        if call.wantsETag || call.request.headers.ifMatch != nil {
            response.add("ETag", eTag(of: value))
        }
        return response
    }

    private func parse(_ body: [UInt8]) throws(Refusal) -> JSONTape {
        guard !body.isEmpty else { throw .noData }
        do {
            return try parser.parse(body)
        } catch {
            throw .notJSON
        }
    }

    /// The value that a JSON value stands for, at a place and time.
    func decode(
        _ tape: JSONTape, _ index: Int = 0, at path: Path, in namespace: Namespace, now: Int64
    ) throws(Refusal) -> Value {
        let server = ValueDecoder.ServerValues(now: now) { namespace.tree.get($0) }
        do {
            return try decoder.decode(tape, index, at: path, server: server)
        } catch {
            throw Refusal(error, in: tape.bytes, limits: options.limits)
        }
    }

    /// The writes of an object: each member's name is a path below the place of the request.
    func updates(
        _ tape: JSONTape, _ object: Int, below base: Path, in namespace: Namespace, at now: Int64
    ) throws(Refusal) -> Update {
        var writes: [Update.Write] = []
        writes.reserveCapacity(Int(tape.tokens[object].count))
        for (name, index) in tape.members(of: object) {
            let path = try place(named: name, in: tape, below: base)
            let value = try decode(tape, index, at: path, in: namespace, now: now)
            writes.append(Update.Write(path: path, value: value))
        }
        do {
            return try Update(writes)
        } catch {
            throw Refusal(
                400,
                "Invalid data; update contains a path \(error.path.dropFirst(base.depth)) "
                    + "and its ancestor \(error.ancestor.dropFirst(base.depth))")
        }
    }

    /// The place that a member of a PATCH names; its last name may be `.priority`.
    private func place(
        named name: Int, in tape: JSONTape, below base: Path
    ) throws(Refusal) -> Path {
        let path = decoder.path(tape, name, below: base)
        let offset = Int(tape.tokens[name].start)
        let names = path.segments.span
        let end = path.isPriorityPlace ? names.count - 1 : names.count
        for index in base.depth..<max(end, base.depth)
        where !options.limits.allows(key: names[index]) {
            throw .badKey(tape.bytes, at: offset)
        }
        guard end <= options.limits.depthMax else {
            throw Refusal(ValueError(.tooDeep, at: offset), in: tape.bytes, limits: options.limits)
        }
        return path
    }
}
