import BridgeCore
import KafkaRules

extension Form<[String]> {
    /// The brokers. A variable often holds several with commas: they are taken apart.
    static let brokers = Form(
        .list, expected: "a list of brokers, each host:port",
        write: { .list($0.map(Rendered.text)) },
        read: { node, key, findings in
            guard case .sequence(let elements) = node.content, !elements.isEmpty else {
                findings.add(node, key, expected: "a list of brokers, each host:port")
                return nil
            }
            var brokers: [String] = []
            for (index, element) in elements.enumerated() {
                let names = texts(of: element) ?? []
                if names.isEmpty || !names.allSatisfy(isBroker) {
                    findings.add(element, "\(key)[\(index)]", expected: "host:port")
                }
                brokers += names
            }
            return brokers
        })

    /// The parts of a scalar between commas, trimmed; nil for anything else.
    private static func texts(of node: Node) -> [String]? {
        guard !node.isNull, case .scalar(let scalar) = node.content else { return nil }
        return scalar.text.utf8.split(separator: UInt8(ascii: ",")).map { part in
            let part = part.drop { $0 == UInt8(ascii: " ") }
            let end = part.lastIndex { $0 != UInt8(ascii: " ") }.map(part.index(after:))
            return String(decoding: part[..<(end ?? part.startIndex)], as: UTF8.self)
        }
    }
}

extension Form<[Configuration.Property]> {
    /// librdkafka's own properties: texts by name. No value is ever quoted.
    static let properties = Form(
        .map, expected: "a mapping of librdkafka properties",
        write: { properties in
            .mapping(
                properties.map { property in
                    let value = PropertyRules.withoutUserInfo(property.value)
                    return (property.name, property.isSecret ? .secret : .text(value))
                })
        },
        read: { node, key, findings in
            guard !node.isNull else { return [] }
            guard case .mapping(let members) = node.content else {
                findings.add(
                    node.place, key,
                    "expected a mapping of librdkafka properties, found \(node.kind)")
                return nil
            }
            var properties: [Configuration.Property] = []
            for member in members {
                let key = "\(key).\(member.name)"
                let given = value(of: member.value)
                if let refusal = PropertyRules.refusal(member.name, value: given ?? "") {
                    findings.add(
                        member.place, key,
                        "expected \(refusal.expected), found "
                            + "\(refusal.found ?? quote(member.name)): \(refusal.reason)")
                } else if let given, isName(member.name) {
                    properties.append(.init(name: member.name, value: given))
                } else {
                    findings.add(
                        member.place, key, "expected a property and its text, found \(member.kind)")
                }
            }
            return properties
        })

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                isWordByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
            }
    }

    private static func value(of node: Node) -> String? {
        guard !node.isNull, case .scalar(let scalar) = node.content,
            !scalar.text.utf8.contains(0)
        else { return nil }
        return scalar.text
    }
}

extension Node {
    /// What stands there, without its text.
    fileprivate var kind: String {
        switch content {
        case .sequence: "a list"
        case .mapping: "a mapping"
        case .scalar: isNull ? "nothing" : "a text"
        }
    }
}

extension Node.Member {
    fileprivate var kind: String {
        guard case .scalar = value.content, !value.isNull else { return value.kind }
        return "something else"
    }
}

extension Form<StartPolicy> {
    static let start = Form(
        .start,
        expected: "earliest, latest, error or an RFC 3339 time such as 2026-04-23T00:00:00Z",
        parse: { scalar in
            switch Array(scalar.text.utf8) {
            case Array("earliest".utf8): .earliest
            case Array("latest".utf8): .latest
            case Array("error".utf8): .error
            default: Timestamp(Array(scalar.text.utf8)).map { .time($0.milliseconds) }
            }
        },
        write: { start in
            switch start {
            case .earliest: .word("earliest")
            case .latest: .word("latest")
            case .error: .word("error")
            case .time(let time):
                .word(String(decoding: Timestamp.text(milliseconds: time), as: UTF8.self))
            }
        })
}
