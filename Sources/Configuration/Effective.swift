extension Configuration {
    /// The settings in effect, as YAML: secrets hidden, URLs without user names and passwords.
    public var effective: String { tree.block(indent: 0) }

    /// Names this configuration in `/status`: 16 hexadecimal digits, the same for the same settings
    /// in any process. Secrets do not count, so that nobody can guess one by its hash.
    public var hash: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in effective.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private var tree: Rendered {
        var root = Branch()
        for key in ConfigurationKey.all {
            root.add(key.path.split(separator: ".").map(String.init)[...], key.write(self))
        }
        return root.rendered
    }
}

/// Sections on their way into YAML.
private struct Branch {
    private var members: [(name: String, child: Child)] = []

    private indirect enum Child {
        case section(Branch)
        case value(Rendered)
    }

    mutating func add(_ path: ArraySlice<String>, _ value: Rendered) {
        guard let name = path.first, path.count > 1 else {
            members.append((path.first ?? "", .value(value)))
            return
        }
        if let index = members.firstIndex(where: { sameBytes($0.name, name) }),
            case .section(var section) = members[index].child
        {
            section.add(path.dropFirst(), value)
            members[index].child = .section(section)
        } else {
            var section = Branch()
            section.add(path.dropFirst(), value)
            members.append((name, .section(section)))
        }
    }

    var rendered: Rendered {
        .mapping(
            members.map { name, child in
                switch child {
                case .section(let section): (name, section.rendered)
                case .value(let value): (name, value)
                }
            })
    }
}
