import BridgeCore

extension Mapping.IndexRule {
    /// The word of the configuration.
    var rawValue: String {
        switch self {
        case .field: "field"
        case .arrival: "arrival"
        }
    }
}

extension Form<Mapping.IndexRule> {
    static let index = Form(
        .choice(["field", "arrival"]), expected: "field or arrival",
        parse: { scalar in
            [.field, .arrival].first { sameBytes($0.rawValue, scalar.text) }
        },
        write: { .word($0.rawValue) })
}

extension Form<String> {
    static let eventName = text("an event's name") { !$0.isEmpty }
}

extension Form<JSONPointer> {
    static let pointer = Form(
        .pointer, expected: "a JSON Pointer such as /conversation/id",
        parse: { JSONPointer($0.text) },
        write: { .text($0.description) })
}

extension Form<[JSONPointer]> {
    static let pointers = Form(
        .pointers, expected: "a list of JSON Pointers such as [/version]",
        write: { .list($0.map { .text($0.description) }) },
        read: { node, key, findings in
            guard case .sequence(let elements) = node.content, !elements.isEmpty else {
                findings.add(node, key, expected: "a list of JSON Pointers such as [/version]")
                return nil
            }
            return elements.enumerated().compactMap { index, element in
                Form<JSONPointer>.pointer.read(element, "\(key)[\(index)]", &findings)
            }
        })
}

extension Form<[String]> {
    /// The values that a filter lets pass.
    static let values = Form(
        .list, expected: "a list of texts, numbers or booleans such as [A, B]",
        write: { .list($0.map(Rendered.text)) },
        read: { node, key, findings in
            guard case .sequence(let elements) = node.content, !elements.isEmpty else {
                findings.add(
                    node, key, expected: "a list of texts, numbers or booleans such as [A, B]")
                return nil
            }
            return elements.enumerated().compactMap { index, element in
                guard !element.isNull, case .scalar(let scalar) = element.content else {
                    findings.add(
                        element, "\(key)[\(index)]", expected: "a text, a number or a boolean")
                    return nil
                }
                return scalar.text
            }
        })
}

extension Form<[Mapping]> {
    /// The mappings, each for itself; `Loader.checkMappings` checks them against one another.
    static let mappings = Form(
        .mappings, expected: "a list of mappings",
        write: { .items($0.map(\.rendered)) },
        read: { node, key, findings in
            guard case .sequence(let elements) = node.content, !elements.isEmpty else {
                findings.add(node, key, expected: "a list of at least one mapping")
                return nil
            }
            return elements.enumerated().compactMap { index, element in
                MappingReader.read(element, path: "\(key)[\(index)]", &findings)
            }
        })
}

extension Mapping {
    /// The mapping as it may stand in the file.
    fileprivate var rendered: Rendered {
        var members: [(name: String, value: Rendered)] = [("topic", .text(topic))]
        func add(_ name: String, _ template: Template?) {
            if let template { members.append((name, .text(template.description))) }
        }
        func add(_ name: String, text: String?) {
            if let text { members.append((name, .text(text))) }
        }
        switch form {
        case .chunk(let node, let index):
            members.append(("as", .word("chunk")))
            add("node", node)
            members.append(("index", .word(index.rawValue)))
        case .run(let status, let marker, let stream, let eventName):
            members.append(("as", .word("run")))
            add("status", status)
            add("marker", marker)
            add("stream", stream)
            add("event_name", text: eventName)
        case .message(let node, let eventName):
            members.append(("as", .word("message")))
            add("node", node)
            add("event_name", text: eventName)
        case .value(let value):
            members.append(("as", .word("value")))
            add("node", value.node)
            add("value", text: value.value?.description)
            members.append(("write", .word(value.write.rawValue)))
            if !value.guardedBy.isEmpty {
                members.append(("guard", .list(value.guardedBy.map { .text($0.description) })))
            }
            members.append(("tombstone", .word(value.tombstone.rawValue)))
        }
        if !fields.isEmpty {
            let sorted = fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            members.append(
                ("fields", .mapping(sorted.map { ($0.key, .text($0.value.description)) })))
        }
        if !when.isEmpty {
            let conditions = when.map { condition in
                (condition.pointer.description, Rendered.list(condition.values.map(Rendered.text)))
            }
            members.append(("when", .mapping(conditions)))
        }
        return .mapping(members)
    }
}
