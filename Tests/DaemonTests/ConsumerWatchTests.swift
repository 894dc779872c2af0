import BridgeCore
import Testing

@testable import Daemon

@Suite("A Kafka client that gives nothing although there is more is replaced")
struct ConsumerWatchTests {
    private static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }
    private let partition = TopicPartition("t", 0)

    private func look(
        _ position: Int64, end: Int64?, isWanted: Bool = true
    ) -> [ConsumerWatch.Look] {
        [.init(partition: partition, position: position, end: end, isWanted: isWanted)]
    }

    private func watch() -> ConsumerWatch {
        ConsumerWatch(session: .seconds(30), pollInterval: .seconds(300))
    }

    /// Judges once a second, and when it would replace.
    private func replacements(
        _ watch: inout ConsumerWatch, _ range: Range<Int64>, isMember: Bool = true,
        isKafkaWell: Bool = true, _ looks: (Int64) -> [ConsumerWatch.Look]
    ) -> [Int64] {
        range.filter { second in
            watch.judge(
                looks(second), isMember: isMember, isKafkaWell: isKafkaWell,
                at: Self.seconds(second)) != nil
        }
    }

    @Test("Lag without a record for two minutes, not less")
    func lag() {
        var watch = watch()
        #expect(replacements(&watch, 0..<122) { _ in look(5, end: 9) } == [121])
    }

    @Test("A long session makes it more patient: three of them")
    func session() {
        var watch = ConsumerWatch(session: .seconds(60), pollInterval: .seconds(300))
        #expect(replacements(&watch, 0..<190) { _ in look(5, end: 9) } == [181])
    }

    @Test("Each record begins the time anew")
    func progress() {
        var watch = watch()
        #expect(replacements(&watch, 0..<1000) { look($0 / 100, end: 99) } == [])
    }

    @Test(
        "The end, a full bridge, a partition that stands still, an end that nobody knows: no lag",
        arguments: [(5, true), (9, false), (nil, true)] as [(Int64?, Bool)])
    func patience(end: Int64?, isWanted: Bool) {
        var watch = watch()
        #expect(
            replacements(&watch, 0..<1000) { _ in look(5, end: end, isWanted: isWanted) } == [])
    }

    @Test("An outage is no reason, and the time begins when Kafka answers again")
    func outage() {
        var watch = watch()
        #expect(replacements(&watch, 0..<60) { _ in look(5, end: 9) } == [])
        #expect(
            replacements(&watch, 60..<600, isMember: false, isKafkaWell: false) { _ in
                look(5, end: 9)
            } == [])
        #expect(replacements(&watch, 600..<722) { _ in look(5, end: 9) } == [721])
    }

    @Test("No place in the group while Kafka answers: after ten minutes")
    func group() {
        var watch = watch()
        #expect(replacements(&watch, 0..<602, isMember: false) { _ in [] } == [601])
    }

    @Test("What a new client does not cure is tried ever more rarely; a record ends that")
    func backOff() {
        var watch = watch()
        let times = replacements(&watch, 0..<8000) { _ in look(5, end: 9) }
        let pauses = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(pauses.prefix(4) == [122, 240, 480, 960], "\(pauses)")
        _ = replacements(&watch, 8000..<8002) { look($0, end: 9000) }
        let again = replacements(&watch, 12_000..<12_400) { _ in look(6, end: 9) }
        #expect(again.count >= 2, "\(again)")
    }

    @Test("Ends are asked of partitions that are silent for half of the time")
    func suspects() {
        var watch = watch()
        _ = replacements(&watch, 0..<60) { _ in look(5, end: nil) }
        #expect(watch.suspects(at: Self.seconds(60)) == [])
        #expect(watch.suspects(at: Self.seconds(61)) == [partition])
    }
}
