internal import Arguments
internal import Daemon
internal import EventLoop

/// The one binary: finds the command and hands over.
@main
struct Main {
    static func main() {
        ThisProcess.exitNow(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        // Not for people: `demo` starts its broker as a child, so that librdkafka's asserts end
        // that.
        if arguments.first == MockBrokerCommand.name {
            return MockBrokerCommand.run(Array(arguments.dropFirst()))
        }
        if arguments.first == DemoTreeCommand.name {
            return DemoTreeCommand.run(Array(arguments.dropFirst()))
        }
        do throws(UsageError) {
            switch try Program.firebridge.parse(arguments) {
            case .help(let text): return Output.print(text)
            case .version: return Output.print("firebridge \(Mirror.version)\n")
            case .run(let command, let arguments): return run(command, arguments)
            }
        } catch {
            return Output.fail("\(error)", code: ExitCode.usage, prefix: "")
        }
    }

    private static func run(_ command: Command, _ arguments: Arguments) -> Int32 {
        switch command.name {
        case "run": RunCommand.run(arguments)
        case "check": CheckCommand.run(arguments)
        case "explain": ExplainCommand.run(arguments)
        case "tree": TreeCommand.run(arguments)
        case "demo": DemoCommand.run(arguments)
        case "health": HealthCommand.run(arguments)
        case "get": NodeCommands.get(arguments)
        case "set": NodeCommands.set(arguments)
        case "watch": NodeCommands.watch(arguments)
        case "replay": ReplayCommand.run(arguments, of: command)
        case "erase": EraseCommand.run(arguments)
        default:
            Output.fail("nothing does '\(command.name)'", code: ExitCode.internalError)
        }
    }
}
