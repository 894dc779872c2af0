// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is held to the same rules (docs/decisions/0008-language-settings.md).
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func swift(
    _ name: String, _ dependencies: [Target.Dependency] = [], linking libraries: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, swiftSettings: strict,
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: [.byName(name: name)] + dependencies,
        exclude: exclude, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func system(_ name: String, pkgConfig: String, apt: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

// The arrow of imports points down this list and never back (docs/ARCHITECTURE.md).
let clibraries: [Target] = [
    system("CRdKafka", pkgConfig: "rdkafka", apt: "librdkafka-dev"),
    system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    system("CCrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
    system("CYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),
    system("CMicroHTTPD", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),
    .target(name: "CLinux"),
    .target(name: "CJemalloc", linkerSettings: [.linkedLibrary("jemalloc")]),
    .target(name: "CDemoRecording", exclude: ["README.md", "recording.jsonl"]),
    .target(name: "CPage", exclude: ["README.md", "page"]),
    .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
]

let pure: [Target] = [
    swift("Arguments"),
    swift("JSON", ["CSimdJSON"]),
    swift("Tree", ["JSON"], linking: ["m"]),
    swift("TreeWire", ["JSON", "Tree"]),
    swift("TreeRules", ["Tree"]),
    swift("TreeAuth", ["JSON", "Tree"]),
    swift("TreeFaults", ["JSON", "TreeWire"]),
    swift("BridgeCore", ["JSON"]),
    swift("KafkaRules"),
    swift("TreeServerCore", ["JSON", "Tree", "TreeWire", "TreeAuth", "TreeRules"]),
    swift("Oracle", ["JSON", "Tree"]),
    swift("Simulation", ["JSON", "Tree", "BridgeCore", "Oracle"]),
    swift("Fuzzing", ["JSON", "Tree", "TreeRules", "BridgeCore", "Oracle"]),
]

let shell: [Target] = [
    swift("EventLoop", ["CLinux"]),
    swift("Page", ["CPage"]),
    swift("TreeStore", ["CSQLite", "EventLoop"]),
    swift("HTTPClient", ["CCurl", "EventLoop"]),
    swift("HTTPServer", ["CMicroHTTPD", "CWslay", "EventLoop"]),
    swift("Kafka", ["CRdKafka", "BridgeCore", "KafkaRules", "EventLoop"]),
    swift("TreeClient", ["CCrypto", "BridgeCore", "HTTPClient", "JSON", "EventLoop"]),
    swift("Configuration", ["CYAML", "Arguments", "BridgeCore", "KafkaRules", "EventLoop"]),
    swift("Telemetry", ["EventLoop"]),
    swift(
        "Daemon",
        [
            "BridgeCore", "Configuration", "EventLoop", "HTTPClient", "HTTPServer", "JSON", "Kafka",
            "Telemetry", "TreeClient",
        ]),
    swift(
        "Demo",
        [
            "CDemoRecording", "EventLoop", "HTTPClient", "JSON", "Kafka", "Oracle", "Tree",
            "TreeWire",
        ]),
]

let programs: [Target] = [
    program(
        "firebridge",
        [
            "Arguments", "BridgeCore", "CJemalloc", "Configuration", "Daemon", "Demo", "EventLoop",
            "HTTPClient", "HTTPServer", "JSON", "Kafka", "Oracle", "Page", "Telemetry", "Tree",
            "TreeAuth", "TreeClient", "TreeFaults", "TreeRules", "TreeServerCore", "TreeStore",
            "TreeWire",
        ]),
    program("sim", ["BridgeCore", "Simulation"]),
    program("fuzz", ["EventLoop", "Fuzzing"]),
    program("mock-broker", ["Kafka"]),
    program("chaos-log", ["BridgeCore", "EventLoop", "JSON", "Kafka", "Oracle"]),
    program("kafka-bench", ["BridgeCore", "Kafka"]),
    program(
        "bench",
        [
            "BridgeCore", "CJemalloc", "EventLoop", "HTTPServer", "JSON", "Kafka", "Tree",
            "TreeServerCore",
        ]),
]

let testSupport: [Target] = [
    // An HTTP server that misbehaves by script, for the tests of the clients.
    .target(
        name: "ScriptedServer", dependencies: ["EventLoop"], path: "Tests/ScriptedServer",
        swiftSettings: strict),
    // Brokers, programs and samples, found and started.
    .target(
        name: "TestSupport", dependencies: ["CLinux", "EventLoop", "JSON", "Kafka", "Oracle"],
        path: "Tests/TestSupport", swiftSettings: strict),
]

let testTargets: [Target] = [
    tests("JSON", ["Fuzzing", "Oracle"]),
    tests("Tree", ["JSON", "Oracle"]),
    tests("TreeWire", ["JSON", "Tree"]),
    tests("TreeRules", ["Fuzzing", "Oracle", "Tree"]),
    tests("TreeAuth", ["Tree"]),
    tests("TreeFaults", ["JSON"]),
    tests("BridgeCore", ["Fuzzing", "JSON", "Oracle"]),
    tests(
        "TreeServerCore",
        ["EventLoop", "JSON", "Oracle", "Tree", "TreeAuth", "TreeRules", "TreeWire"]),
    tests("Oracle", ["JSON", "TestSupport", "Tree"], exclude: ["Fixtures"]),
    tests("Simulation", ["BridgeCore"]),
    tests("EventLoop", ["TestSupport"]),
    tests("Page"),
    tests("TreeStore", ["EventLoop"]),
    tests("HTTPClient", ["EventLoop", "ScriptedServer"]),
    tests("HTTPServer", ["EventLoop"]),
    tests("Kafka", ["BridgeCore", "EventLoop", "TestSupport", "mock-broker"]),
    tests(
        "TreeClient",
        ["BridgeCore", "EventLoop", "HTTPClient", "JSON", "ScriptedServer"]),
    tests("Arguments", ["EventLoop"]),
    tests("Configuration", ["Arguments", "BridgeCore", "EventLoop", "Oracle"]),
    tests("Telemetry"),
    tests(
        "Daemon",
        [
            "BridgeCore", "Configuration", "EventLoop", "Kafka", "ScriptedServer", "Telemetry",
            "TestSupport", "mock-broker",
        ]),
    tests("Demo", ["EventLoop", "JSON", "Oracle", "TestSupport", "firebridge"]),
    .testTarget(
        name: "TidyTests", dependencies: ["EventLoop", "firebridge"], swiftSettings: strict),
    .testTarget(
        name: "IntegrationTests",
        dependencies: [
            "BridgeCore", "EventLoop", "HTTPClient", "JSON", "Kafka", "Oracle", "ScriptedServer",
            "TestSupport", "Tree", "TreeWire", "firebridge", "fuzz", "mock-broker",
        ],
        swiftSettings: strict),
]

let package = Package(
    name: "firebridge",
    products: [
        .executable(name: "firebridge", targets: ["firebridge"]),
        .executable(name: "sim", targets: ["sim"]),
    ],
    targets: clibraries + pure + shell + programs + testSupport + testTargets,
    cxxLanguageStandard: .cxx17
)
