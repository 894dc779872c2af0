import BridgeCore
import Testing

@testable import Daemon
@testable import Kafka

@Suite("A Kafka client that gives nothing although there is more is replaced")
struct ConsumerWatchTests {
    private static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }
    private let partition = TopicPartition("t", 0)

    /// - Parameter asked: the second in which the leader was asked.
    private func look(
        _ position: Int64, end: Int64?, asked: Int64 = .max / 2_000_000_000, isWanted: Bool = true
    ) -> [ConsumerWatch.Look] {
        [
            .init(
                partition: partition, position: position, end: end,
                askedAt: Self.seconds(asked), isWanted: isWanted)
        ]
    }

    private func refused(_ code: String) -> KafkaError {
        KafkaError(code: code, text: "refused", action: .alarm)
    }

    private func watch() -> ConsumerWatch {
        ConsumerWatch(session: .seconds(30), pollInterval: .seconds(300))
    }

    /// Judges once a second, and when it would replace.
    private func replacements(
        _ watch: inout ConsumerWatch, _ range: Range<Int64>, awaitsGroup: Bool = false,
        isKafkaWell: Bool = true, _ looks: (Int64) -> [ConsumerWatch.Look]
    ) -> [Int64] {
        range.filter { second in
            watch.judge(
                looks(second), awaitsGroup: awaitsGroup, isKafkaWell: isKafkaWell,
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
            replacements(&watch, 60..<600, awaitsGroup: true, isKafkaWell: false) { _ in
                look(5, end: 9)
            } == [])
        #expect(replacements(&watch, 600..<722) { _ in look(5, end: 9) } == [721])
    }

    @Test("No place in the group while Kafka answers: after ten minutes")
    func group() {
        var watch = watch()
        #expect(replacements(&watch, 0..<602, awaitsGroup: true) { _ in [] } == [601])
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

    @Test("That other partitions give records does not end it, nor what is read once more")
    func backOffAlone() throws {
        var watch = watch()
        let other = TopicPartition("t", 1)
        let times = replacements(&watch, 0..<8000) { second in
            let well = ConsumerWatch.Look(
                partition: other, position: second, end: 9000, askedAt: Self.seconds(second),
                isWanted: true)
            // A new client begins a little before the place where the last one stood still.
            return look(second % 200 == 0 ? 4 : 5, end: 9) + [well]
        }
        let pauses = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(try #require(pauses.last) > 3000, "\(pauses)")
    }

    @Test("A leader that has not been heard since it fell silent may be gone: no lag")
    func staleEnd() {
        var watch = watch()
        #expect(replacements(&watch, 0..<100) { look($0, end: 500, asked: 95) } == [])
        // It was asked once more as the last record came, and a little later.
        #expect(replacements(&watch, 100..<1000) { _ in look(99, end: 500, asked: 120) } == [])
        // It is back, and its client is not.
        #expect(
            replacements(&watch, 1000..<1010) { look(99, end: 500, asked: $0) } == [1000])
    }

    @Test("A partition that may not be read, or that the bridge has no room for, is not wanted")
    func wanted() {
        var progress = PartitionProgress(
            position: 5, high: 9, told: 9, toldAt: Moment(monotonic: 7, wall: 0))
        let look = ConsumerWatch.Look(partition, progress, hasRoom: true)
        #expect(look.isWanted && look.position == 5 && look.end == 9 && look.askedAt == 7)
        #expect(!ConsumerWatch.Look(partition, progress, hasRoom: false).isWanted)
        progress.failure = refused("TOPIC_AUTHORIZATION_FAILED")
        #expect(!ConsumerWatch.Look(partition, progress, hasRoom: true).isWanted)
        (progress.failure, progress.halted) = (nil, refused("OFFSET_OUT_OF_RANGE"))
        #expect(!ConsumerWatch.Look(partition, progress, hasRoom: true).isWanted)
    }

    @Test("Ends are asked of partitions that are silent for half of the time")
    func suspects() {
        var watch = watch()
        _ = replacements(&watch, 0..<60) { _ in look(5, end: nil) }
        #expect(watch.suspects(at: Self.seconds(60)) == [])
        #expect(watch.suspects(at: Self.seconds(61)) == [partition])
    }
}
