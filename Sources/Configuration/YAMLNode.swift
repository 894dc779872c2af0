/// A value of the configuration and where it stands.
struct Node: Sendable {
    /// What the value is.
    enum Content: Sendable {
        case scalar(Scalar)
        case sequence([Node])
        case mapping([Member])
    }

    /// One text. Numbers and booleans are texts until a key says what it expects.
    struct Scalar: Sendable {
        /// The text, with the environment's values in it.
        var text: String
        /// Whether it stands without quotes, so that it may be a number, a boolean or nothing.
        var isPlain: Bool
        /// The text as written where it names variables. Errors quote this and never what the
        /// environment holds, which may be a secret.
        var written: String?
    }

    /// A key and its value.
    struct Member: Sendable {
        let name: String
        let place: Place
        var value: Node
    }

    var content: Content
    let place: Place

    /// Whether nothing stands there, or only the word for it.
    var isNull: Bool {
        guard case .scalar(let scalar) = content, scalar.isPlain, scalar.written == nil else {
            return false
        }
        return ["", "~", "null", "Null", "NULL"].contains { sameBytes($0, scalar.text) }
    }

    /// What stands there, for an error.
    var found: String {
        switch content {
        case .sequence: "a list"
        case .mapping: "a mapping"
        case .scalar(let scalar):
            if isNull {
                "nothing"
            } else if let written = scalar.written {
                "the value of \(quote(written))"
            } else if scalar.isPlain {
                quote(scalar.text)
            } else {
                "the text \(quote(scalar.text))"
            }
        }
    }
}

/// Where something of the configuration stands.
public enum Place: Hashable, Sendable {
    /// In the file; both count from 1.
    case file(line: Int, column: Int)
    /// In `--set`.
    case option
    /// In an environment variable of this name.
    case environment(String)
}

/// Whether two texts are the same bytes. Swift's `==` takes canonically equivalent ones for equal.
func sameBytes(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

/// A text for an error: in quotes, printable, of bounded length.
func quote(_ text: String, scalarsMax: Int = 60) -> String {
    var out = "'"
    for (count, scalar) in text.unicodeScalars.enumerated() {
        guard count < scalarsMax else {
            out += "…"
            break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned,
            .privateUse:
            out += "\\u{\(String(scalar.value, radix: 16))}"
        default: out.unicodeScalars.append(scalar)
        }
    }
    return out + "'"
}
