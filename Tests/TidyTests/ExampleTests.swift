import EventLoop
import Glibc
import Testing

/// The examples of the documents are what the program does: every `console` block is run, in a
/// directory with the files that stand above it. (Blocks that say `console live` need a broker and
/// open ports: Tests/packaging/documents runs them.)
@Suite("Examples") struct ExampleTests {
    static let documents = [
        "README.md", "docs/mapping.md", "docs/firebase.md", "docs/troubleshooting.md",
    ]

    /// Commands of `sh` blocks, each with the file that runs it and the words to find there.
    static let elsewhere = [
        "make demo": ("Tests/DemoTests/Program.swift", "\"demo\""),
        "make test": (".ci/run", "make test"),
        "make build": ("deploy/test", "make --no-print-directory build"),
        // What the examples do by the environment of their shell.
        "export PATH=\"$PWD/.build/release:$PATH\"": (
            "Tests/packaging/documents", "PATH=$(dirname"
        ),
        "firebridge tree --rules Config/database.rules.json":
            ("docs/tree.md", "$ firebridge tree --rules Config/database.rules.json"),
        "firebridge replay --config firebridge.yaml --from-dead-letters --reason missing_field "
            + "--dry-run":
            ("Tests/IntegrationTests/ReplayTests.swift", "\"--dry-run\""),
        "firebridge replay --config firebridge.yaml --from-dead-letters --reason missing_field":
            ("Tests/IntegrationTests/ReplayTests.swift", "replay(\"--reason\""),
        "firebridge replay --config firebridge.yaml --topic llm.token-chunks "
            + "--since 2026-04-23T00:00:00Z":
            ("Tests/IntegrationTests/ReplayTests.swift", "try replay(LogRecord.chunks)"),
        "firebridge replay --config firebridge.yaml --topic llm.run-lifecycle "
            + "--since 2026-04-23T00:00:00Z":
            ("Tests/IntegrationTests/ReplayTests.swift", "try replay(LogRecord.runs)"),
        "firebridge erase --config firebridge.yaml --conversation c1 --dry-run":
            ("Tests/IntegrationTests/EraseTests.swift", "name, \"--dry-run\""),
        "firebridge erase --config firebridge.yaml --conversation c1":
            ("Tests/IntegrationTests/EraseTests.swift", "[\"erase\", \"--conversation\", name]"),
        "firebridge tree --data /var/lib/tree":
            ("Tests/IntegrationTests/DurabilityTests.swift", "[\"--data\", data]"),
        "firebridge tree --data /var/lib/tree --export tree.json":
            ("Tests/IntegrationTests/DurabilityTests.swift", "\"--export\", file]"),
        "firebridge tree --data /var/lib/tree --import tree.json --ns copy":
            ("Tests/IntegrationTests/DurabilityTests.swift", "[\"--ns\", \"copy\"]"),
        "sudo make install": ("Tests/packaging/systemd", "install DESTDIR=\"$machine\""),
        "sudoedit /etc/firebridge/firebridge.yaml": ("Tests/packaging/systemd", "sed -i"),
        "firebridge check --config /etc/firebridge/firebridge.yaml":
            ("Tests/packaging/systemd", "firebridge check --config /etc/firebridge"),
        "sudo systemctl enable --now firebridge":
            ("Tests/packaging/systemd", "systemctl enable --now firebridge"),
        "systemctl status firebridge": ("Tests/packaging/systemd", "systemctl status firebridge"),
        "podman build -f deploy/container/Containerfile -t firebridge .":
            ("Tests/packaging/container", "-f deploy/container/Containerfile"),
        "podman run --rm --read-only --cap-drop all --stop-timeout 40 "
            + "--volume ./chat.yaml:/etc/firebridge/firebridge.yaml:ro firebridge":
            ("Tests/packaging/container", "--read-only --cap-drop all"),
    ]

    /// Commands of `sh` blocks that no test can run, with the reason.
    static let unrunnable = [
        "firebase deploy --only database": "needs an account; the tree's tests load the same file",
        "curl -X PUT -T Config/database.rules.json "
            + "'https://NAME.firebaseio.com/.settings/rules.json?access_token=TOKEN'":
            "needs an account; docs/tree.md does it with a tree",
    ]

