import Testing

/// Who may import whom (docs/ARCHITECTURE.md): a target imports only what stands above it in the
/// table, and each C module has one owner.
@Suite("Layers") struct LayerTests {
    /// Each target of Sources with all that it may import, from the lowest up.
    static let layers: KeyValuePairs<String, Set<String>> = [
        // Pure: no Glibc, no C, no clock.
        "Arguments": [],
        "JSON": ["CSimdJSON"],
        "Tree": ["JSON"],
        "TreeWire": ["JSON", "Tree"],
        "TreeRules": ["Tree"],
        "TreeAuth": ["JSON", "Tree"],
        "TreeFaults": ["JSON", "TreeWire"],
        "BridgeCore": ["JSON"],
        "KafkaRules": [],
        "TreeServerCore": ["JSON", "Tree", "TreeWire", "TreeAuth", "TreeRules"],
        "Oracle": ["JSON", "Tree"],
        "Simulation": ["JSON", "Tree", "BridgeCore", "Oracle"],
        "Fuzzing": ["JSON", "Tree", "TreeRules", "BridgeCore", "Oracle"],
        // The shell.
        "EventLoop": ["CLinux"],
        "Page": ["CPage"],
        "TreeStore": ["CSQLite", "EventLoop"],
        "HTTPClient": ["CCurl", "EventLoop"],
        "HTTPServer": ["CMicroHTTPD", "CWslay", "EventLoop"],
        "Kafka": ["CRdKafka", "Glibc", "BridgeCore", "KafkaRules", "EventLoop"],
        "TreeClient": ["CCrypto", "BridgeCore", "HTTPClient", "JSON", "EventLoop"],
        "Configuration": ["CYAML", "Arguments", "BridgeCore", "KafkaRules", "EventLoop"],
        "Telemetry": ["Glibc", "EventLoop"],
        "Daemon": [
            "BridgeCore", "Configuration", "EventLoop", "HTTPClient", "HTTPServer", "JSON",
            "Kafka", "Telemetry", "TreeClient",
        ],
        "Demo": [
            "CDemoRecording", "EventLoop", "HTTPClient", "JSON", "Kafka", "Oracle", "Tree",
            "TreeWire",
        ],
        // Programs.
        "firebridge": [
            "Arguments", "BridgeCore", "Configuration", "Daemon", "Demo", "EventLoop",
            "HTTPClient", "HTTPServer", "JSON", "Kafka", "Oracle", "Page", "Telemetry", "Tree",
            "TreeAuth", "TreeClient", "TreeFaults", "TreeRules", "TreeServerCore", "TreeStore",
            "TreeWire",
        ],
        "sim": ["Glibc", "BridgeCore", "Simulation"],
        "fuzz": ["Glibc", "EventLoop", "Fuzzing"],
        "mock-broker": ["Kafka"],
        "chaos-log": ["BridgeCore", "EventLoop", "JSON", "Kafka", "Oracle"],
        "kafka-bench": ["Glibc", "BridgeCore", "Kafka"],
        "bench": [
            "Glibc", "BridgeCore", "EventLoop", "HTTPServer", "JSON", "Kafka", "Tree",
            "TreeServerCore",
        ],
    ]

    static let pure: Set = [
        "Arguments", "JSON", "Tree", "TreeWire", "TreeRules", "TreeAuth", "TreeFaults",
        "BridgeCore", "KafkaRules",
        "TreeServerCore", "Oracle", "Simulation", "Fuzzing",
    ]

    let repository: Repository

    init() throws { repository = try Repository.shared.get() }

    @Test("A source file imports what its target may, and every target stands in the table")
    func imports() {
        let allowed = Dictionary(uniqueKeysWithValues: Self.layers.map { ($0.key, $0.value) })
        for file in repository.sources {
            guard let modules = allowed[file.target] else {
                Issue.record("\(file.path): \(file.target) is not in the table of layers")
                continue
            }
            for module in file.imports {
                #expect(modules.contains(module), "\(file.path) imports \(module)")
            }
        }
        let targets = Set(repository.sources.map(\.target))
        for (target, _) in Self.layers { #expect(targets.contains(target), "\(target) is gone") }
    }

    @Test("The table itself points down, and keeps the pure targets pure")
    func table() {
        var below: Set<String> = []
        for (target, modules) in Self.layers {
            for module in modules where !module.isForeign {
                #expect(below.contains(module), "\(target) stands below \(module)")
            }
            if Self.pure.contains(target) {
                let foreign = modules.filter(\.isForeign)
                #expect(foreign == (target == "JSON" ? ["CSimdJSON"] : []), "\(target)")
                #expect(modules.isSubset(of: Self.pure.union(["CSimdJSON"])), "\(target)")
            }
            below.insert(target)
        }
    }

    @Test("Each C module is imported by exactly one target")
    func oneOwner() {
        var owners: [String: Set<String>] = [:]
        for file in repository.sources {
            for module in file.imports where module.isForeign && module != "Glibc" {
                owners[module, default: []].insert(file.target)
            }
        }
        for (module, targets) in owners { #expect(targets.count == 1, "\(module): \(targets)") }
        let present = Set(repository.files.filter { $0.path.hasPrefix("Sources/C") }.map(\.target))
        // jemalloc is linked, not called.
        for module in present where module.isForeign && module != "CJemalloc" {
            #expect(owners[module] != nil, "\(module) is imported by nobody")
        }
    }

    @Test("Nobody imports Foundation or Dispatch, tests included")
    func noFoundation() {
        for file in repository.swift {
            for module in file.imports {
                let head = module.split(separator: ".").first ?? ""
                #expect(
                    !head.hasPrefix("Foundation") && head != "Dispatch", "\(file.path): \(module)")
            }
        }
    }
}

extension Repository.TextFile {
    /// The modules that a Swift file imports.
    var imports: [String] {
        lines.compactMap { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                words[..<index].allSatisfy({ $0.hasPrefix("@") || Self.accesses.contains($0) })
            else { return nil }
            return String(words[index + 1])
        }
    }

    private static let accesses: Set<Substring> = ["public", "package", "internal", "private"]
}

extension String {
    /// A C module, or Glibc.
    var isForeign: Bool {
        let second = dropFirst().first ?? "a"
        return self == "Glibc" || (hasPrefix("C") && second.isUppercase)
    }
}
