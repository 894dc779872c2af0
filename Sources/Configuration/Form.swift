/// What a key may hold: how it is read, written and described.
struct Form<Value: Sendable>: Sendable {
    /// For the editor's schema and the documentation.
    let kind: ConfigurationKey.Kind
    /// For errors: `expected …`.
    let expected: String
    /// The value of a node; nil after it has told what is wrong.
    let read: @Sendable (Node, _ key: String, inout Findings) -> Value?
    /// The value for YAML.
    let write: @Sendable (Value) -> Rendered

    /// A form whose values are one scalar each.
    init(
        _ kind: ConfigurationKey.Kind, expected: String,
        parse: @escaping @Sendable (Node.Scalar) -> Value?,
        write: @escaping @Sendable (Value) -> Rendered
    ) {
        self.init(kind, expected: expected, write: write) { node, key, findings in
            guard !node.isNull, case .scalar(let scalar) = node.content,
                let value = parse(scalar)
            else {
                findings.add(node, key, expected: expected)
                return nil
            }
            return value
        }
    }

    init(
        _ kind: ConfigurationKey.Kind, expected: String,
        write: @escaping @Sendable (Value) -> Rendered,
        read: @escaping @Sendable (Node, _ key: String, inout Findings) -> Value?
    ) {
        self.kind = kind
        self.expected = expected
        self.read = read
        self.write = write
    }
}

extension Node.Scalar {
    /// The text where it may be a number or a boolean: quotes make it a text, unless the value is
    /// the environment's, which many write in quotes.
    var word: String? { isPlain || written != nil ? text : nil }
}

extension Form<Bool> {
    static let boolean = Form(
        .boolean, expected: "true or false",
        parse: { scalar in
            switch scalar.word.map({ Array($0.utf8) }) {
            case Array("true".utf8): true
            case Array("false".utf8): false
            default: nil
            }
        },
        write: { .word($0 ? "true" : "false") })
}

extension Form<Int> {
    static func integer(_ range: ClosedRange<Int>) -> Form {
        Form(
            .integer(range),
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            parse: { scalar in
                guard let word = scalar.word, word.utf8.first != UInt8(ascii: "+"),
                    let value = Int(word), range.contains(value)
                else { return nil }
                return value
            },
            write: { .word(String($0)) })
    }

    static func size(_ range: ClosedRange<Int>) -> Form {
        let low = SizeText.write(range.lowerBound)
        let high = SizeText.write(range.upperBound)
        return Form(
            .size(range), expected: "a size from \(low) to \(high), such as 512KiB or 4MiB",
            parse: { scalar in
                guard let size = SizeText.parse(scalar.text), range.contains(size) else {
                    return nil
                }
                return size
            },
            write: { .word(SizeText.write($0)) })
    }
}

extension Form<Duration> {
    static func duration(_ range: ClosedRange<Duration>, orZero: Bool = false) -> Form {
        let low = DurationText.write(range.lowerBound)
        let high = DurationText.write(range.upperBound)
        let zero = orZero ? "0 or " : ""
        return Form(
            .duration(range, orZero: orZero),
            expected: "\(zero)a duration from \(low) to \(high), such as 200ms, 10s, 5m or 1h",
            parse: { scalar in
                guard let value = DurationText.parse(scalar.text),
                    range.contains(value) || orZero && value == .zero
                else { return nil }
                return value
            },
            write: { .word(DurationText.write($0)) })
    }
}

extension Form where Value: RawRepresentable, Value.RawValue == String {
    static func choice(_ values: [Value]) -> Form {
        let names = values.map(\.rawValue)
        return Form(
            .choice(names), expected: oneOf(names),
            parse: { scalar in values.first { sameBytes($0.rawValue, scalar.text) } },
            write: { .word($0.rawValue) })
    }
}

/// `a, b or c`.
func oneOf(_ names: [String]) -> String {
    guard names.count > 1, let last = names.last else { return names.first ?? "nothing" }
    return names.dropLast().joined(separator: ", ") + " or " + last
}

extension Form<String> {
    /// A text that passes a check.
    static func text(
        _ expected: String, where isValid: @escaping @Sendable (String) -> Bool
    ) -> Form {
        Form(
            .text, expected: expected,
            parse: { isPrintable($0.text) && isValid($0.text) ? $0.text : nil },
            write: { .text($0) })
    }

    /// A file's path; empty for none. What stands there is never quoted: it may be a secret that
    /// was pasted by mistake.
    static let path = Form(
        .text, expected: "a file's path, or \"\"",
        write: { .text($0) },
        read: { node, key, findings in
            guard !node.isNull, case .scalar(let scalar) = node.content, isPrintable(scalar.text),
                scalar.text.utf8.count < 4096, scalar.text.utf8.first != UInt8(ascii: "{")
            else {
                findings.add(
                    node.place, key, "expected a file's path, or \"\", found something else")
                return nil
            }
            return scalar.text
        })

    /// A topic's name as Kafka allows it.
    static let topic = text("a topic's name (letters, digits, '.', '_', '-', at most 249)") {
        isTopic($0)
    }
}

/// Whether a text has no control character: none may reach a header, a path or a log.
func isPrintable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
}

/// Whether Kafka takes this as a topic's name.
func isTopic(_ name: String) -> Bool {
    (1...249).contains(name.utf8.count) && !sameBytes(name, ".") && !sameBytes(name, "..")
        && name.utf8.allSatisfy {
            isWordByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
        }
}
