/// The demo's broker, as the executable starts it under a hidden command.
public enum DemoBroker {
    /// The hidden command.
    public static let command = "mock-broker"

    /// The topics of the default mappings, with as many partitions as Kafka clusters like to give.
    public static let topics: [(name: String, partitions: Int)] =
        mirrored.map { ($0, 4) } + [("firebridge.dead-letters", 1)]

    static let mirrored = ["llm.token-chunks", "llm.run-lifecycle", "llm.finalized-messages"]
}
