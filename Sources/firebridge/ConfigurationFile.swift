internal import Arguments
internal import BridgeCore
internal import Configuration
internal import Daemon
internal import EventLoop
internal import Kafka
internal import TreeClient

/// The configuration that a command names by `--config` and `--set`.
struct ConfigurationFile {
    let path: String
    let overrides: [String]

    init(_ arguments: Arguments) {
        path = arguments.value("config") ?? ""
        overrides = arguments.values("set")
    }

    /// Why a configuration cannot be used: every line of it.
    struct Failure: Error {
        var lines: [String]

        /// Tells all of it, and gives the exit code back.
        func tell() -> Int32 {
            for line in lines { _ = Output.fail(line, code: 0) }
            return ExitCode.configuration
        }
    }

    /// Reads and checks everything that can be checked without a broker and a database.
    func read() throws(Failure) -> Configuration {
        let text: [UInt8]
        do {
            text = try File.read(path, bytesMax: Configuration.fileBytesMax)
        } catch {
            throw Failure(lines: ["\(error)"])
        }
        do throws(ConfigurationError) {
            return try Configuration(
                text, file: path, overrides: overrides, environment: Environment.all(),
                propertyProblem: Self.problem, urlProblem: Self.problem)
        } catch {
            throw Failure(lines: error.lines)
        }
    }

    /// Makes Kafka's clients as `run` does: properties that are good one by one may contradict one
    /// another, or what a producer must be. That one is made for the first dead letter only, and
    /// is too late then to say so. Nothing is waited for.
    func tryKafka(_ configuration: Configuration) throws(Failure) {
        do throws(KafkaError) {
            let consumer = try Consumer(
                brokers: configuration.kafka.brokers, group: configuration.settings.group,
                topics: [], properties: configuration.properties)
            consumer.close(within: .seconds(2))
            guard configuration.settings.reject == .deadLetter else { return }
            let producer = try Producer(
                brokers: configuration.kafka.brokers,
                properties: configuration.producerProperties)
            producer.close(within: .seconds(2))
        } catch {
            throw Failure(lines: ["\(path): kafka.properties: \(error.text)"])
        }
    }

    /// What the database's client has against its URL.
    private static func problem(url: String) -> String? {
        do throws(TreeClientError) {
            _ = try DatabaseURL(parsing: url)
            return nil
        } catch {
            return error.description
        }
    }

    /// What librdkafka has against one of its properties.
    private static func problem(name: String, value: String) -> String? {
        do throws(KafkaError) {
            try Properties.check([(name, value)])
            return nil
        } catch {
            return error.text
        }
    }
}
