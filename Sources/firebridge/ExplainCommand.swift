internal import Arguments
internal import BridgeCore
internal import Configuration
internal import EventLoop

/// `firebridge explain`: what a record on standard input would cause.
enum ExplainCommand {
    /// Kafka brokers take no larger record unless told to; a little more shows what happens then.
    private static let valueBytesMax = 64 << 20

    static func run(_ arguments: Arguments) -> Int32 {
        let configuration: Configuration
        do throws(ConfigurationFile.Failure) {
            configuration = try ConfigurationFile(arguments).read()
        } catch {
            return error.tell()
        }
        do {
            var headers: [Header] = []
            for text in arguments.values("header") {
                guard let equals = text.firstIndex(of: "=") else {
                    return Output.fail(
                        "explain: --header: expected NAME=VALUE", code: ExitCode.usage)
                }
                headers.append(
                    Header(
                        name: String(text[..<equals]),
                        value: Array(text[text.index(after: equals)...].utf8)))
            }
            let now = Clock.now()
            let record = Record(
                offset: 0, timestamp: now.wall, key: arguments.value("key").map { Array($0.utf8) },
                value: try input(), headers: headers)
            let topic = arguments.value("topic") ?? ""
            return tell(
                Explanation(
                    of: record, topic: topic,
                    plan: try configuration.plan(),
                    at: Moment(monotonic: now.monotonic, wall: now.wall)),
                topic: topic, known: configuration.mappings.map(\.topic))
        } catch {
            return Output.fail("explain: \(error)", code: ExitCode.internalError)
        }
    }

    private static func tell(
        _ explanation: Explanation, topic: String, known: [String]
    ) -> Int32 {
        switch explanation {
        case .writes(let writes):
            var out: [UInt8] = []
            for write in writes {
                out += write.path + Array(" ".utf8) + write.json + [0x0A]
            }
            return Output.print(out)
        case .rejected(let rejection): return Output.print("rejected: \(rejection)\n")
        case .nothing: return Output.print("nothing: the mapping passes this record over\n")
        case .unmapped:
            return Output.fail(
                "explain: --topic: no mapping has '\(topic)': expected one of "
                    + known.joined(separator: ", "), code: ExitCode.usage)
        }
    }

    private static func input() throws(SystemError) -> [UInt8] {
        var value: [UInt8] = []
        while let piece = try Descriptor.read(0, max: 1 << 16), !piece.isEmpty {
            value += piece
            guard value.count <= valueBytesMax else {
                throw SystemError("standard input", reason: "longer than 64 MiB")
            }
        }
        return value
    }
}
