import Fuzzing
import Oracle
import Testing

@testable import BridgeCore

/// The whole core over generated conversations, against the oracle's tree.
@Suite struct TreePropertyTests {
    private func settings(_ random: inout SplitMix64) -> Settings {
        var settings = Settings()
        settings.keep = .zero
        settings.stallAfter = .zero
        settings.retryMax = .seconds(1)
        settings.batchWritesMax = random.pick([1, 3, 10_000])
        settings.batchBytesMax = random.pick([1 << 9, 1 << 20])
        settings.inFlightBytesMax = random.pick([1 << 11, 1 << 20])
        settings.conversationsMax = random.pick([10, 20_000])
        settings.streamsMax = random.pick([1, 2, 16])
        return settings
    }

    private func shell(
        _ seed: UInt64, plan: MirrorPlan = .standard, shuffled: Bool = true
    ) -> (shell: TreeShell, records: [LogRecord]) {
        var random = SplitMix64(seed: seed)
        var streams = HardStreams(seed: seed)
        let records = streams.records(conversations: random.pick([1, 2, 3, 5, 30]))
        let shell = TreeShell(plan: plan, settings: settings(&random), seed: seed)
        for record in shuffled ? streams.interleaved(records) : records {
            shell.append(
                Record(
                    offset: 0, timestamp: record.timestamp, key: record.key, value: record.value),
                to: TopicPartition(record.topic, 0))
        }
        return (shell, records)
    }

    private func wrong(_ shell: TreeShell, _ records: [LogRecord]) -> [String] {
        var found = shell.root
        found.set([Array("_firebridge".utf8)], nil)
        let tree: Node? = found == .object([:]) ? nil : found
        return differences(expected: expectedTree(of: records), found: tree).map(\.description)
            + shell.breaches
    }

    @Test(arguments: 0..<4) func everyInterleavingGivesTheTreeThatTheContractDemands(
        _ part: UInt64
    ) {
        for seed in part * 100..<part * 100 + 12 {
            let (shell, records) = shell(seed)
            shell.start()
            shell.settle(steps: 2000)
            #expect(wrong(shell, records).prefix(3) == [], "seed \(seed)")
        }
    }

    @Test(arguments: 0..<4) func aProcessThatDiesAnywhereLeavesTheSameTree(_ part: UInt64) {
        for seed in part * 1000..<part * 1000 + 12 {
            let (shell, records) = shell(seed)
            var random = SplitMix64(seed: seed)
            shell.start()
            for _ in 0..<random.int(1..<6) {
                for _ in 0..<random.int(1..<120) { shell.step() }
                shell.crash()
            }
            shell.settle(steps: 2000)
            #expect(wrong(shell, records).prefix(3) == [], "seed \(seed)")
        }
    }

    @Test func readingTheLogAgainLeavesTheSameTreeAndRestoresWhatWasRemoved() {
        for seed: UInt64 in 5000..<5016 {
            let (shell, records) = shell(seed)
            shell.start()
            shell.settle(steps: 2000)
            var random = SplitMix64(seed: seed)
            for (conversation, _) in shell.root["streaming"]?.children ?? []
            where random.chance(0.5) {
                shell.root.set([Array("streaming".utf8), conversation], nil)
            }
            shell.forgetPositions()
            shell.start()
            shell.settle(steps: 2000)
            #expect(wrong(shell, records).prefix(3) == [], "seed \(seed)")
        }
    }

    @Test func chunksByArrivalAreNumberedAlikeWhateverHappens() {
        for seed: UInt64 in 6000..<6016 {
            let (calm, _) = shell(seed, plan: Plans.byArrival)
            calm.start()
            calm.settle(steps: 2000)
            let (stormy, _) = shell(seed, plan: Plans.byArrival)
            var random = SplitMix64(seed: seed)
            stormy.start()
            for _ in 0..<random.int(1..<5) {
                for _ in 0..<random.int(1..<120) { stormy.step() }
                stormy.crash()
            }
            stormy.settle(steps: 2000)
            if random.chance(0.5) {
                stormy.forgetPositions()
                stormy.start()
                stormy.settle(steps: 2000)
            }
            #expect(calm.breaches + stormy.breaches == [])
            let wrong = differences(
                expected: calm.root["streaming"], found: stormy.root["streaming"])
            #expect(wrong.map(\.description).prefix(3) == [], "seed \(seed)")
        }
    }

    @Test func aBatchThatTheDatabaseRefusesNowAndThenChangesNothing() {
        for seed: UInt64 in 7000..<7016 {
            let (shell, records) = shell(seed)
            var random = SplitMix64(seed: seed)
            var isCalm = false
            shell.verdict = { _ in
                guard !isCalm else { return nil }
                return switch random.int(0..<8) {
                case 0: .unavailable("away", retryAfter: nil)
                case 1: .unauthorized("who?")
                case 2: .tooBig("too big")
                default: nil
                }
            }
            shell.start()
            for _ in 0..<400 { shell.step() }
            isCalm = true
            shell.settle(steps: 2000)
            // A record that is too big alone is rejected; those are not in this property.
            guard shell.rejections.isEmpty else { continue }
            #expect(wrong(shell, records).prefix(3) == [], "seed \(seed)")
        }
    }
}
