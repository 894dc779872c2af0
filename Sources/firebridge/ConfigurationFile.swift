internal import Configuration
internal import EventLoop

/// Reads the configuration for every command, so that none can disagree with `check`.
enum ConfigurationFile {
    /// Why there is no configuration: lines for people.
    struct Failure: Error {
        let lines: [String]
    }

    /// The configuration of a file, `--set` and the environment.
    static func load(_ file: String, overrides: [String]) -> Result<Configuration, Failure> {
        let text: [UInt8]
        do throws(SystemError) {
            text = try File.read(file, bytesMax: Configuration.fileBytesMax)
        } catch {
            return .failure(Failure(lines: ["\(file): cannot be read: \(error.reason)"]))
        }
        do throws(ConfigurationError) {
            return .success(
                try Configuration(
                    text, file: file, overrides: overrides, environment: Environment.all()))
        } catch {
            return .failure(Failure(lines: error.lines))
        }
    }
}
