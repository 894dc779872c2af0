import Arguments
import EventLoop
import Testing

/// `man/firebridge.8` describes the commands as they are.
@Suite struct ManualTests {
    let lines: [String]

    init() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try File.read(root + "/man/firebridge.8", bytesMax: 1 << 20)
        lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func everyCommandHasItsSynopsisInOrder() {
        let synopsis = lines.drop { $0 != ".Sh SYNOPSIS" }.dropFirst().prefix {
            $0 != ".Sh DESCRIPTION"
        }
        let commands = synopsis.split(separator: ".Nm", omittingEmptySubsequences: true)
        #expect(
            commands.map { $0.first } == Program.firebridge.commands.map { ".Cm \($0.name)" })
        for (lines, command) in zip(commands, Program.firebridge.commands) {
            var expected: [String] = []
            if !command.operands.isEmpty {
                expected.append(".Ar " + command.operands.joined(separator: " "))
            }
            var flags = command.flags[...]
            while let flag = flags.popFirst() {
                let exclusive = command.exclusive.first { $0.first == flag.name } ?? []
                let others = flags.prefix(max(exclusive.count, 1) - 1)
                #expect(Array(exclusive.dropFirst()) == others.map(\.name))
                flags = flags.dropFirst(others.count)
                let alternatives = ([flag] + others).map(macro).joined(separator: " | ")
                expected.append(
                    (flag.isRequired ? "." : ".Op ") + alternatives
                        + (flag.isRepeatable ? " ..." : ""))
            }
            #expect(Array(lines.dropFirst()) == expected, "\(command.name)")
        }
    }

    @Test func everyFlagIsDescribedInItsCommandsSection() {
        for command in Program.firebridge.commands {
            let section = lines.drop { $0 != ".Ss \(command.name)" }.dropFirst().prefix {
                !$0.hasPrefix(".Ss ") && !$0.hasPrefix(".Sh ")
            }
            #expect(!section.isEmpty, "\(command.name)")
            #expect(
                section.filter { $0.hasPrefix(".It ") }
                    == command.flags.map { ".It " + macro($0) }, "\(command.name)")
        }
    }

    private func macro(_ flag: Flag) -> String {
        "Fl -\(flag.name)" + (flag.value.map { " Ar \($0)" } ?? "")
    }
}
