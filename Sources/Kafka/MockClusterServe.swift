import Glibc

extension MockCluster {
    /// Runs a cluster in this process until the end of standard input, driven by lines.
    ///
    /// Prints `bootstrap HOST:PORT,…`, then answers each line with `ok` or `error: …`:
    /// `create TOPIC PARTITIONS` · `errors APIKEY CODE…` · `clear APIKEY` ·
    /// `late-error BROKER APIKEY CODE MILLISECONDS` · `topic-error TOPIC CODE` ·
    /// `down BROKER` · `up BROKER` · `rtt BROKER MILLISECONDS` · `leader TOPIC PARTITION BROKER` ·
    /// `coordinator GROUP BROKER`. A broker of -1 is all of them.
    public static func serve(
        brokers: Int, topics: [(name: String, partitions: Int)]
    ) throws(KafkaError) {
        let cluster = try MockCluster(brokers: brokers)
        for topic in topics {
            try cluster.createTopic(topic.name, partitions: topic.partitions)
        }
        say("bootstrap " + cluster.bootstrap.joined(separator: ","))
        while let line = readLine() {
            do throws(KafkaError) {
                try cluster.obey(line.split(separator: " ").map(String.init))
                say("ok")
            } catch {
                say("error: \(error)")
            }
        }
    }

    private func obey(_ words: [String]) throws(KafkaError) {
        let verb = words.first ?? ""
        // Topics and groups come first, numbers after.
        let name = words.count > 1 ? words[1] : ""
        let numbers = words.dropFirst().map { Int32($0) ?? 0 }
        switch (verb, numbers.count) {
        case ("create", 2): try createTopic(name, partitions: Int(numbers[1]))
        case ("errors", 2...):
            pushErrors(apiKey: Int16(numbers[0]), codes: Array(numbers.dropFirst()))
        case ("late-error", 4):
            try pushError(
                broker: numbers[0], apiKey: Int16(numbers[1]), code: numbers[2],
                milliseconds: numbers[3])
        case ("clear", 1): clearErrors(apiKey: Int16(numbers[0]))
        case ("topic-error", 2): setTopicError(name, code: numbers[1])
        case ("down", 1): try setDown(broker: numbers[0])
        case ("up", 1): try setUp(broker: numbers[0])
        case ("rtt", 2): try setRTT(broker: numbers[0], milliseconds: numbers[1])
        case ("leader", 3):
            try setLeader(topic: name, partition: numbers[1], broker: numbers[2])
        case ("coordinator", 2): try setCoordinator(group: name, broker: numbers[1])
        default:
            throw KafkaError(
                code: "_INVALID_ARG", text: "no such command: \(words.joined(separator: " "))",
                action: .note)
        }
    }
}

/// Prints a line at once, however standard output is buffered.
private func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    unsafe bytes.withUnsafeBytes { bytes in
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let count = unsafe write(
                1, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            guard count > 0 else { return }
            unsafe rest = rest.dropFirst(count)
        }
    }
}
