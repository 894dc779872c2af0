internal import BridgeCore
internal import EventLoop

/// Whether Kafka's client gives what there is: lag without progress, or no place in the group while
/// the brokers answer, is a client that only a new one can replace.
///
/// An outage is none of its business: it judges only while Kafka is known to answer.
struct ConsumerWatch {
    /// How one partition stands.
    struct Look {
        var partition: TopicPartition
        /// The offset of the next record.
        var position: Int64
        /// Where its leader says that what can be read ends; nil where it was not asked.
        var end: Int64?
        /// There is room for records and nothing holds the partition.
        var isWanted: Bool
    }

    /// How long a partition may give nothing while its leader says that there is more.
    let recordPatience: Duration
    /// How long the group may take to assign: other members may finish their work first.
    let groupPatience: Duration
    private var silent: [TopicPartition: (position: Int64, since: Int64)] = [:]
    private var outsideSince: Int64?
    private var restarts = 0
    private var nextAllowed = Int64.min

    /// The longest time between two replacements is so many times the patience.
    private static let backOffMax = 32

    /// - Parameters:
    ///   - session: `session.timeout.ms`.
    ///   - pollInterval: `max.poll.interval.ms`.
    init(session: Duration, pollInterval: Duration) {
        recordPatience = max(.seconds(120), session * 3)
        groupPatience = max(.seconds(600), pollInterval * 2)
    }

    /// For tests: the same rule with less patience.
    init(patience: Duration) { (recordPatience, groupPatience) = (patience, patience) }

    /// The partitions whose ends are worth asking for: silent for half of the patience.
    func suspects(at now: Int64) -> [TopicPartition] {
        silent.filter { now - $0.value.since > recordPatience.nanoseconds / 2 }.map(\.key)
    }

    /// Why Kafka's client should be replaced now, nil where it should not. Ask about once a second.
    ///
    /// - Parameter isMember: the group has assigned something, be it nothing.
    /// - Parameter isKafkaWell: Kafka has answered the last question.
    mutating func judge(
        _ looks: [Look], isMember: Bool, isKafkaWell: Bool, at now: Int64
    ) -> String? {
        guard isKafkaWell else {
            silent = [:]
            outsideSince = nil
            return nil
        }
        outsideSince = isMember ? nil : outsideSince ?? now
        var next: [TopicPartition: (position: Int64, since: Int64)] = [:]
        var reason: String?
        for look in looks where look.isWanted {
            let known = silent[look.partition]
            let since = known?.position == look.position ? known!.since : now
            next[look.partition] = (look.position, since)
            if let known, known.position != look.position { restarts = 0 }
            if let end = look.end, end > look.position,
                now - since > recordPatience.nanoseconds
            {
                reason =
                    "\(look.partition) has given nothing for \(words(now - since)), "
                    + "\(end - look.position) records behind its end"
            }
        }
        silent = next
        if let outsideSince, now - outsideSince > groupPatience.nanoseconds {
            reason = "the group has assigned nothing for \(words(now - outsideSince))"
        }
        guard reason != nil, now >= nextAllowed else { return nil }
        let factor = min(Self.backOffMax, 1 << min(restarts, 10))
        restarts += 1
        nextAllowed = now + recordPatience.nanoseconds * Int64(factor)
        silent = [:]
        outsideSince = nil
        return reason
    }

    private func words(_ nanoseconds: Int64) -> String { "\(nanoseconds / 1_000_000_000) s" }
}

extension ConsumerWatch {
    /// As patient as librdkafka's properties want it; the tests make it less so.
    init(_ properties: [(name: String, value: String)]) {
        func time(_ name: String, default milliseconds: Int) -> Duration {
            let found = properties.last { $0.name == name }.flatMap { Int($0.value) }
            return .milliseconds(found ?? milliseconds)
        }
        if let text = Environment.value("FIREBRIDGE_TEST_CONSUMER_PATIENCE_MS"),
            let patience = Int(text)
        {
            self.init(patience: .milliseconds(patience))
        } else {
            self.init(
                session: time("session.timeout.ms", default: 30_000),
                pollInterval: time("max.poll.interval.ms", default: 300_000))
        }
    }
}
