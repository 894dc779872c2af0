internal import Glibc

/// The parts of `make bench` (Benchmarks/run puts them together):
///
///     bench core [--records N] [--conversations N]
///     bench churn [--conversations N]
///     bench produce --brokers LIST --topic T [--records N] [--conversations N] [--partitions N]
///     bench sink --records N [--delay-ms N]
///     bench tree [--leaves N] [--kept 1]
///     bench load --port P --kind patch|put|fixed --requests N [--connections N]
///     bench fan-out --port P [--streams N] [--rounds N]
@main
struct Main {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let options = Options(words.dropFirst())
        let records = options.integer("records", default: 300_000)
        let conversations = options.integer("conversations", default: 1000)
        switch words.first {
        case "core": CoreBenchmark.run(records: records, conversations: conversations)
        case "churn": Churn.run(conversations: conversations)
        case "produce":
            try Production.run(
                brokers: options.text("brokers"), topic: options.text("topic"),
                records: records, conversations: conversations,
                partitions: options.integer("partitions", default: 4))
        case "sink":
            try Sink(
                records: records, delay: .milliseconds(options.integer("delay-ms", default: 0))
            )
            .serve()
        case "tree":
            TreeBenchmark.run(
                leaves: options.integer("leaves", default: 300_000),
                isKept: options.integer("kept", default: 0) > 0)
        case "load":
            guard let kind = TreeLoad.Kind(rawValue: options.text("kind")) else {
                Options.fail("--kind: expected patch, put or fixed")
            }
            TreeLoad.run(
                kind, port: options.integer("port", default: 9000),
                requests: options.integer("requests", default: 1000),
                connections: options.integer("connections", default: 1))
        case "fan-out":
            TreeLoad.fanOut(
                port: options.integer("port", default: 9000),
                streams: options.integer("streams", default: 1000),
                rounds: options.integer("rounds", default: 50))
        default: Options.fail("expected core, churn, produce, sink, tree, load or fan-out")
        }
    }
}

/// `--name value` pairs.
struct Options {
    private var values: [String: String] = [:]

    init(_ words: ArraySlice<String>) {
        var rest = words
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else {
                Self.fail("expected --name value, found \(name)")
            }
            values[String(name.dropFirst(2))] = value
        }
    }

    func integer(_ name: String, default fallback: Int) -> Int {
        guard let text = values[name] else { return fallback }
        guard let number = Int(text), number >= 0 else {
            Self.fail("--\(name): expected a number, found \(text)")
        }
        return number
    }

    func text(_ name: String) -> String {
        guard let text = values[name] else { Self.fail("--\(name) is missing") }
        return text
    }

    static func fail(_ message: String) -> Never {
        Output.say("bench: \(message)", to: 2)
        exit(64)
    }
}

/// Lines that go out at once, however standard output is buffered.
enum Output {
    static func say(_ line: String, to descriptor: Int32 = 1) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe write(descriptor, bytes, bytes.count)
    }

    /// User and system time of this process in seconds.
    static var cpuSeconds: Double {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }
}
