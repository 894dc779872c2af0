internal import Arguments
internal import Configuration
internal import EventLoop

/// `firebridge check`: everything that is wrong with a configuration, or how it takes effect.
enum CheckCommand {
    static func run(_ arguments: Arguments) -> Int32 {
        let file = ConfigurationFile(arguments)
        do throws(ConfigurationFile.Failure) {
            let configuration = try file.read()
            try file.tryKafka(configuration)
            warn(of: configuration, in: file.path)
            return Output.print("\(file.path): ok\n\(configuration.effective)")
        } catch {
            return error.tell()
        }
    }

    /// Files that cannot be read here are no error: where `check` runs, they may not be meant to
    /// be.
    private static func warn(of configuration: Configuration, in path: String) {
        let database = configuration.database
        func warn(_ key: String, _ text: String) {
            _ = Output.fail("warning: \(path): \(key): \(text)", code: 0)
        }
        if !database.credentials.file.isEmpty {
            do throws(SystemError) {
                let (_, warning) = try File.readSecret(database.credentials.file)
                if let warning { warn("database.credentials.file", warning) }
            } catch {
                warn("database.credentials.file", "\(error)")
            }
        }
        if !database.caFile.isEmpty {
            do throws(SystemError) {
                _ = try File.read(database.caFile, bytesMax: 1 << 24)
            } catch {
                warn("database.ca_file", "\(error)")
            }
        }
    }
}
