/// What `firebridge replay` was asked for: its flags, where they belong together.
public enum ReplayArguments: Equatable, Sendable {
    /// Dead letters go into their topics again.
    case deadLetters(since: String?, reason: String?, conversation: String?)
    /// A range of a topic is mirrored again.
    case range(topic: String, since: String, conversation: String?, writesEvents: Bool)

    /// Reads the flags of the command.
    public init(_ arguments: Arguments, of command: Command) throws(UsageError) {
        let since = arguments.value("since")
        let conversation = arguments.value("conversation")
        if arguments.has("from-dead-letters") {
            guard !arguments.has("events") else {
                throw UsageError("--events: expected with --topic only", command)
            }
            self = .deadLetters(
                since: since, reason: arguments.value("reason"), conversation: conversation)
            return
        }
        guard let topic = arguments.value("topic") else {
            throw UsageError("expected --from-dead-letters or --topic TOPIC", command)
        }
        guard let since else { throw UsageError("--topic: expected --since TIME too", command) }
        guard !arguments.has("reason") else {
            throw UsageError("--reason: expected with --from-dead-letters only", command)
        }
        self = .range(
            topic: topic, since: since, conversation: conversation,
            writesEvents: arguments.has("events"))
    }
}
