internal import JSON
internal import Tree
internal import TreeRules
internal import TreeWire

// What tools ask for beside the data.
extension TreeServer {
    func administer(
        _ request: TreeRequest, _ method: String, _ target: RESTTarget, _ namespace: Namespace,
        at now: Int64
    ) throws(Refusal) -> TreeResponse {
        let caller = try caller(request, target, in: namespace, at: now)
        guard caller.isAdmin || !isGuarded(namespace) else { throw .permissionDenied }
        switch (target.path.description, method) {
        case ("/.inspect/databases", "GET"): return databases()
        case ("/.settings/rules", "GET"): return rules(namespace, target)
        case ("/.settings/rules", "PUT"):
            return try put(rules: request.body, in: namespace, at: now)
        case ("/.settings/functionTriggers", "PUT"), ("/.settings/functionTriggers", "POST"):
            return TreeResponse(200, Array("{\"status\":\"ok\"}\n".utf8))  // nothing is triggered
        default:
            throw Refusal(404, "Nothing is served at \(target.path).json")
        }
    }

    private func databases() -> TreeResponse {
        var body: [UInt8] = [UInt8(ascii: "[")]
        for (index, name) in namespaceNames.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body.append(contentsOf: "{\"name\":".utf8)
            body.append(json: .string(name))
            body.append(UInt8(ascii: "}"))
        }
        body.append(UInt8(ascii: "]"))
        return TreeResponse(200, body)
    }

    private func rules(_ namespace: Namespace, _ target: RESTTarget) -> TreeResponse {
        guard let rules = namespace.rules else { return TreeResponse(200, openRules) }
        return TreeResponse(200, target.parameter("format") == nil ? rules.text : rules.strict)
    }

    /// Guards the database by other rules from now on. Streams that they do not allow end.
    private func put(rules text: [UInt8], in namespace: Namespace, at now: Int64) throws(Refusal)
        -> TreeResponse
    {
        do {
            namespace.rules = try Rules(text)
        } catch {
            throw Refusal(400, error.description)
        }
        journal?.note(rules: text, in: namespace.name)
        for id in namespace.listenersLosingAccess(at: now) { revoke(id, in: namespace) }
        return TreeResponse(200, Array("{\"status\":\"ok\"}\n".utf8))
    }
}

/// The rules of a database that was given none.
private let openRules = Array("{\"rules\":{\".read\":true,\".write\":true}}\n".utf8)