    @Test("Every command of a document is run by a test")
    func commands() throws {
        let repository = try Repository.shared.get()
        var left = Set(Self.elsewhere.keys).union(Self.unrunnable.keys)
        for file in repository.documents
        where file.path == "README.md" || file.path.hasPrefix("docs/") {
            for block in file.blocks {
                let shown = block.lines.filter { $0.hasPrefix("$ ") }
                switch block.language {
                case "console": #expect(Self.documents.contains(file.path), "\(file.path)")
                case "console live": #expect(file.path.split(separator: "/").count <= 2)
                case "sh":
                    for line in block.lines {
                        let command = line.split(separator: /\s+#/).first.map(String.init) ?? ""
                        left.remove(command)
                        guard Self.unrunnable[command] == nil else { continue }
                        guard let (path, words) = Self.elsewhere[command] else {
                            Issue.record("\(file.path): '\(command)' is run by nobody")
                            continue
                        }
                        let runner = try repository.file(path)
                        let runs = runner.mentions(words)
                        #expect(runs, "\(path) does not run '\(command)'")
                    }
                default: #expect(shown.isEmpty, "\(file.path): \(shown) in no console block")
                }
            }
        }
        #expect(left.isEmpty, "no document has these any more")
    }

    @Test("Commands that a document mentions exist, with their flags")
    func mentions() throws {
        let repository = try Repository.shared.get()
        let manual = try repository.file("man/firebridge.8").text
        let commands = Set(manual.all(/\n\.Ss (\w+)\n/))
        let flags = Set(manual.all(/\.(?:Fl|Op Fl|It Fl) -([a-z-]+)/)).union(["help", "version"])
        let makefile = try repository.file("Makefile").text
        let targets = Set(makefile.all(/\n([a-z-]+):/))
        for file in repository.documents {
            for span in file.prose.all(/`([^`\n]+)`/) {
                let words = span.split(separator: " ").map(String.init)
                guard words.count > 1, words[0] == "firebridge" || words[0] == "make" else {
                    continue
                }
                if words[0] == "make" {
                    #expect(targets.contains(words[1]), "\(file.path): \(span)")
                    continue
                }
                let isCommand = commands.contains(words[1]) || words[1].hasPrefix("-")
                #expect(isCommand, "\(file.path): \(span)")
                for word in words where word.hasPrefix("--") && word.count > 2 {
                    let name = word.dropFirst(2).prefix { $0.isLetter || $0 == "-" }
                    #expect(flags.contains(String(name)), "\(file.path): \(span)")
                }
            }
        }
    }

    @Test("What a document shows is what the program prints", arguments: documents)
    func examples(_ path: String) throws {
        let repository = try Repository.shared.get()
        let directory = try Scratch()
        var count = 0
        for block in try repository.file(path).blocks {
            switch block.language {
            case "yaml", "json":
                guard let name = block.fileName else { continue }
                let text = block.lines.joined(separator: "\n") + "\n"
                try File.write("\(directory.path)/\(name)", Array(text.utf8))
            case "console":
                for (command, expected) in block.commands {
                    let (_, output) = try run(
                        ["sh", "-c", command], in: directory.path,
                        environment: ["PATH": "\(try binaries()):/usr/bin:/bin"])
                    let found = output.split(separator: "\n").map(String.init)
                    #expect(matches(found, expected), "\(path): \(command)\n\(output)")
                    count += 1
                }
            default: continue
            }
        }
        #expect(count > 0)
    }

    /// Whether lines are as expected; an expected `…` stands for any lines, in a line for anything.
    private func matches(_ found: [String], _ expected: [String]) -> Bool {
        guard let rest = expected.firstIndex(of: "…") else {
            return found.count == expected.count
                && zip(found, expected).allSatisfy { $0.timeless.matches($1.timeless) }
        }
        guard found.count >= rest, matches(Array(found[..<rest]), Array(expected[..<rest])) else {
            return false
        }
        let after = Array(expected[(rest + 1)...])
        return (rest...found.count).contains { matches(Array(found[$0...]), after) }
    }

    /// Where the program is: beside the tests, or where the debug build puts it.
    private func binaries() throws -> String {
        let beside = try resolved("/proc/self/exe").split(separator: "/").dropLast()
        let places = [
            "/" + beside.joined(separator: "/"),
            "\(try Repository.shared.get().root)/.build/debug",
        ]
        return try #require(
            places.first { unsafe access("\($0)/firebridge", X_OK) == 0 }, "firebridge is not built"
        )
    }
}

/// A fenced block of a document.
private struct Block {
    var language: String
    var lines: [String] = []

    /// `# NAME` in its first line: the file that it shows.
    var fileName: String? {
        lines.first.flatMap { $0.wholeMatch(of: /# ([\w-]+\.\w+)/) }.map { String($0.output.1) }
    }

    /// What follows `$ `, up to where a line does not go on, and what is printed.
    var commands: [(command: String, output: [String])] {
        var commands: [(command: String, output: [String])] = []
        var goesOn = false
        for line in lines {
            if line.hasPrefix("$ ") {
                commands.append((String(line.dropFirst(2)), []))
            } else if goesOn {
                commands[commands.count - 1].command += "\n" + line
            } else {
                commands[commands.count - 1].output.append(line)
                continue
            }
            let command = commands[commands.count - 1].command
            let isQuoted = command.count { $0 == "'" } % 2 == 1
            goesOn = isQuoted || command.hasSuffix("|") || command.hasSuffix("\\")
        }
        return commands
    }
}

extension Repository.TextFile {
    /// The fenced blocks, in order.
    fileprivate var blocks: [Block] {
        var blocks: [Block] = []
        var isOpen = false
        for line in lines {
            if line.hasPrefix("```") {
                if !isOpen { blocks.append(Block(language: String(line.dropFirst(3)))) }
                isOpen.toggle()
            } else if isOpen {
                blocks[blocks.count - 1].lines.append(line)
            }
        }
        return blocks
    }
}

extension String {
    /// With every time to the millisecond replaced: such are the record's own where it has none.
    fileprivate var timeless: String {
        replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, with: "TIME")
    }

    /// Whether it is as expected, where `…` stands for anything.
    fileprivate func matches(_ expected: String) -> Bool {
        let parts = expected.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return self == expected }
        guard hasPrefix(parts[0]), hasSuffix(parts[parts.count - 1]) else { return false }
        var rest = self[...]
        for part in parts where !part.isEmpty {
            guard let place = rest.firstRange(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return true
    }
}

/// A directory that goes with the object.
private final class Scratch {
    let path: String

    init() throws {
        var template = Array("/tmp/firebridge-examples-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template) else { throw Missing(path: "/tmp") }
        path = unsafe String(cString: made)
    }

    deinit { _ = try? run(["rm", "-rf", path], in: "/") }
}
