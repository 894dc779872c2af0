internal import Arguments
internal import Configuration

/// `firebridge check`: everything that is wrong with a configuration, or how it takes effect.
enum CheckCommand {
    static func run(_ arguments: Arguments) -> Int32 {
        let file = ConfigurationFile(arguments)
        do throws(ConfigurationFile.Failure) {
            let configuration = try file.read()
            return Output.print("\(file.path): ok\n\(configuration.effective)")
        } catch {
            return error.tell()
        }
    }
}
