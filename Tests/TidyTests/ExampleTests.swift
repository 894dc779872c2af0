import EventLoop
import Glibc
import Testing

/// The examples of the documents are what the program does: every `console` block is run, in a
/// directory with the files that stand above it. (Blocks without that word need a broker.)
@Suite("Examples") struct ExampleTests {
    @Test(
        "What a document shows is what the program prints",
        arguments: ["README.md", "docs/mapping.md", "docs/firebase.md"])
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

    /// Whether lines are as expected; an expected `…` stands for any lines.
    private func matches(_ found: [String], _ expected: [String]) -> Bool {
        guard let rest = expected.firstIndex(of: "…") else {
            return found.map(\.timeless) == expected.map(\.timeless)
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
