internal import Arguments

/// `firebridge demo`: broker, recorded conversations, bridge and tree by one command.
enum DemoCommand {
    static func run(_ arguments: Arguments) -> Int32 { ExitCode.internalError }
}
