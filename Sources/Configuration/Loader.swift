import Arguments
import BridgeCore
import KafkaRules

extension Configuration {
    /// The largest file that is read, in bytes.
    public static let fileBytesMax = YAMLParser.bytesMax

    /// Reads a configuration: the file, over it `--set`, under it the environment.
    ///
    /// A value comes from the first of: `overrides`, the file, the names of the environment that
    /// users know (`EnvironmentNames`), the default.
    ///
    /// - Parameters:
    ///   - text: The file's bytes.
    ///   - file: The file's name, for errors.
    ///   - overrides: The values of `--set`: `delivery.lanes=8`.
    ///   - environment: The environment's variables.
    ///   - propertyProblem: What librdkafka has against one of its properties, by name and value.
    ///   - urlProblem: What the database's client has against its URL.
    /// - Throws: Everything that is wrong, at once.
    public init(
        _ text: [UInt8], file: String, overrides: [String] = [],
        environment: [String: String] = [:],
        propertyProblem: (String, String) -> String? = { _, _ in nil },
        urlProblem: (String) -> String? = { _ in nil }
    ) throws(ConfigurationError) {
        var loader = Loader(expansion: Expansion(environment: environment))
        do {
            try loader.read(text)
        } catch {
            loader.findings.add(
                .file(line: error.line, column: error.column), "", error.message)
            throw ConfigurationError(file: file, findings: loader.findings.sorted)
        }
        for override in overrides { loader.override(override) }
        self = loader.finish()
        loader.checkProperties(propertyProblem)
        loader.checkURL(urlProblem)
        guard loader.findings.list.isEmpty else {
            throw ConfigurationError(file: file, findings: loader.findings.sorted)
        }
    }
}

/// Puts a configuration together and collects what is wrong with it.
struct Loader {
    let expansion: Expansion
    var configuration = Configuration()
    var findings = Findings()
    /// What was given, by key: where, for checks between keys.
    var nodes: [(key: ConfigurationKey, node: Node)] = []
    private var properties: [Node.Member] = []

    init(expansion: Expansion) { self.expansion = expansion }

    /// Takes in the file.
    mutating func read(_ text: [UInt8]) throws(YAMLFailure) {
        guard let root = try YAMLParser.parse(text, findings: &findings) else { return }
        guard let root = expansion.expand(root, key: "", &findings) else { return }
        section(root, path: "")
    }

    private mutating func section(_ node: Node, path: String) {
        guard !node.isNull else { return }
        guard case .mapping(let members) = node.content else {
            findings.add(node, path, expected: "a mapping of keys")
            return
        }
        for member in members {
            let key = path.isEmpty ? member.name : "\(path).\(member.name)"
            if let known = Self.key(key) {
                give(known, member.value)
            } else if Self.isSection(key) {
                section(member.value, path: key)
            } else {
                findings.add(
                    member.place, key, Self.unknownKey(member.name, in: path))
            }
        }
    }

    /// Takes in one `--set`.
    mutating func override(_ text: String) {
        let bytes = Array(text.utf8)
        guard let sign = bytes.firstIndex(of: UInt8(ascii: "=")), sign > 0 else {
            findings.add(.option, "", "expected KEY=VALUE, found no '='")
            return
        }
        let path = String(decoding: bytes[..<sign], as: UTF8.self)
        guard let value = value(of: Array(bytes[(sign + 1)...]), path: path),
            !showsSecret(value, path: path)
        else { return }
        if let known = Self.key(path) {
            if let given = nodes.first(where: { $0.key.path == path }), given.node.place == .option
            {
                findings.add(.option, path, "expected each key once, found it again")
            }
            give(known, value)
        } else if path.utf8.starts(with: "kafka.properties.".utf8) {
            let name = String(decoding: path.utf8.dropFirst(17), as: UTF8.self)
            give(property: .init(name: name, place: .option, value: value))
        } else {
            let hint = nearest(path, among: ConfigurationKey.all.map(\.path))
            findings.add(
                .option, path,
                "expected a key of the configuration, found \(quote(path))"
                    + (hint.map { " (did you mean \($0)?)" } ?? ""))
        }
    }

