internal import Tree
internal import TreeWire

/// A request that was understood so far: where in which database, with which parameters.
struct Call {
    var request: TreeRequest
    var method: String
    var path: Path
    var parameters: Parameters
    var namespace: Namespace
    var caller: Caller
    var now: Int64

    var wantsETag: Bool { request.headers.wantsETag?.lowercased() == "true" }
}

extension TreeServer {
    func route(
        _ request: TreeRequest, at now: Int64, using random: inout some RandomNumberGenerator
    ) throws(Refusal) -> TreeAnswer {
        if request.method == "OPTIONS" { return .response(preflight(request)) }
        let target = try read(request.target)
        let method = overridden(request, target)
        guard target.isJSON else {
            if target.path == Path(segments: [Array(".ws".utf8)]) {
                let namespace = namespace(try namespaceName(request, target))
                return try connect(request, target, namespace, at: now, using: &random)
            }
            if target.path == Path(segments: [Array(".lp".utf8)]) {
                let namespace = namespace(try namespaceName(request, target))
                return poll(request, target, namespace, at: now, using: &random)
            }
            guard target.path == .root else {
                return .response(
                    plain(404, "append .json to your request URI to use the REST API.\n"))
            }
            return .response(try welcome(request, target))
        }
        let name = try namespaceName(request, target)
        if let first = target.path.segments.first, first.first == UInt8(ascii: "."),
            !target.path.isPriorityPlace
        {
            return .response(try administer(request, method, target, namespace(name), at: now))
        }
        try check(target.path, mayBePriority: method != "POST" && method != "PATCH")
        let parameters = try Parameters(target)
        let namespace = namespace(name)
        let call = Call(
            request: request, method: method, path: target.path, parameters: parameters,
            namespace: namespace, caller: try caller(request, target, in: namespace, at: now),
            now: now)
        switch method {
        case "GET", "HEAD": return try get(call)
        case "PUT": return .response(try put(call))
        case "PATCH": return .response(try patch(call))
        case "POST": return .response(try post(call, using: &random))
        case "DELETE": return .response(try delete(call))
        default: throw Refusal(405, "Method \(method) is not supported")
        }
    }

    private func read(_ target: [UInt8]) throws(Refusal) -> RESTTarget {
        do {
            return try RESTTarget(target)
        } catch {
            switch error {
            case .percentEncoding: throw Refusal(400, "Invalid path: a % needs two digits after it")
            case .notUTF8: throw Refusal(400, "Invalid path: it is not UTF-8")
            case .emptySegment: throw Refusal(400, "Invalid path: it has an empty name")
            }
        }
    }

    /// Refuses a path that cannot be in a database.
    ///
    /// - Parameter mayBePriority: whether its last name may be `.priority`.
    func check(_ path: Path, mayBePriority: Bool) throws(Refusal) {
        let isPriority = mayBePriority && path.isPriorityPlace
        let names = isPriority ? path.segments.dropLast() : path.segments[...]
        guard names.count <= options.limits.depthMax else {
            throw Refusal(400, "Invalid path: deeper than \(options.limits.depthMax) levels")
        }
        for segment in names where !options.limits.allows(key: segment) {
            guard segment.count <= options.limits.keyBytesMax else {
                throw Refusal(
                    400, "Invalid path: a name is longer than \(options.limits.keyBytesMax) bytes")
            }
            throw Refusal(
                400, "Invalid path: names must not contain control characters or any of . # $ [ ] /"
            )
        }
    }

    /// `POST` may stand for another method where a proxy lets nothing else through.
    private func overridden(_ request: TreeRequest, _ target: RESTTarget) -> String {
        guard request.method == "POST" else { return request.method }
        let asked = target.parameter("x-http-method-override")
        let method = asked.map { String(decoding: $0, as: UTF8.self) }
        return (method ?? request.headers.methodOverride ?? request.method).uppercased()
    }

    /// The longest name of a database, in bytes: that of a key.
    private static let nameBytesMax = 768

    /// The database: `ns`, else the first label of the host, else the default.
    private func namespaceName(
        _ request: TreeRequest, _ target: RESTTarget
    ) throws(Refusal) -> [UInt8] {
        let name = nameAsked(request, target)
        guard name.count <= Self.nameBytesMax else {
            throw Refusal(
                400, "The name of a database must have at most \(Self.nameBytesMax) bytes")
        }
        return name
    }

    private func nameAsked(_ request: TreeRequest, _ target: RESTTarget) -> [UInt8] {
        if let name = target.parameter("ns"), !name.isEmpty { return name }
        let host = request.headers.host ?? ""
        let labels = host.prefix { $0 != ":" && $0 != "[" }.split(separator: ".")
        guard labels.count > 1, !labels.allSatisfy({ $0.allSatisfy(\.isNumber) }) else {
            return Array(options.defaultNamespace.utf8)
        }
        return Array(labels[0].utf8)
    }

    private func preflight(_ request: TreeRequest) -> TreeResponse {
        var response = TreeResponse(200, [], type: nil)
        response.add("Access-Control-Allow-Methods", "GET, PUT, PATCH, POST, DELETE, OPTIONS")
        response.add(
            "Access-Control-Allow-Headers",
            request.headers.requestedHeaders
                ?? "Authorization, Content-Type, X-Firebase-ETag, If-Match, If-None-Match")
        response.add("Access-Control-Expose-Headers", "ETag")
        response.add("Access-Control-Max-Age", "3600")
        return response
    }

    private func plain(_ status: Int, _ text: String) -> TreeResponse {
        TreeResponse(status, Array(text.utf8), type: "text/plain; charset=utf-8")
    }

    private func welcome(
        _ request: TreeRequest, _ target: RESTTarget
    ) throws(Refusal) -> TreeResponse {
        let host = request.headers.host ?? "127.0.0.1:9000"
        let name = String(decoding: try namespaceName(request, target), as: UTF8.self)
        return plain(
            200,
            """
            This is a firebridge tree, a database that speaks the REST API of Firebase Realtime Database.

            Database URL    http://\(host)/?ns=\(name)
            Read            curl 'http://\(host)/some/path.json?ns=\(name)'
            Write           curl -X PUT -d '{"a":1}' 'http://\(host)/some/path.json?ns=\(name)'
            Listen          curl -N -H 'Accept: text/event-stream' 'http://\(host)/some/path.json?ns=\(name)'
            Databases       curl 'http://\(host)/.inspect/databases.json'

            """)
    }
}
