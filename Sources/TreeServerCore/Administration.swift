internal import JSON
internal import Tree
internal import TreeWire

// What tools ask for beside the data.
extension TreeServer {
    func administer(
        _ request: TreeRequest, _ method: String, _ target: RESTTarget, _ namespace: Namespace
    ) throws(Refusal) -> TreeResponse {
        switch (target.path.description, method) {
        case ("/.inspect/databases", "GET"): return databases()
        case ("/.settings/rules", "GET"): return try rules(namespace, target)
        case ("/.settings/rules", "PUT"): return try put(rules: request.body, in: namespace)
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

    private func rules(_ namespace: Namespace, _ target: RESTTarget) throws(Refusal) -> TreeResponse
    {
        guard target.parameter("format") == nil else {
            return TreeResponse(200, withoutComments(namespace.rules))
        }
        return TreeResponse(200, namespace.rules)
    }

    /// Stores the text of rules as it is, where it is JSON (with comments) of the right shape.
    private func put(rules text: [UInt8], in namespace: Namespace) throws(Refusal) -> TreeResponse {
        guard let tape = try? parser.parse(withoutComments(text)),
            let rules = tape.member(Array("rules".utf8), of: 0), tape.kind(rules) == .object,
            tape.tokens[0].count == 1
        else { throw Refusal(400, "Rules must be a JSON object with the single member \"rules\"") }
        namespace.rules = text
        return TreeResponse(200, Array("{\"status\":\"ok\"}\n".utf8))
    }
}

/// JSON without `//` and `/* */` comments outside strings. Line breaks stay.
private func withoutComments(_ text: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var index = 0
    var inString = false
    while index < text.count {
        let byte = text[index]
        let next = index + 1 < text.count ? text[index + 1] : 0
        if inString {
            if byte == UInt8(ascii: "\\"), index + 1 < text.count {
                out.append(byte)
                index += 1
            } else if byte == UInt8(ascii: "\"") {
                inString = false
            }
            out.append(text[index])
            index += 1
        } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/") {
            while index < text.count, text[index] != UInt8(ascii: "\n") { index += 1 }
        } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
            index += 2
            while index < text.count,
                !(text[index - 1] == UInt8(ascii: "*") && text[index] == UInt8(ascii: "/"))
            {
                index += 1
            }
            index += 1
        } else {
            inString = byte == UInt8(ascii: "\"")
            out.append(byte)
            index += 1
        }
    }
    return out
}