    /// Whether a `--set` has a secret's own text, which everyone on the machine could read.
    private mutating func showsSecret(_ node: Node, path: String) -> Bool {
        switch node.content {
        case .mapping(let members):
            let shown = members.filter { showsSecret($0.value, path: "\(path).\($0.name)") }
            return !shown.isEmpty
        case .sequence: return false
        case .scalar(let scalar):
            let prefix = "kafka.properties."
            guard path.utf8.starts(with: prefix.utf8), !scalar.text.isEmpty,
                PropertyRules.isSecret(
                    String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self),
                    value: scalar.text),
                !scalar.isVariable
            else { return false }
            findings.add(
                .option, path,
                "expected ${NAME}, a variable of the environment, found a secret's text, which "
                    + "everyone on this machine can read")
            return true
        }
    }

    /// The value of a `--set`: YAML in one line, or nothing for an empty text.
    private mutating func value(of text: [UInt8], path: String) -> Node? {
        var repeated = Findings()
        do {
            let node = try YAMLParser.parse(text, findings: &repeated)
            for finding in repeated.list { findings.add(.option, path, finding.message) }
            let empty = Node(
                content: .scalar(.init(text: "", isPlain: false)), place: .option)
            return expansion.expand((node ?? empty).moved(to: .option), key: path, &findings)
        } catch {
            findings.add(.option, path, error.message)
            return nil
        }
    }

    private mutating func give(_ key: ConfigurationKey, _ node: Node) {
        nodes.removeAll { $0.key.path == key.path }
        nodes.append((key, node))
    }

    /// Sets one of librdkafka's properties, in its place if it has one.
    private mutating func give(property: Node.Member) {
        guard let key = Self.key("kafka.properties") else { return }
        let given = nodes.first { $0.key.path == key.path }?.node
        var members: [Node.Member] = []
        if let given, case .mapping(let old) = given.content { members = old }
        if let index = members.firstIndex(where: { sameBytes($0.name, property.name) }) {
            members[index] = property
        } else {
            members.append(property)
        }
        give(key, Node(content: .mapping(members), place: given?.place ?? .option))
    }

    /// Reads what was given and checks one key against another.
    mutating func finish() -> Configuration {
        for (key, node) in nodes { key.read(node, &configuration, &findings) }
        EnvironmentNames(expansion.environment).apply(to: &self)
        checkTogether()
        return configuration
    }

    /// Where a key was given, nil where it was not.
    func place(of path: String) -> Place? { nodes.first { $0.key.path == path }?.node.place }

    // MARK: - The names of keys

    private static func key(_ path: String) -> ConfigurationKey? {
        ConfigurationKey.all.first { sameBytes($0.path, path) }
    }

    private static func isSection(_ path: String) -> Bool {
        ConfigurationKey.all.contains { $0.path.utf8.starts(with: (path + ".").utf8) }
    }

    private static func unknownKey(_ name: String, in section: String) -> String {
        let prefix = section.isEmpty ? 0 : section.utf8.count + 1
        var names: [String] = []
        for key in ConfigurationKey.all where prefix == 0 || key.path.hasPrefix(section + ".") {
            let rest = key.path.utf8.dropFirst(prefix).prefix { $0 != UInt8(ascii: ".") }
            let name = String(decoding: rest, as: UTF8.self)
            if !names.contains(name) { names.append(name) }
        }
        let elsewhere = ConfigurationKey.all.filter { $0.path.hasSuffix("." + name) }
        guard nearest(name, among: names) == nil, elsewhere.count == 1 else {
            return unknown(name, among: names)
        }
        return unknown(name, among: names) + " (did you mean \(elsewhere[0].path)?)"
    }
}

extension Node.Scalar {
    /// Whether it was written as `${NAME}` and nothing else.
    fileprivate var isVariable: Bool {
        guard let bytes = written?.utf8, bytes.starts(with: "${".utf8),
            bytes.last == UInt8(ascii: "}")
        else { return false }
        return bytes.dropFirst(2).dropLast().allSatisfy(isWordByte)
    }
}

extension Node {
    /// The node and all in it, at another place.
    fileprivate func moved(to place: Place) -> Node {
        switch content {
        case .scalar: Node(content: content, place: place)
        case .sequence(let elements):
            Node(content: .sequence(elements.map { $0.moved(to: place) }), place: place)
        case .mapping(let members):
            Node(
                content: .mapping(
                    members.map {
                        .init(name: $0.name, place: place, value: $0.value.moved(to: place))
                    }),
                place: place)
        }
    }
}
