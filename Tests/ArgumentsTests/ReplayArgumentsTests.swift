import Arguments
import Testing

private struct NotRun: Error {}

@Suite("What replay takes") struct ReplayArgumentsTests {
    private func read(_ arguments: [String]) throws -> ReplayArguments {
        let parsed = try Program.firebridge.parse(["replay", "--config=f"] + arguments)
        guard case .run(let command, let arguments) = parsed else {
            throw NotRun()
        }
        return try ReplayArguments(arguments, of: command)
    }

    private func message(_ arguments: [String]) -> String? {
        do { _ = try read(arguments) } catch { return (error as? UsageError)?.message }
        return nil
    }

    @Test("Dead letters, all or chosen")
    func deadLetters() throws {
        #expect(
            try read(["--from-dead-letters"])
                == .deadLetters(since: nil, reason: nil, conversation: nil))
        #expect(
            try read([
                "--from-dead-letters", "--since=t", "--reason=r", "--conversation=c", "--dry-run",
            ]) == .deadLetters(since: "t", reason: "r", conversation: "c"))
    }

    @Test("A range of a topic")
    func range() throws {
        #expect(
            try read(["--topic=a", "--since=t"])
                == .range(topic: "a", since: "t", conversation: nil, writesEvents: false))
        #expect(
            try read(["--topic=a", "--since=t", "--conversation=c", "--events"])
                == .range(topic: "a", since: "t", conversation: "c", writesEvents: true))
    }

    @Test(
        "What does not go together is said",
        arguments: [
            ([], "replay: expected --from-dead-letters or --topic TOPIC"),
            (["--topic=a"], "replay: --topic: expected --since TIME too"),
            (
                ["--topic=a", "--from-dead-letters"],
                "replay: expected only one of --from-dead-letters, --topic"
            ),
            (
                ["--from-dead-letters", "--events"],
                "replay: --events: expected with --topic only"
            ),
            (
                ["--topic=a", "--since=t", "--reason=r"],
                "replay: --reason: expected with --from-dead-letters only"
            ),
        ] as [([String], String)])
    func wrong(_ arguments: [String], _ expected: String) {
        #expect(message(arguments) == expected)
    }
}
