import Arguments
import Testing

@Suite struct ArgumentsTests {
    let command = Command(
        "run", "Runs.", operands: [],
        flags: [
            Flag("config", "FILE", required: true, "The file."),
            Flag("set", "KEY=VALUE", repeatable: true, "Overrides."),
            Flag("ready", "Asks."), Flag("export", "FILE", "Out."), Flag("import", "FILE", "In."),
        ],
        exclusive: [["export", "import"]])

    func message(_ arguments: [String]) -> String? {
        do throws(UsageError) {
            _ = try Arguments(arguments, of: command)
            return nil
        } catch {
            #expect(error.description.hasSuffix("\nusage: firebridge " + command.usage))
            return error.message
        }
    }

    @Test(arguments: [["--config", "f"], ["--config=f"]])
    func aValueFollowsItsFlagOrAnEqualsSign(_ arguments: [String]) throws {
        let arguments = try Arguments(
            arguments + ["--set", "a=1", "--set=b=2", "--ready"], of: command)
        #expect(arguments.value("config") == "f")
        #expect(arguments.values("set") == ["a=1", "b=2"])
        #expect(arguments.has("ready"))
        #expect(!arguments.has("export"))
        #expect(arguments.value("export") == nil)
        #expect(arguments.operands.isEmpty)
    }

    @Test(
        arguments: [
            ([], "run: expected --config FILE"),
            (
                ["--config"],
                "run: --config: expected FILE, found nothing (a value that begins with -- is "
                    + "written --config=VALUE)"
            ),
            (
                ["--config", "--ready"],
                "run: --config: expected FILE, found nothing (a value that begins "
                    + "with -- is written --config=VALUE)"
            ),
            (["--config=a", "--config=b"], "run: --config: expected once, found again"),
            (["--config=a", "--ready", "--ready"], "run: --ready: expected once, found again"),
            (["--config=a", "--ready=yes"], "run: --ready: expected no value, found one"),
            (["--confg=a"], "run: unknown flag --confg (did you mean --config?)"),
            (["--vresion"], "run: unknown flag --vresion (did you mean --version?)"),
            (["--wholly-else"], "run: unknown flag --wholly-else"),
            (["-c", "a"], "run: '-c': expected a long flag (--help lists them)"),
            (["--config=a", "b"], "run: unexpected 'b'"),
            (["--config=a", "--", "--x"], "run: unexpected '--x'"),
            (
                ["--config=a", "--export=a", "--import=b"],
                "run: expected only one of --export, --import"
            ),
            (["--config=a", "b\u{1B}[31m\n"], "run: unexpected 'b\\u{1b}[31m\\u{a}'"),
        ] as [([String], String)])
    func whatIsWrongIsSaidWithTheUsage(_ arguments: [String], _ expected: String) {
        #expect(message(arguments) == expected)
    }

    @Test func operandsAreTakenInOrderAndMayBeginWithADashAfterTwo() throws {
        let command = Command("set", "Sets.", operands: ["PATH", "JSON"], flags: [])
        #expect(try Arguments(["a/b", "-"], of: command).operands == ["a/b", "-"])
        #expect(try Arguments(["--", "a/b", "-1"], of: command).operands == ["a/b", "-1"])
        #expect(throws: UsageError.self) { try Arguments(["a/b"], of: command) }
        #expect(throws: UsageError.self) { try Arguments(["a/b", "1", "2"], of: command) }
    }
}

@Suite struct ProgramTests {
    let program = Program.firebridge

    func error(_ arguments: [String]) -> String? {
        do throws(UsageError) {
            _ = try program.parse(arguments)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func helpAndVersionAreUnderstoodEverywhere() throws {
        for command in program.commands {
            for rest in [["--help"], ["--bogus", "--help"]] {
                guard case .help(let text) = try program.parse([command.name] + rest) else {
                    Issue.record("no help for \(command.name)")
                    continue
                }
                #expect(text == program.help(for: command))
                #expect(text.contains("usage: firebridge \(command.usage)\n"))
            }
            guard case .version = try program.parse([command.name, "--version"]) else {
                Issue.record("no version for \(command.name)")
                continue
            }
        }
        guard case .help(let text) = try program.parse(["--help"]) else {
            Issue.record("no help")
            return
        }
        #expect(text == program.help)
        guard case .version = try program.parse(["--version"]) else {
            Issue.record("no version")
            return
        }
    }

    @Test func noLineOfAHelpTextIsLongerThanATerminal() {
        for text in [program.help] + program.commands.map(program.help(for:)) {
            for line in text.split(separator: "\n") where !line.hasPrefix("usage:") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test func theCommandIsFoundWithItsArguments() throws {
        guard
            case .run(let command, let arguments) = try program.parse(["check", "--config", "f"])
        else {
            Issue.record("not run")
            return
        }
        #expect(command.name == "check")
        #expect(arguments.value("config") == "f")
    }

    @Test func unknownCommandsAreRefusedWithTheOneThatWasMeant() {
        #expect(
            error(["chekc"])?.hasPrefix("unknown command 'chekc' (did you mean check?)") == true)
        #expect(error([])?.hasPrefix("expected a command: run, check, ") == true)
    }

    @Test func afterTwoDashesHelpIsAnOperand() throws {
        guard case .run(_, let arguments) = try program.parse(["get", "--", "--help"]) else {
            Issue.record("not run")
            return
        }
        #expect(arguments.operands == ["--help"])
    }
}

@Suite struct NearestTests {
    @Test(
        arguments: [
            ("lane", "lanes"), ("lnaes", "lanes"), ("LANES", nil), ("drian", "drain"), ("", nil),
            ("x", nil), ("retry_maximum", "retry_max"), ("retry_at_most", nil),
            ("retry-max", "retry_max"),
        ] as [(String, String?)])
    func theNameThatWasProbablyMeantIsFewEditsAway(_ text: String, _ expected: String?) {
        #expect(nearest(text, among: ["lanes", "drain", "retry_max"]) == expected)
    }

    @Test func aLongTextIsNoNamesNeighbour() {
        #expect(nearest(String(repeating: "lanes", count: 100_000), among: ["lanes"]) == nil)
    }
}
