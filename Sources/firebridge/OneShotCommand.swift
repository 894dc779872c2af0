internal import Arguments
internal import Configuration
internal import Daemon
internal import EventLoop
internal import Telemetry

/// What the commands that work on a configuration's services and end have in common.
final class OneShotCommand {
    let name: String
    let isDryRun: Bool
    let progress: ProgressLine
    private(set) var log: Log
    private let file: ConfigurationFile

    init(_ name: String, _ arguments: Arguments) {
        self.name = name
        isDryRun = arguments.has("dry-run")
        progress = ProgressLine(name)
        log = StandardError.log(level: .warn, format: .auto)
        file = ConfigurationFile(arguments)
    }

    /// Reads the configuration, does the work and prints what it tells.
    func run(
        _ work: (Configuration, OneShotCommand) throws(OneShotFailure) -> [String]
    ) -> Int32 {
        do throws(ConfigurationFile.Failure) {
            let configuration = try file.read()
            // What is told at `info` is a daemon's course.
            log = StandardError.log(
                level: configuration.log.level == .debug ? .debug : .warn,
                format: LogStyle.Format(rawValue: configuration.log.format.rawValue) ?? .auto)
            for property in configuration.kafka.properties where property.isSecret {
                log.hide(property.value.utf8)
            }
            return run(configuration, work)
        } catch {
            return error.tell()
        }
    }

    private func run(
        _ configuration: Configuration,
        _ work: (Configuration, OneShotCommand) throws(OneShotFailure) -> [String]
    ) -> Int32 {
        do throws(OneShotFailure) {
            let lines = try work(configuration, self)
            progress.end()
            log.finish()
            return Output.print(lines.map { Output.printable($0) + "\n" }.joined())
        } catch {
            progress.end()
            log.finish()
            return Output.fail("\(name): \(error)", code: code(of: error))
        }
    }

    private func code(of failure: OneShotFailure) -> Int32 {
        switch failure.kind {
        case .usage: ExitCode.usage
        case .unreachable: ExitCode.unreachable
        case .undelivered: ExitCode.undelivered
        case .configuration: ExitCode.configuration
        }
    }
}
