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

func swift(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
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
    system("CYAML", pkgConfig: "libfyaml", apt: "libfyaml-dev"),
    system("CMicroHTTPD", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    .target(name: "CLinux"),
    .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
]

let pure: [Target] = [
    swift("JSON", ["CSimdJSON"]),
    swift("Tree", ["JSON"]),
    swift("TreeWire", ["JSON", "Tree"]),
    swift("BridgeCore", ["JSON"]),
    swift("TreeServerCore", ["JSON", "Tree", "TreeWire"]),
    swift("Oracle", ["JSON", "Tree"]),
    swift("Simulation", ["JSON", "Tree", "BridgeCore", "Oracle"]),
]

let shell: [Target] = [
    swift("EventLoop", ["CLinux"]),
    swift("HTTPClient", ["CCurl", "EventLoop"]),
    swift("HTTPServer", ["CMicroHTTPD", "EventLoop"]),
    swift("Kafka", ["CRdKafka", "BridgeCore", "EventLoop"]),
    swift("TreeClient", ["CCrypto", "BridgeCore", "HTTPClient", "JSON", "EventLoop"]),
    swift("Configuration", ["CYAML", "BridgeCore", "JSON"]),
    swift("Telemetry", ["EventLoop"]),
]

let programs: [Target] = [
    program(
        "firebridge",
        [
            "BridgeCore", "Configuration", "EventLoop", "HTTPClient", "HTTPServer", "JSON", "Kafka",
            "Oracle", "Telemetry", "Tree", "TreeClient", "TreeServerCore", "TreeWire",
        ]),
    program("sim", ["BridgeCore", "Simulation"]),
    program("bench", ["BridgeCore", "EventLoop", "HTTPServer", "JSON", "Kafka"]),
]

let testTargets: [Target] = [
    tests("JSON"),
    tests("Tree", ["JSON"]),
    tests("TreeWire", ["JSON", "Tree"]),
    tests("BridgeCore", ["JSON"]),
    tests("TreeServerCore", ["JSON", "Tree", "TreeWire"]),
    tests("Oracle", ["JSON", "Tree"], exclude: ["Fixtures"]),
    tests("Simulation", ["BridgeCore"]),
    tests("HTTPClient", ["EventLoop"]),
    tests("HTTPServer", ["EventLoop"]),
    tests("Kafka", ["BridgeCore", "EventLoop"]),
    tests("TreeClient", ["BridgeCore", "HTTPClient", "HTTPServer", "EventLoop"]),
    tests("Configuration", ["BridgeCore"]),
    tests("Telemetry"),
    .testTarget(
        name: "IntegrationTests",
        dependencies: [
            "BridgeCore", "Configuration", "EventLoop", "HTTPClient", "JSON", "Kafka", "Oracle",
            "Tree",
        ],
        swiftSettings: strict),
]

let package = Package(
    name: "firebridge",
    products: [
        .executable(name: "firebridge", targets: ["firebridge"]),
        .executable(name: "sim", targets: ["sim"]),
    ],
    targets: clibraries + pure + shell + programs + testTargets,
    cxxLanguageStandard: .cxx17
)
