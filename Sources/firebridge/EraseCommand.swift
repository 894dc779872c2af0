internal import Arguments
internal import Daemon
internal import EventLoop

/// `firebridge erase`: a conversation goes for good.
enum EraseCommand {
    static func run(_ arguments: Arguments) -> Int32 {
        let id = arguments.value("conversation") ?? ""
        SignalDescriptor.ignoreBrokenPipes()
        return OneShotCommand("erase", arguments).run {
            configuration, shell throws(OneShotFailure) in
            var erasing = try EraseRun(configuration, conversation: id)
            return try shell.isDryRun ? erasing.look() : erasing.run()
        }
    }
}
