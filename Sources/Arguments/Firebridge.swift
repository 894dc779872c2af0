extension Program {
    /// The commands of firebridge (contract section 4).
    public static let firebridge = Program(
        "firebridge", "Mirrors Kafka topics into a tree of nodes, and serves such a tree.",
        commands: [
            Command(
                "run", "Mirrors topics into the tree until it is stopped.",
                flags: [config, set]),
            Command(
                "check",
                "Reads a configuration and prints it as it takes effect, secrets hidden, or "
                    + "everything that is wrong with it.",
                flags: [config, set]),
            Command(
                "explain",
                "Prints the writes that the record on standard input would cause, or why it is "
                    + "rejected. Needs no broker and no database.",
                flags: [
                    config, set,
                    Flag("topic", "TOPIC", required: true, "The record's topic."),
                    Flag("key", "KEY", "The record's key. Without it the record has none."),
                    Flag(
                        "header", "NAME=VALUE", repeatable: true,
                        "A header of the record. May be repeated."),
                ]),
            Command(
                "tree", "Serves a tree of nodes; its page is at /.",
                flags: [
                    listen("127.0.0.1:9000"),
                    Flag("data", "DIR", "Keeps the tree in this directory."),
                    Flag("fsync", "WHEN", "When that is on the disk: always, interval or never."),
                    Flag("rules", "FILE", "Guards the tree by these security rules."),
                    Flag("jwks", "FILE", "Takes tokens signed by these keys."),
                    Flag("fence", "Refuses writes whose fence has been overtaken."),
                    Flag("fault", "FILE", "Answers with the faults that this file describes."),
                    Flag("export", "FILE", "Writes the tree as JSON to this file and exits."),
                    Flag("import", "FILE", "Reads the tree from this JSON file and exits."),
                    Flag("ns", "NAME", "The database that is exported or imported."),
                ],
                exclusive: [["export", "import"]]),
            Command(
                "demo",
                "Starts a broker, recorded conversations, the bridge and a tree, and prints the "
                    + "address of a page to look at.",
                flags: [
                    listen("127.0.0.1:9000"),
                    Flag("for", "DURATION", "Stops after so long, such as 20s."),
                ]),
            Command(
                "health",
                "Asks a running bridge how it is: exits with 0, or with 69 and the reasons.",
                flags: [
                    url("http://127.0.0.1:8085"),
                    Flag("ready", "Asks whether it is ready, not only whether it is alive."),
                ]),
            Command(
                "get", "Prints the node at a path as JSON.", operands: ["PATH"],
                flags: [url(tree), token]),
            Command(
                "set", "Replaces the node at a path.", operands: ["PATH", "JSON"],
                flags: [url(tree), token]),
            Command(
                "watch", "Prints what changes at a path, one event a line.", operands: ["PATH"],
                flags: [url(tree), token]),
            replay, erase,
        ])

    private static let replay = Command(
        "replay",
        "Produces dead letters into their topics again, or mirrors a range of a topic again, for "
            + "which the bridge must be stopped.",
        flags: [
            config, set,
            Flag("from-dead-letters", "Takes the records of the dead-letter topic."),
            Flag("topic", "TOPIC", "Takes the records of this topic."),
            Flag(
                "since", "TIME",
                "Only records from this time on; of dead letters, those rejected from then on."),
            Flag("reason", "REASON", "Only dead letters of this reason, such as missing_field."),
            Flag("conversation", "ID", "Only this conversation's records."),
            Flag("events", "Writes event nodes too."),
            Flag("dry-run", "Only prints what it would do."),
        ],
        exclusive: [["from-dead-letters", "topic"]])

    private static let erase = Command(
        "erase",
        "Removes a conversation's nodes and state for good and leaves an erase mark. The bridge "
            + "must be stopped.",
        flags: [
            config, set,
            Flag("conversation", "ID", required: true, "The conversation."),
            Flag("dry-run", "Only prints what it would do."),
        ])

    private static let tree = "http://127.0.0.1:9000"

    // Never the token itself: whoever can list processes would read it.
    private static let token = Flag(
        "token-file", "FILE", "Sends the access token in this file, and no other credential.")

    private static let config = Flag("config", "FILE", required: true, "The configuration.")

    private static let set = Flag(
        "set", "KEY=VALUE", repeatable: true,
        "Overrides one key of the configuration, such as delivery.lanes=8. May be repeated.")

    private static func listen(_ address: String) -> Flag {
        Flag("listen", "ADDRESS", "Where it listens. Default: \(address).")
    }

    private static func url(_ url: String) -> Flag {
        Flag("url", "URL", "Whom to ask. Default: \(url).")
    }
}
