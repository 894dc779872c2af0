import EventLoop
import Testing

/// The documents say what the code says.
@Suite("Documents") struct DocumentTests {
    let repository: Repository

    init() throws { repository = try Repository.shared.get() }

    @Test("Every metric stands in the operations manual, and no other")
    func metrics() throws {
        let code = try repository.file("Sources/Telemetry/FirebridgeMetrics.swift").text
        let names = Set(code.all(/(?:counters|gauges|histogram)\(\s*"([a-z_]+)"/))
        let manual = try repository.file("docs/operations.md").text
        let rows = Set(manual.all(#/\n\| `firebridge_([a-z_]+)(?:\{[a-z,]+\})?` \| /#))
        #expect(names.count > 20)
        #expect(rows == names)
    }

    @Test("Every log event stands in the operations manual with its meaning, and no other")
    func events() throws {
        var names: Set<String> = []
        for file in repository.sources {
            guard file.mentions("og") || file.mentions("otice") || file.mentions("say(") else {
                continue
            }
            let text = file.text
            names.formUnion(text.all(/\blog\s*\.\s*(?:error|warn|info|debug)\(\s*"([a-z_]+)"/))
            names.formUnion(text.all(/\blog\s*\.\s*write\([^"]*"([a-z_]+)"/))
            names.formUnion(text.all(/\b(?:notice|Notice|say)\(\s*\.\w+,\s*"([a-z_]+)"/))
            names.formUnion(text.all(/\bdatabaseIsWrong\(\w+, "([a-z_]+)"/))
            names.formUnion(text.all(/level: \.\w+, event: "([a-z_]+)"/))
        }
        let manual = try repository.file("docs/operations.md").text
        let rows = Set(manual.all(/\n\| `([a-z_]+)` \| (?:error|warn|info|debug)/))
        #expect(names.count > 30)
        #expect(rows == names)
    }

    @Test("Every place and member of the bridge's state stands in its description")
    func state() throws {
        let layout = try repository.file("Sources/BridgeCore/StateLayout.swift").text
        let description = try repository.file("docs/state.md").text
        let places = layout.all(/join\("([a-z]+)"/) + layout.all(/"_firebridge\/([a-z]+)"/)
        #expect(Set(places).count >= 6)
        for place in places {
            #expect(description.contains("`_firebridge/\(place)`"), "_firebridge/\(place)")
        }
        let entry = try repository.file("Sources/BridgeCore/LedgerEntry.swift").text
        let end = try #require(entry.firstRange(of: "extension LedgerEntry"))
        let written = (layout + entry[..<end.lowerBound]).all(/\.add\(Name\.(\w+)/)
        let text = try repository.file("Sources/BridgeCore/Name.swift").text
        var names: [String: String] = [:]
        for match in text.matches(of: /static let (\w+) = Array\("(\w+)"/) {
            names[String(match.output.1)] = String(match.output.2)
        }
        #expect(Set(written).count > 15)
        let told = Set(
            description.all(/`([^`\n]+)`/).flatMap {
                $0.split { !$0.isLetter && $0 != "_" }.map(String.init)
            })
        for member in written {
            let name = try #require(names[member], "Name.\(member)")
            #expect(told.contains(name), "\(name)")
        }
    }

    @Test("What a partition may take of memory stands in the manual and beside the unit's limit")
    func memory() throws {
        let code = try repository.file("Sources/Kafka/ConsumerDefaults.swift").text
        func value(_ name: String) throws -> Double {
            let found = code.firstMatch(of: try Regex("\"\(name)\", \"([0-9]+)\""))
            return Double(try #require(found?.output[1].substring))!
        }
        // A queue and the answer by which it overshoots, each record with what it costs beside.
        let queue = try value("queued.max.messages.kbytes") * 1024
        let bytes = queue + (try value("max.partition.fetch.bytes"))
        let records = try value("queued.min.messages") * bytes / queue
        let megabytes = Int(((bytes + 450 * records) / 1e6).rounded(.up))
        for path in ["docs/operations.md", "deploy/systemd/firebridge.service"] {
            let text = try repository.file(path).text
            #expect(text.contains("\(megabytes) MB a partition"), "\(path)")
        }
    }

    /// How the reason begins where neither a test nor a row of chaos can hold a fault.
    private static let faultExcuses = ["Not ours: ", "Cannot occur: "]

    /// Whether a test of that name stands in a file of that name.
    private func isTest(_ name: some StringProtocol, in file: some StringProtocol) -> Bool {
        repository.files.contains { source in
            source.path.hasPrefix("Tests/") && source.path.hasSuffix("/\(file)")
                && ["func \(name)(", "func `\(name)`(", "\"\(name)\""].contains {
                    source.text.contains($0)
                }
        }
    }

    @Test("Each fault of the table has a test or a row of chaos that is there, or says why not")
    func faults() throws {
        let table = try repository.file("docs/faults.md").text
        let code = repository.files.filter { $0.path.hasPrefix("Tests/chaos/") }.map(\.text)
        let rows = Set(code.flatMap { $0.all(/\n@row\(([0-9]+),/) })
        #expect(rows.count >= 45)
        var tests = 0
        for line in table.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            #expect(cells.count == 3, "\(line)")
            guard cells.count == 3, !cells[0].hasPrefix("report ") else { continue }
            var holders = 0
            for quoted in cells[2].matches(of: /`([^`]+)`/).map(\.output.1) {
                if let match = quoted.wholeMatch(of: /(\w+\.swift): (.+)/) {
                    #expect(isTest(match.output.2, in: match.output.1), "\(quoted)")
                    tests += 1
                } else if let match = quoted.wholeMatch(of: /chaos ([0-9]+)/) {
                    #expect(rows.contains(String(match.output.1)), "\(quoted)")
                } else {
                    #expect(!quoted.contains(".swift"), "\(quoted) names a file and no test")
                    if quoted.hasPrefix("Tests/") {
                        #expect(repository.paths.contains(String(quoted)), "\(quoted)")
                    }
                    continue
                }
                holders += 1
            }
            let isExcused = Self.faultExcuses.contains { cells[2].hasPrefix($0) }
            #expect(holders > 0 || isExcused, "nothing holds this: \(line)")
        }
        #expect(tests > 100)
    }

    @Test("Links between documents lead somewhere")
    func links() {
        let paths = repository.paths
        for file in repository.documents {
            for link in file.prose.all(/\]\(([^)\s]+)\)/) where !link.contains("://") {
                let parts = link.split(
                    separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let target = file.resolve(String(parts[0]))
                let isThere =
                    paths.contains(target) || paths.contains { $0.hasPrefix(target + "/") }
                #expect(isThere, "\(file.path): \(link)")
                guard parts.count == 2,
                    let other = repository.files.first(where: { $0.path == target })
                else { continue }
                #expect(other.anchors.contains(String(parts[1])), "\(file.path): \(link)")
            }
        }
    }

    @Test("Documents that the code names are there")
    func references() {
        let paths = Set(repository.files.map(\.path))
        for file in repository.files where !file.path.hasPrefix("Tests/TidyTests/") {
            guard file.mentions("docs/") else { continue }
            for name in file.text.all(/(?:^|[^\w\/.])(docs\/[\w\/-]+\.md)\b/) {
                let isThere = paths.contains(name)
                #expect(isThere, "\(file.path): \(name)")
            }
        }
    }

    @Test("Decisions are numbered without gaps, and each says what would change our mind")
    func decisions() {
        let decisions = repository.documents.filter { $0.path.hasPrefix("docs/decisions/") }
            .sorted { $0.path < $1.path }
        #expect(decisions.count >= 10)
        for (index, decision) in decisions.enumerated() {
            let number = String(10_000 + index + 1).dropFirst()
            #expect(decision.path.hasPrefix("docs/decisions/\(number)-"), "\(decision.path)")
            #expect(decision.lines[0].hasPrefix("# "), "\(decision.path)")
            for heading in ["Context", "Choice", "What we gave up", "What would change our mind"] {
                #expect(decision.lines.contains("## \(heading)"), "\(decision.path): \(heading)")
            }
        }
    }
}

extension Repository.TextFile {
    /// The text outside of code blocks.
    var prose: String {
        var isCode = false
        return lines.filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode
        }.joined(separator: "\n")
    }

    /// The anchors of a document's headings, as GitHub makes them.
    var anchors: Set<String> {
        Set(
            prose.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
                let title = line.drop { $0 == "#" }.dropFirst().lowercased()
                return String(
                    title.compactMap { character -> Character? in
                        if character == " " { return "-" }
                        return character.isLetter || character.isNumber || "-_".contains(character)
                            ? character : nil
                    })
            })
    }

    /// A relative path as seen from this file, from the repository's root.
    func resolve(_ link: String) -> String {
        guard !link.isEmpty else { return path }
        var parts = path.split(separator: "/").dropLast().map(String.init)
        for part in link.split(separator: "/") {
            if part == ".." {
                _ = parts.popLast()
            } else if part != "." {
                parts.append(String(part))
            }
        }
        return parts.joined(separator: "/")
    }
}
