/// `${NAME}` and `${NAME:default}` in the values of a configuration; `$${` stands for `${`.
///
/// It works on values after YAML was read: a variable cannot change the file's structure, and one
/// in a comment is nothing. A default is taken as it stands, up to the first `}`. A variable that
/// is set to nothing is set.
struct Expansion {
    let environment: [String: String]

    /// The node with all its values expanded. A value whose variable is missing becomes nil and is
    /// left out; the findings say so.
    func expand(_ node: Node, key: String, _ findings: inout Findings) -> Node? {
        switch node.content {
        case .scalar(let scalar):
            guard let scalar = expand(scalar, at: node.place, key: key, &findings) else {
                return nil
            }
            return Node(content: .scalar(scalar), place: node.place)
        case .sequence(let elements):
            var expanded: [Node] = []
            for (index, element) in elements.enumerated() {
                let key = "\(key)[\(index)]"
                if let element = expand(element, key: key, &findings) { expanded.append(element) }
            }
            return Node(content: .sequence(expanded), place: node.place)
        case .mapping(let members):
            var expanded: [Node.Member] = []
            for var member in members {
                let key = key.isEmpty ? member.name : "\(key).\(member.name)"
                guard let value = expand(member.value, key: key, &findings) else { continue }
                member.value = value
                expanded.append(member)
            }
            return Node(content: .mapping(expanded), place: node.place)
        }
    }

    private func expand(
        _ scalar: Node.Scalar, at place: Place, key: String, _ findings: inout Findings
    ) -> Node.Scalar? {
        let text = Array(scalar.text.utf8)
        guard text.contains(UInt8(ascii: "$")) else { return scalar }
        var out: [UInt8] = []
        var names = false
        var failed = false
        var rest = text[...]
        while let byte = rest.first {
            if rest.starts(with: "$${".utf8) {
                out += "${".utf8
                rest = rest.dropFirst(3)
            } else if rest.starts(with: "${".utf8) {
                names = true
                guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                    findings.add(
                        place, key, "expected a '}' after '${' (write $${ for a literal '${')")
                    return nil
                }
                switch value(rest[(rest.startIndex + 2)..<end]) {
                case .success(let value): out += value.utf8
                case .failure(let missing):
                    findings.add(place, key, missing.message)
                    failed = true
                }
                rest = rest[(end + 1)...]
            } else {
                out.append(byte)
                rest = rest.dropFirst()
            }
        }
        guard !failed else { return nil }
        return Node.Scalar(
            text: String(decoding: out, as: UTF8.self), isPlain: scalar.isPlain,
            written: names ? scalar.text : nil)
    }

    private struct Missing: Error { let message: String }

    private func value(_ inside: ArraySlice<UInt8>) -> Result<String, Missing> {
        let colon = inside.firstIndex(of: UInt8(ascii: ":")) ?? inside.endIndex
        let name = String(decoding: inside[..<colon], as: UTF8.self)
        guard Self.isName(inside[..<colon]) else {
            return .failure(
                Missing(
                    message: "expected the name of an environment variable in '${…}', found "
                        + quote(name)))
        }
        if let value = environment[name] { return .success(value) }
        guard colon != inside.endIndex else {
            return .failure(
                Missing(
                    message: "expected the environment variable \(name), found it unset "
                        + "(set it, or write ${\(name):default})"))
        }
        return .success(String(decoding: inside[(colon + 1)...], as: UTF8.self))
    }

    private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return false }
        return bytes.allSatisfy(isWordByte)
    }
}

/// Whether a byte is one of `[A-Za-z0-9_]`.
func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
    default: false
    }
}
