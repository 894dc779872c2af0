import Testing

/// What no file of the repository may hold.
@Suite("Tidiness") struct TidyTests {
    /// Targets whose code is unsafe somewhere: what an audit reads. Of BridgeCore one file.
    static let unsafeTargets: Set = [
        "JSON", "EventLoop", "HTTPClient", "HTTPServer", "Kafka", "TreeClient", "Configuration",
        "Telemetry", "Demo", "Page", "TreeStore", "bench", "fuzz", "kafka-bench", "sim",
    ]
    static let unsafeFiles: Set = ["Sources/BridgeCore/Bytes.swift"]

    /// Who may print: programs that a person has called.
    static let printers: Set = [
        "firebridge", "sim", "fuzz", "bench", "kafka-bench", "mock-broker",
        "chaos-log",
    ]

    /// How many lines were longer than `columnsMax` when this test came: they may only get fewer.
    static let longLines: [String: Int] = [
        "BridgeCore": 21, "CMicroHTTPD": 4, "CSimdJSON": 20, "Daemon": 4, "Demo": 5,
        "Fuzzing": 1, "HTTPServer": 1, "HTTPServerTests": 1, "JSON": 1, "Kafka": 44,
        "KafkaTests": 2, "Makefile": 1, "Simulation": 1, "TestSupport": 1, "Tree": 9,
        "TreeServerCore": 3, "bench": 4, "firebridge": 2, "fuzz": 1,
    ]
    static let columnsMax = 100

    let repository: Repository

    init() throws { repository = try Repository.shared.get() }

    @Test("Unsafe code stands in the targets that are listed, and nothing is unchecked")
    func unsafeCode() {
        var found: Set<String> = []
        for file in repository.sources {
            for (place, line) in file.lines(mentioning: "unsafe", "@unchecked") {
                let code = line.code
                #expect(
                    !code.contains("@unchecked") && !code.contains("nonisolated(unsafe)"),
                    "\(place)")
                guard code.contains(/\bunsafe\b/) else { continue }
                found.insert(file.target)
                let isListed =
                    Self.unsafeTargets.contains(file.target)
                    || Self.unsafeFiles.contains(file.path)
                #expect(isListed, "\(place)")
            }
        }
        #expect(found.isSuperset(of: Self.unsafeTargets), "a listed target is safe by now")
    }

    @Test("Libraries do not print")
    func prints() {
        for file in repository.sources where !Self.printers.contains(file.target) {
            for (place, line) in file.lines(mentioning: "print(", "dump(", "Print(") {
                #expect(
                    !line.code.contains(/(^|[^.\w])(debugPrint|print|dump)\(/), "\(place)")
            }
        }
    }

    @Test("Tests wait for conditions, not for luck")
    func sleeps() {
        for file in repository.swift where file.path.hasPrefix("Tests/") {
            for (place, line) in file.lines(mentioning: "sleep") {
                #expect(
                    !line.code.contains(/\b(Task\s*\.\s*sleep|(u|nano)?sleep\s*\()/),
                    "\(place)")
            }
        }
    }

    @Test("Comments, and what no formatter looks after, have at most a hundred columns")
    func columns() {
        var found: [String: [String]] = [:]
        for file in repository.files {
            let isSwift = file.path.hasSuffix(".swift")
            let isOther = [".h", ".c", ".cpp", "Makefile"].contains { file.path.hasSuffix($0) }
            guard isSwift || isOther || file.path.hasPrefix("deploy/") else { continue }
            let name = file.target.isEmpty ? file.path : file.target
            for (number, line) in file.lines.enumerated() where line.utf8.count > Self.columnsMax {
                // The formatter breaks code; what it leaves long is a text.
                guard line.count > Self.columnsMax, !isSwift || line.isComment else { continue }
                found[name, default: []].append("\(file.path):\(number + 1)")
            }
        }
        for (name, places) in found.sorted(by: { $0.key < $1.key }) {
            let known = Self.longLines[name] ?? 0
            #expect(places.count <= known, "\(name): \(places.joined(separator: " "))")
        }
    }

    @Test("Nothing is left to be done in a comment")
    func leftovers() {
        for file in repository.files where !file.isOwn {
            for (place, line) in file.lines(mentioning: "TODO", "FIXME", "XXX") {
                #expect(!line.contains(/\b(TODO|FIXME|XXX)\b/), "\(place)")
            }
        }
    }

    @Test("No file names a place of the machine that it was written on, or a package registry")
    func workplace() {
        let registries = ["pypi.org", "pythonhosted.org", "npmjs", "crates.io", "golang.org"]
        for file in repository.files where !file.isOwn {
            for (place, line) in file.lines(mentioning: "/work", "/tmp/wt") {
                #expect(!line.contains(/(^|[\s"'`(=:])\/(work|tmp\/wt)(\/|\b)/), "\(place)")
            }
            for host in registries { #expect(!file.mentions(host), "\(file.path): \(host)") }
        }
    }

    @Test("Text files end with one newline and have no spaces at the ends of lines")
    func whitespace() {
        let exempt: Set = ["LICENSE"]
        for file in repository.files where !exempt.contains(file.path) {
            // Values that were hard once are kept byte by byte.
            guard !file.path.hasPrefix("Tests/Corpus/") else { continue }
            let isTab = file.path.hasSuffix("Makefile")
            #expect(
                file.lines.last == "" || file.lines == [""], "\(file.path): no newline at its end")
            for (number, line) in file.lines.enumerated() {
                let isTidy =
                    !" \t\r".utf8.contains(line.utf8.last ?? 0)
                    && (isTab || line.utf8.first != UInt8(ascii: "\t"))
                if !isTidy { Issue.record("\(file.path):\(number + 1)") }
            }
        }
    }
}

extension Repository.TextFile {
    /// These tests name what nobody else may.
    fileprivate var isOwn: Bool { path.hasPrefix("Tests/TidyTests/") }
}

extension String {
    fileprivate var isComment: Bool { drop { $0 == " " }.hasPrefix("//") }
}
