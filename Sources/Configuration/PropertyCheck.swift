extension Loader {
    /// Asks librdkafka, through the caller, about each property that the bridge itself does not
    /// refuse, and tells of each where it stands.
    ///
    /// - Parameter problem: What is wrong with a property, by name and value; nil for nothing.
    mutating func checkProperties(_ problem: (String, String) -> String?) {
        guard let node = nodes.first(where: { sameBytes($0.key.path, "kafka.properties") })?.node,
            case .mapping(let members) = node.content
        else { return }
        for property in configuration.kafka.properties {
            guard let member = members.first(where: { sameBytes($0.name, property.name) }),
                let text = problem(property.name, property.value)
            else { continue }
            findings.add(
                member.place, "kafka.properties.\(member.name)",
                Self.hiding(property, of: member.value, in: Self.oneLine(text)))
        }
    }

    /// librdkafka ends some of its texts with a newline.
    private static func oneLine(_ text: String) -> String {
        let words = text.unicodeScalars.split { $0.value <= 0x20 || $0.value == 0x7F }
        return words.map { String($0) }.joined(separator: " ")
    }

    /// librdkafka's text, with `<secret>` for a secret, and for the value of a variable its name.
    private static func hiding(
        _ property: Configuration.Property, of node: Node, in text: String
    ) -> String {
        guard !property.value.isEmpty, case .scalar(let scalar) = node.content,
            let instead = property.isSecret ? "<secret>" : scalar.written
        else { return text }
        let text = Array(text.utf8)
        let value = Array(property.value.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index...].starts(with: value) {
                out += instead.utf8
                index += value.count
            } else {
                out.append(text[index])
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
