internal import Arguments
internal import BridgeCore
internal import Configuration
internal import Daemon
internal import EventLoop

/// `firebridge replay`: dead letters into their topics again, or a range of a topic once more.
enum ReplayCommand {
    static func run(_ arguments: Arguments, of command: Command) -> Int32 {
        let request: ReplayArguments
        do throws(UsageError) {
            request = try ReplayArguments(arguments, of: command)
        } catch {
            return Output.fail("\(error)", code: ExitCode.usage, prefix: "")
        }
        return OneShotCommand("replay", arguments).run {
            configuration, shell throws(OneShotFailure) in
            switch request {
            case .deadLetters(let since, let reason, let conversation):
                return try letters(since, reason, conversation, configuration, shell)
            case .range(let topic, let since, let conversation, let writesEvents):
                let replay = try RangeReplay(
                    configuration,
                    RangeReplay.Request(
                        topic: topic, since: try time(since), conversation: conversation,
                        writesEvents: writesEvents),
                    log: shell.log, progress: shell.progress)
                defer { replay.close() }
                return try shell.isDryRun ? replay.look() : replay.run()
            }
        }
    }

    private static func letters(
        _ since: String?, _ reason: String?, _ conversation: String?,
        _ configuration: Configuration, _ shell: OneShotCommand
    ) throws(OneShotFailure) -> [String] {
        var request = LetterReplay.Request(conversation: conversation)
        if let since { request.since = try time(since) }
        if let reason {
            request.reason = Rejection.Reason(rawValue: reason)
            guard request.reason != nil else {
                let known = Rejection.Reason.allCases.map(\.rawValue).joined(separator: ", ")
                throw OneShotFailure(
                    .usage, "--reason: expected one of \(known), found '\(reason)'")
            }
        }
        let replay = try LetterReplay(
            configuration, request, isDryRun: shell.isDryRun, log: shell.log,
            progress: shell.progress)
        defer { replay.close() }
        return try replay.run()
    }

    private static func time(_ text: String) throws(OneShotFailure) -> Int64 {
        guard let time = Timestamp(Array(text.utf8)) else {
            throw OneShotFailure(
                .usage,
                "--since: expected an RFC 3339 time such as 2026-04-23T00:00:00Z, found '\(text)'")
        }
        return time.milliseconds
    }
}
