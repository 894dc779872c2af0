internal import Arguments
internal import Configuration
internal import Daemon
internal import EventLoop
internal import Telemetry

/// `firebridge run`: the daemon.
enum RunCommand {
    static func run(_ arguments: Arguments) -> Int32 {
        let file = ConfigurationFile(arguments)
        let configuration: Configuration
        do throws(ConfigurationFile.Failure) {
            configuration = try file.read()
        } catch {
            // systemd shows it beside the state of the service.
            _ = ServiceManager(Environment.all())?.tell(["STATUS=\(error.lines.first ?? "")"])
            return error.tell()
        }
        let log = StandardError.log(
            level: LogLevel(rawValue: configuration.log.level.rawValue) ?? .info,
            format: LogStyle.Format(rawValue: configuration.log.format.rawValue) ?? .auto)
        hideSecrets(of: configuration, in: log)
        do {
            let daemon = try Daemon(configuration, log: log) { () throws(ReloadFailure) in
                do throws(ConfigurationFile.Failure) {
                    let next = try file.read()
                    hideSecrets(of: next, in: log)
                    try file.tryKafka(next)
                    return next
                } catch {
                    throw ReloadFailure(lines: error.lines)
                }
            }
            return daemon.run().rawValue
        } catch {
            return Output.fail("\(error)", code: ExitCode.internalError)
        }
    }

    private static func hideSecrets(of configuration: Configuration, in log: Log) {
        for property in configuration.kafka.properties where property.isSecret {
            log.hide(property.value.utf8)
        }
    }
}
