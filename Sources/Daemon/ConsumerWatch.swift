internal import BridgeCore
internal import EventLoop
internal import Kafka

/// Whether Kafka's client gives what there is: lag without progress, or no place in the group while
/// the brokers answer, is a client that only a new one can replace.
///
/// An outage is none of its business: it judges only while Kafka is known to answer, and no
/// partition whose fetches are refused or whose leader is gone. No new client cures these, and it
/// would take the work of all others away.
struct ConsumerWatch {
    /// How one partition stands.
    struct Look {
        var partition: TopicPartition
        /// The offset of the next record.
        var position: Int64
        /// Where its leader says that what can be read ends; nil where it was not asked.
        var end: Int64?
        /// When it was asked, by the monotonic clock.
        var askedAt: Int64?
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
    /// What the last replacement was for: it is cured when it gets past that place.
    private var cause: (partition: TopicPartition, position: Int64)?
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
        silent.filter { isSuspect(since: $0.value.since, at: now) }.map(\.key)
    }

    private func isSuspect(since: Int64, at time: Int64) -> Bool {
        time - since > recordPatience.nanoseconds / 2
    }

    /// Why Kafka's client should be replaced now, nil where it should not. Ask about once a second.
    ///
    /// - Parameter awaitsGroup: the group has assigned nothing, not even no partition, although
    ///   there is something to assign.
    /// - Parameter isKafkaWell: Kafka has answered the last question.
    mutating func judge(
        _ looks: [Look], awaitsGroup: Bool, isKafkaWell: Bool, at now: Int64
    ) -> String? {
        guard isKafkaWell else {
            silent = [:]
            outsideSince = nil
            return nil
        }
        outsideSince = awaitsGroup ? outsideSince ?? now : nil
        var next: [TopicPartition: (position: Int64, since: Int64)] = [:]
        var stuck: Look?
        for look in looks {
            forgive(look)
            guard look.isWanted else { continue }
            let known = silent[look.partition]
            let since = known?.position == look.position ? known!.since : now
            next[look.partition] = (look.position, since)
            // What its leader said before it fell silent may be an answer of a leader that is gone.
            if let end = look.end, end > look.position, let askedAt = look.askedAt,
                isSuspect(since: since, at: askedAt), now - since > recordPatience.nanoseconds
            {
                stuck = look
            }
        }
        let reason: String? =
            if let outsideSince, now - outsideSince > groupPatience.nanoseconds {
                "the group has assigned nothing for \(words(now - outsideSince))"
            } else if let stuck, let since = next[stuck.partition]?.since {
                "\(stuck.partition) has given nothing for \(words(now - since)), "
                    + "\((stuck.end ?? 0) - stuck.position) records behind its end"
            } else {
                nil
            }
        silent = next
        guard reason != nil, now >= nextAllowed else { return nil }
        let factor = min(Self.backOffMax, 1 << min(restarts, 10))
        restarts += 1
        nextAllowed = now + recordPatience.nanoseconds * Int64(factor)
        cause = stuck.map { ($0.partition, $0.position) }
        silent = [:]
        outsideSince = nil
        return reason
    }

    /// The next replacement waits no longer than the first where the last one has helped: what it
    /// was for gives records again. That others do says nothing, as they always did.
    private mutating func forgive(_ look: Look) {
        let place = cause ?? silent[look.partition].map { (look.partition, $0.position) }
        guard let place, place.partition == look.partition, look.position > place.position else {
            return
        }
        (restarts, cause) = (0, nil)
    }

    private func words(_ nanoseconds: Int64) -> String { "\(nanoseconds / 1_000_000_000) s" }
}

extension ConsumerWatch.Look {
    /// - Parameter hasRoom: the bridge takes records of it.
    init(_ partition: TopicPartition, _ progress: PartitionProgress, hasRoom: Bool) {
        self.partition = partition
        position = progress.position
        end = progress.told
        askedAt = progress.toldAt?.monotonic
        isWanted = hasRoom && progress.halted == nil && progress.failure == nil
    }
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
