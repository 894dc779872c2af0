/// The demo's tree, as the executable starts it under a hidden command, and what the demo and that
/// process tell each other: figures go to its standard input, a JSON object a line; buttons that
/// were pressed on the page come from its standard output.
public enum DemoTree {
    /// The hidden command; the address to listen on follows.
    public static let command = "demo-tree"
    /// The line that says that no button shall work any more.
    public static let closing = "closing"

    /// Whether the demo has told anything of a conversation in its first nanoseconds.
    public static func hasTold(_ conversation: [UInt8], within nanoseconds: Int64) -> Bool {
        Retelling(
            conversation, of: .embedded(), number: 0, at: nanoseconds / 1_000_000, beginning: 0)
            != nil
    }

    /// What was pressed on the page.
    enum Button: Equatable {
        case breakDatabase
        case killBridge
        case regenerate(conversation: [UInt8])

        /// Reads a line of the tree's process; nil where it says something else.
        init?(_ line: String) {
            let beginning = "control regenerate "
            switch line {
            case "control break": self = .breakDatabase
            case "control kill": self = .killBridge
            default:
                guard line.hasPrefix(beginning) else { return nil }
                self = .regenerate(conversation: Array(line.dropFirst(beginning.count).utf8))
            }
        }
    }
}
