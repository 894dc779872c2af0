internal import Tree
internal import TreeWire

// GET.
extension TreeServer {
    func get(_ call: Call) throws(Refusal) -> TreeAnswer {
        let headers = call.request.headers
        let parameters = call.parameters
        guard headers.ifMatch == nil else {
            throw Refusal(400, "if-match is supported on PUT and DELETE only")
        }
        try refuseMixing(call)
        try checkRead(call)
        if call.request.wantsEvents {
            return try listen(call)
        }
        let value = call.namespace.tree.get(call.path)
        var etag: String?
        if call.wantsETag || headers.ifNoneMatch != nil { etag = eTag(of: value) }
        if let etag, headers.ifNoneMatch == etag {
            var response = TreeResponse(304, [], type: nil)
            response.add("ETag", etag)
            return .response(response)
        }
        var response: TreeResponse
        if parameters.print == .silent {
            response = TreeResponse(204, [], type: nil)
        } else {
            response = try show(value, parameters)
        }
        if let etag { response.add("ETag", etag) }
        return .response(response)
    }

    /// Refuses a read that rules do not allow, or a query without its index.
    private func checkRead(_ call: Call) throws(Refusal) {
        let query = call.parameters.query
        guard call.namespace.mayRead(call.path, query, as: call.caller, at: call.now) else {
            throw .permissionDenied
        }
        guard let query, let message = call.namespace.missingIndex(for: query, at: call.path) else {
            return
        }
        throw Refusal(400, message)
    }

    /// A conditional request asks for the whole value, so it goes with no parameter that hides
    /// some.
    func refuseMixing(_ call: Call) throws(Refusal) {
        let headers = call.request.headers
        guard headers.ifMatch != nil || headers.ifNoneMatch != nil else { return }
        let parameters = call.parameters
        guard parameters.print != .silent, !parameters.shallow, parameters.query == nil else {
            throw .mixedConditional
        }
    }

    private func listen(_ call: Call) throws(Refusal) -> TreeAnswer {
        let parameters = call.parameters
        guard !parameters.shallow else {
            throw Refusal(400, "shallow is not supported on a stream")
        }
        guard !call.path.isPriorityPlace else {
            throw Refusal(400, "A priority cannot be listened to: listen to what has it")
        }
        let style: JSONStyle = parameters.export ? .export : .compact
        let listener = Listener(
            path: call.path, form: .events(style), caller: call.caller,
            window: parameters.query.map { QueryWindow($0) })
        return try openStream(listener, style: style, in: call.namespace, at: call.now)
    }

    /// The value as the parameters want to see it.
    private func show(_ value: Value, _ parameters: Parameters) throws(Refusal) -> TreeResponse {
        var shown = value
        var style = parameters.style
        if parameters.shallow {
            shown = shallow(value, parameters)
            style.arrays = false
        } else if let query = parameters.query {
            shown = query.select(from: value)
        }
        let body = shown.json(style)
        guard body.count <= options.readBytesMax else { throw .tooMuchRead }
        var response = TreeResponse(200, body)
        if let callback = parameters.callback {
            response = TreeResponse(
                200, try jsonp(callback, body), type: "application/javascript; charset=utf-8")
        }
        if let name = parameters.download {
            let safe = name.filter { $0.isASCII && !$0.isNewline && $0 != "\"" && $0 != "\\" }
            response.add("Content-Disposition", "attachment; filename=\"\(safe)\"")
        }
        return response
    }

    /// One page of a node's keys.
    private func shallow(_ value: Value, _ parameters: Parameters) -> Value {
        guard parameters.shallowAfter != nil || parameters.shallowLimit != nil else {
            return value.shallow
        }
        guard value.isObject else { return value.plain }
        let after = parameters.shallowAfter.map { ChildKey($0) }
        let keys = value.children.lazy.filter { child in after.map { $0 < child.key } ?? true }
        let page = keys.prefix(parameters.shallowLimit ?? .max)
        return .node(
            page.map { (name: $0.key.bytes, value: $0.value.isObject ? true : $0.value.plain) })
    }

    private func jsonp(_ callback: [UInt8], _ body: [UInt8]) throws(Refusal) -> [UInt8] {
        let isName = callback.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isName, !callback.isEmpty else {
            throw Refusal(400, "callback must be the name of a function")
        }
        return callback + Array("(".utf8) + body + Array(");".utf8)
    }

    /// The tag of a value: its node hash, or the word that stands for absence.
    func eTag(of value: Value) -> String {
        value.isNull ? "null_etag" : String(decoding: value.nodeHash, as: UTF8.self)
    }
}
