import BridgeCore
import Fuzzing
import Glibc
import Testing

/// A short run of `swift run -c release fuzz`, and what it found before.
@Suite struct FuzzTests {
    @Test func oddRecordsAreWrittenRejectedOrPassedOverAndNothingElse() {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2)
        var seed: UInt64 = 1
        while clock.now < end || seed < 20 {
            let world = FuzzWorld(seed: seed, corpus: Self.corpus.map(\.value))
            #expect(world.breaches == [], "seed \(seed)")
            seed += 1
        }
    }

    @Test(arguments: corpus) func whatWasFoundStaysRepaired(_ name: String, _ value: [UInt8]) {
        let times: [Int64?] = [nil, .min, -1, kafkaTime, 253_402_300_800_000, .max]
        let keys: [[UInt8]?] = [
            nil, [], [0xFF], Array("a/b".utf8), Array(repeating: 0x6B, count: 800),
        ]
        for topic in Plans.everything.topics {
            var settings = Settings()
            settings.keep = .zero
            let shell = TreeShell(plan: Plans.everything, settings: settings, seed: 1)
            for time in times {
                for key in keys {
                    shell.append(
                        Record(offset: 0, timestamp: time, key: key, value: value),
                        to: TopicPartition(topic, 0))
                }
            }
            shell.start()
            shell.settle(steps: 2000)
            #expect(shell.breaches == [], "\(name) in \(topic)")
        }
    }

    /// The files of `Tests/Corpus`, by name.
    static let corpus: [(name: String, value: [UInt8])] = {
        let folder = #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" }
        let names = [
            "chunk-final-index-max", "chunk-run-id-too-long-for-a-key", "chunk-without-own-time",
            "marker-run-id-too-long-for-a-key", "message-keys-that-collide",
            "value-guard-beyond-a-double",
        ]
        return names.map { ($0, bytes(of: "\(folder)/Corpus/\($0).json")) }
    }()

    @Test(arguments: corpus) func theCorpusIsThere(_ name: String, _ value: [UInt8]) {
        #expect(!value.isEmpty, "\(name)")
    }

    private static func bytes(of path: String) -> [UInt8] {
        guard let file = unsafe fopen(path, "r") else { return [] }
        defer { _ = unsafe fclose(file) }
        var part = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe fread(&part, 1, part.count, file)
        return Array(part[..<count])
    }
}
