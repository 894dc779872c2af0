internal import Arguments
internal import Configuration
internal import EventLoop

/// `firebridge check`: reads a configuration and says what is wrong with it, or what is in effect.
enum CheckCommand {
    /// Exit codes as in sysexits(3).
    private enum Exit {
        static let ok: Int32 = 0
        static let usage: Int32 = 64
        static let configuration: Int32 = 78
    }

    /// Runs with the arguments behind the command's name.
    ///
    /// - Returns: the exit code.
    static func run(arguments: [String]) -> Int32 {
        do throws(UsageError) {
            switch try Program.firebridge.parse(["check"] + arguments) {
            case .help(let text):
                write(text, to: 1)
                return Exit.ok
            case .version:
                write("firebridge \(Program.version)\n", to: 1)
                return Exit.ok
            case .run(_, let arguments): return check(arguments)
            }
        } catch {
            write("\(error)\n", to: 2)
            return Exit.usage
        }
    }

    private static func check(_ arguments: Arguments) -> Int32 {
        let file = arguments.value("config") ?? ""
        switch ConfigurationFile.load(file, overrides: arguments.values("set")) {
        case .success(let configuration):
            let problems = librdkafkaProblems(configuration)
            guard problems.isEmpty else {
                write(problems.map { "firebridge: \(file): \($0)\n" }.joined(), to: 2)
                return Exit.configuration
            }
            write("\(file): ok\n\(configuration.effective)", to: 1)
            return Exit.ok
        case .failure(let failure):
            write(failure.lines.map { "firebridge: \($0)\n" }.joined(), to: 2)
            return Exit.configuration
        }
    }

    /// What librdkafka says against `kafka.properties`.
    private static func librdkafkaProblems(_ configuration: Configuration) -> [String] {
        // The place for `Kafka.Consumer.check(properties:)`, which comes with the Kafka target.
        []
    }

    private static func write(_ text: String, to descriptor: Int32) {
        // Nobody reads any more: there is nobody to tell.
        try? Descriptor.writeAll(Array(text.utf8), to: descriptor)
    }
}
