import Configuration

/// JSON as text, two spaces a level: enough to write a schema.
indirect enum SchemaValue: Sendable {
    case text(String)
    case raw(String)
    case list([SchemaValue])
    case object([(String, SchemaValue)])

    func render(indent: Int = 0) -> String {
        let space = String(repeating: " ", count: indent + 2)
        let end = String(repeating: " ", count: indent)
        switch self {
        case .raw(let raw): return raw
        case .text(let text):
            let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
            return "\"" + String(escaped) + "\""
        case .list(let values) where values.contains(where: \.isObject):
            let items = values.map { space + $0.render(indent: indent + 2) }
            return "[\n" + items.joined(separator: ",\n") + "\n" + end + "]"
        case .list(let values):
            return "[" + values.map { $0.render() }.joined(separator: ", ") + "]"
        case .object(let members):
            let lines = members.map {
                space + "\"\($0.0)\": " + $0.1.render(indent: indent + 2)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n" + end + "}"
        }
    }
}

extension SchemaValue {
    fileprivate var isObject: Bool {
        guard case .object = self else { return false }
        return true
    }
}

/// The editor's schema, made of the table of keys.
enum Schema {
    static var text: String {
        var members: [(String, SchemaValue)] = [
            ("$schema", .text("http://json-schema.org/draft-07/schema#")),
            ("title", .text("firebridge.yaml")),
            (
                "description",
                .text("The configuration of firebridge. See firebridge.yaml(5).")
            ),
        ]
        members += section(prefix: "")
        return SchemaValue.object(members).render() + "\n"
    }

    private static func section(prefix: String) -> [(String, SchemaValue)] {
        var properties: [(String, SchemaValue)] = []
        for key in ConfigurationKey.all where key.path.hasPrefix(prefix) {
            let rest = key.path.dropFirst(prefix.count).split(separator: ".")
            let name = String(rest[0])
            guard !properties.contains(where: { $0.0 == name }) else { continue }
            if rest.count == 1 {
                properties.append((name, .object(members(of: key))))
            } else {
                let inner = section(prefix: prefix + name + ".")
                properties.append((name, .object(inner)))
            }
        }
        return [
            ("type", prefix.isEmpty ? .text("object") : orNothing("object")),
            ("additionalProperties", .raw("false")),
            ("properties", .object(properties)),
        ]
    }

    private static func orNothing(_ type: String) -> SchemaValue {
        .list([.text(type), .text("null")])
    }

    private static func members(of key: ConfigurationKey) -> [(String, SchemaValue)] {
        var members = [("description", SchemaValue.text(key.summary))]
        members += type(of: key.kind)
        if key.kind != .mappings { members.append(("default", defaultValue(of: key))) }
        return members
    }

    private static func defaultValue(of key: ConfigurationKey) -> SchemaValue {
        switch key.kind {
        case .boolean, .integer, .map: .raw(key.defaultValue)
        case .list:
            .list(
                key.defaultValue.dropFirst().dropLast().split(separator: ", ").map {
                    .text(String($0))
                })
        default: .text(key.defaultValue == "\"\"" ? "" : unquoted(key.defaultValue))
        }
    }

    private static func unquoted(_ text: String) -> String {
        text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
    }

    /// A scalar may also be a variable, which only the bridge can judge.
    private static func orVariable(_ members: [(String, SchemaValue)]) -> [(String, SchemaValue)] {
        let variable: SchemaValue = .object([
            ("type", .text("string")),
            ("pattern", .text("\\$\\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\\}")),
        ])
        return [("anyOf", .list([.object(members), variable]))]
    }

    private static func type(of kind: ConfigurationKey.Kind) -> [(String, SchemaValue)] {
        switch kind {
        case .boolean: orVariable([("type", .text("boolean"))])
        case .integer(let range):
            orVariable([
                ("type", .text("integer")), ("minimum", .raw(String(range.lowerBound))),
                ("maximum", .raw(String(range.upperBound))),
            ])
        case .size:
            orVariable([
                ("type", .list([.text("string"), .text("integer")])),
                ("pattern", .text("^[0-9]+(KiB|MiB|GiB)?$")),
            ])
        case .duration(let range, let orZero):
            duration(hasZero: orZero || range.contains(.zero))
        case .choice(let names):
            orVariable([("enum", .list(names.map(SchemaValue.text)))])
        case .start, .text, .template: [("type", .text("string"))]
        case .pointer: [("type", .text("string")), ("pattern", .text("^(/.*)?$"))]
        case .list: [("type", .text("array")), ("items", .object([("type", .text("string"))]))]
        case .pointers:
            [
                ("type", .text("array")), ("minItems", .raw("1")),
                ("items", .object([("type", .text("string")), ("pattern", .text("^(/.*)?$"))])),
            ]
        case .map:
            [
                ("type", orNothing("object")),
                (
                    "additionalProperties",
                    .object([
                        (
                            "type",
                            .list([.text("string"), .text("number"), .text("boolean")])
                        )
                    ])
                ),
            ]
        case .pointerMap:
            [
                ("type", orNothing("object")),
                ("additionalProperties", .object([("type", .text("string"))])),
            ]
        case .filter:
            [
                ("type", orNothing("object")),
                (
                    "additionalProperties",
                    .object([("type", .text("array")), ("minItems", .raw("1"))])
                ),
            ]
        case .mappings:
            [("type", .text("array")), ("minItems", .raw("1")), ("items", mapping)]
        }
    }

    private static func duration(hasZero: Bool) -> [(String, SchemaValue)] {
        let text: SchemaValue = .object([
            ("type", .text("string")), ("pattern", .text("^[0-9]+(ms|s|m|h)$")),
        ])
        let members = [("anyOf", SchemaValue.list([text] + (hasZero ? [zero] : [])))]
        return orVariable(members)
    }

    private static let zero = SchemaValue.object([("enum", .list([.raw("0"), .text("0")]))])

    /// One mapping: what all have in common, and by `as` what each allows.
    private static var mapping: SchemaValue {
        let keys = ConfigurationKey.ofMapping
        let forms = Array(keys.first { $0.name == "as" }?.forms ?? [])
        let alternatives = forms.map { form -> SchemaValue in
            let allowed = keys.filter { $0.forms.contains(form) }
            let properties = allowed.map { key -> (String, SchemaValue) in
                guard key.name != "as" else { return ("as", .object([("const", .text(form))])) }
                var members = [("description", SchemaValue.text(key.summary))]
                members += type(of: key.kind)
                if let value = key.defaultValue { members.append(("default", .text(value))) }
                return (key.name, .object(members))
            }
            let required = allowed.filter(\.isRequired).map { SchemaValue.text($0.name) }
            return .object([
                ("type", .text("object")), ("additionalProperties", .raw("false")),
                ("required", .list(required)), ("properties", .object(properties)),
            ])
        }
        return .object([("oneOf", .list(alternatives))])
    }
}
