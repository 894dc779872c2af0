/// One thing that is wrong with a configuration.
public struct Finding: Equatable, Sendable {
    /// Where it stands.
    public let place: Place
    /// The key, dotted; empty where the whole file is meant.
    public let key: String
    /// What was expected and what was found.
    public let message: String
}

/// All that is wrong with a configuration, in the order of the file, then of `--set`, then of the
/// environment.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file's name, as it was given.
    public let file: String
    /// What is wrong: at least one.
    public let findings: [Finding]

    /// `FILE:LINE:COLUMN: key: expected …, found …`, one a line.
    public var lines: [String] { findings.map(line) }

    /// All lines.
    public var description: String { lines.joined(separator: "\n") }

    private func line(_ finding: Finding) -> String {
        let key = finding.key.isEmpty ? "" : finding.key + ": "
        return switch finding.place {
        case .file(let line, let column): "\(file):\(line):\(column): \(key)\(finding.message)"
        case .option: "--set: \(key)\(finding.message)"
        case .environment(let name): "\(name): \(key)\(finding.message)"
        }
    }
}

/// Collects what is wrong, so that all of it is told at once.
struct Findings {
    private(set) var list: [Finding] = []

    mutating func add(_ place: Place, _ key: String, _ message: String) {
        list.append(
            Finding(
                place: place, key: printable(key, scalarsMax: 300),
                message: printable(message, scalarsMax: 4000)))
    }

    /// `expected …, found …` of a node.
    mutating func add(_ node: Node, _ key: String, expected: String) {
        add(node.place, key, "expected \(expected), found \(node.found)")
    }

    /// In the order of the file.
    var sorted: [Finding] {
        list.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            .map(\.element)
    }

    /// What holds text of the file, made printable.
    private func printable(_ text: String, scalarsMax: Int) -> String {
        String(quote(text, scalarsMax: scalarsMax).dropFirst().dropLast())
    }
}

extension Finding {
    fileprivate var order: Order {
        switch place {
        case .file(let line, let column): Order(line: line, column: column)
        case .option: Order(line: .max - 1, column: 0)
        case .environment: Order(line: .max, column: 0)
        }
    }

    fileprivate struct Order: Comparable {
        let line: Int
        let column: Int
        static func < (a: Self, b: Self) -> Bool { (a.line, a.column) < (b.line, b.column) }
    }
}
