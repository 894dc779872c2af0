import Arguments
import BridgeCore

/// Reads one mapping: which keys its `as` allows, and what each may hold.
struct MappingReader {
    let path: String
    let place: Place
    /// Nil where `as` does not say it: then what any form allows is checked.
    let form: MappingForm?
    let members: [Node.Member]

    /// The mapping of a node, also where something is wrong with it that does not keep others from
    /// being checked against it; nil otherwise. What is wrong is told.
    static func read(_ node: Node, path: String, _ findings: inout Findings) -> Mapping? {
        guard case .mapping(let members) = node.content else {
            findings.add(node, path, expected: "a mapping with topic, as and node")
            return nil
        }
        let form = members.first { sameBytes($0.name, "as") }.flatMap { kind in
            Form.choice(MappingForm.allCases).read(kind.value, "\(path).as", &findings)
        }
        let reader = Self(path: path, place: node.place, form: form, members: members)
        reader.checkKeys(&findings)
        return reader.mapping(&findings)
    }

    /// Where a key stands, or the whole mapping where it does not.
    static func place(of key: String, in node: Node) -> Place {
        guard case .mapping(let members) = node.content,
            let member = members.first(where: { sameBytes($0.name, key) })
        else { return node.place }
        return member.value.place
    }

    private func checkKeys(_ findings: inout Findings) {
        let keys = ConfigurationKey.ofMapping
        let allowed = keys.filter { key in form.map { key.forms.contains($0.rawValue) } ?? true }
        for member in members {
            if let key = keys.first(where: { sameBytes($0.name, member.name) }) {
                guard let form, !key.forms.contains(form.rawValue) else { continue }
                findings.add(
                    member.place, "\(path).\(member.name)",
                    "expected it only with as: \(oneOf(key.forms)), found it with as: "
                        + form.rawValue)
            } else {
                findings.add(
                    member.place, "\(path).\(member.name)",
                    unknown(member.name, among: allowed.map(\.name)))
            }
        }
        for key in allowed where key.isRequired && member(key.name) == nil {
            let path = "\(path).\(key.name)"
            // What a variable was to give is left out here, and told already.
            guard form != nil || key.forms.count == MappingForm.allCases.count,
                !findings.list.contains(where: { sameBytes($0.key, path) })
            else { continue }
            findings.add(place, path, "expected \(key.kind.noun), found nothing")
        }
    }

    private func mapping(_ findings: inout Findings) -> Mapping? {
        let topic = read("topic", .topic, &findings)
        let form = mappingForm(&findings)
        let before = findings.list.count
        let fields = fields(&findings)
        // Without a field that could not be read, its places would be told to be unknown.
        let hasFields = findings.list.count == before
        let conditions = conditions(&findings)
        guard let topic, let form, hasFields else { return nil }
        return Mapping(topic: topic, form: form, fields: fields, when: conditions)
    }

    private func mappingForm(_ findings: inout Findings) -> Mapping.Form? {
        switch form {
        case .chunk:
            let index = read("index", .index, &findings)
            return template("node", &findings).map { .chunk(node: $0, index: index ?? .field) }
        case .message:
            let eventName = read("event_name", .eventName, &findings)
            return template("node", &findings).map { .message(node: $0, eventName: eventName) }
        case .run:
            if ["status", "marker", "stream"].allSatisfy({ member($0) == nil }) {
                findings.add(
                    place, path, "expected at least one of status, marker and stream, found none")
            }
            return runForm(&findings)
        case .value: return valueForm(&findings)
        case nil:
            _ = read("index", .index, &findings)
            _ = runForm(&findings)
            _ = valueForm(&findings)
            return nil
        }
    }

    private func runForm(_ findings: inout Findings) -> Mapping.Form {
        .run(
            status: template("status", &findings), marker: template("marker", &findings),
            stream: template("stream", &findings),
            eventName: read("event_name", .eventName, &findings))
    }

    private func valueForm(_ findings: inout Findings) -> Mapping.Form? {
        let value = read("value", .pointer, &findings)
        let write = read("write", .choice([Mapping.Write.set, .merge]), &findings)
        let tombstone = read(
            "tombstone", .choice([Mapping.Tombstone.delete, .ignore, .reject]), &findings)
        let guarded = read("guard", .pointers, &findings)
        return template("node", &findings).map { node in
            .value(
                .init(
                    node: node, value: value, write: write ?? .set, guardedBy: guarded ?? [],
                    tombstone: tombstone ?? .delete))
        }
    }

    private func member(_ name: String) -> Node.Member? {
        members.first { sameBytes($0.name, name) }
    }

    private func read<Value>(
        _ name: String, _ form: Form<Value>, _ findings: inout Findings
    ) -> Value? {
        guard let node = member(name)?.value else { return nil }
        return form.read(node, "\(path).\(name)", &findings)
    }

    private func template(_ name: String, _ findings: inout Findings) -> Template? {
        guard let node = member(name)?.value else { return nil }
        guard !node.isNull, case .scalar(let scalar) = node.content else {
            findings.add(node, "\(path).\(name)", expected: "a node's path")
            return nil
        }
        do {
            return try Template(scalar.text)
        } catch {
            findings.add(
                node.place, "\(path).\(name)",
                "expected a node's path, found \(node.found): \(error.description)")
            return nil
        }
    }

    private func fields(_ findings: inout Findings) -> [String: JSONPointer] {
        guard let node = member("fields")?.value, !node.isNull else { return [:] }
        guard case .mapping(let members) = node.content else {
            findings.add(node, "\(path).fields", expected: "a mapping of names to JSON Pointers")
            return [:]
        }
        var fields: [String: JSONPointer] = [:]
        for member in members {
            let key = "\(path).fields.\(member.name)"
            // A value mapping names its own inputs, and what has no form may become one.
            let inputs = form == .value ? nil : form?.inputs
            let isKnown =
                inputs.map { $0.contains { sameBytes($0, member.name) } }
                ?? (!member.name.isEmpty && member.name.utf8.allSatisfy(isWordByte))
            guard isKnown else {
                let message =
                    inputs.map { unknown(member.name, among: $0) }
                    ?? "expected a name of letters, digits and '_', found \(quote(member.name))"
                findings.add(member.place, key, message)
                continue
            }
            fields[member.name] = Form<JSONPointer>.pointer.read(member.value, key, &findings)
        }
        return fields
    }

    private func conditions(_ findings: inout Findings) -> [Mapping.Condition] {
        guard let node = member("when")?.value, !node.isNull else { return [] }
        guard case .mapping(let members) = node.content else {
            findings.add(
                node, "\(path).when", expected: "a mapping of JSON Pointers to lists of values")
            return []
        }
        var conditions: [Mapping.Condition] = []
        for member in members {
            let key = "\(path).when.\(member.name)"
            guard let pointer = JSONPointer(member.name) else {
                findings.add(
                    member.place, key,
                    "expected a JSON Pointer such as /type, found \(quote(member.name))")
                continue
            }
            if let values = Form<[String]>.values.read(member.value, key, &findings) {
                conditions.append(.init(pointer: pointer, values: values))
            }
        }
        return conditions
    }
}

/// `expected one of …, found '…'`, with the name that was probably meant.
func unknown(_ name: String, among names: [String]) -> String {
    let hint = nearest(name, among: names).map { " (did you mean \($0)?)" } ?? ""
    return "expected \(oneOf(names)), found \(quote(name))\(hint)"
}
