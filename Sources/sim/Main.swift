import BridgeCore
import Glibc
import Simulation

/// `sim --seed S` prints what happens in one simulated world; `sim --seeds A-B` (or a number) runs
/// many on all cores and prints the seeds that fail.
@main
enum Main {
    static func main() async {
        let options: Options
        do throws(UsageError) {
            options = try Options(CommandLine.arguments.dropFirst())
        } catch {
            let text = Array("sim: \(error.message)\n\(Options.usage)\n".utf8)
            _ = unsafe write(STDERR_FILENO, text, text.count)
            exit(64)
        }
        switch options.action {
        case .help: print(Options.usage)
        case .trace(let seed): exit(trace(seed, options.flaw) ? 0 : 1)
        case .sweep(let seeds): exit(await sweep(seeds, options) ? 0 : 1)
        }
    }

    private static func trace(_ seed: UInt64, _ flaw: Flaw?) -> Bool {
        let world = World(seed: seed, flaw: flaw, tracing: true)
        world.run()
        for line in world.trace { print(line) }
        for (name, number) in world.counts.sorted(by: { $0.key < $1.key }) {
            print("\(number) \(name)")
        }
        print("fingerprint \(world.fingerprint)")
        for failure in world.failures { print("seed \(seed) FAILS: \(failure)") }
        return world.failures.isEmpty
    }

    private static func sweep(_ seeds: ClosedRange<UInt64>, _ options: Options) async -> Bool {
        let workers = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        var total = Tally()
        await withTaskGroup(of: Tally.self) { group in
            for worker in 0..<UInt64(workers) {
                group.addTask {
                    var tally = Tally()
                    for seed in seeds where seed % UInt64(workers) == worker {
                        tally.add(seed, options)
                    }
                    return tally
                }
            }
            for await tally in group { total.add(tally) }
        }
        for (name, number) in total.counts.sorted(by: { $0.key < $1.key }) {
            print("\(number) \(name)")
        }
        for (kind, number) in total.kinds.sorted(by: { $0.value > $1.value }) {
            print("\(number) worlds fail first by: \(kind)")
        }
        print("\(total.failed) of \(seeds.count) worlds fail")
        return total.failed == 0
    }
}

/// What a number of worlds came to.
private struct Tally: Sendable {
    var failed = 0
    var kinds: [String: Int] = [:]
    var counts: [String: Int] = [:]

    mutating func add(_ seed: UInt64, _ options: Options) {
        let world = World(seed: seed, flaw: options.flaw)
        world.run()
        counts.merge(world.counts, uniquingKeysWith: +)
        guard let failure = world.failures.first else { return }
        failed += 1
        kinds[String(failure.prefix { $0 != ":" }), default: 0] += 1
        print("seed \(seed) FAILS: \(failure)")
    }

    mutating func add(_ other: Tally) {
        failed += other.failed
        kinds.merge(other.kinds, uniquingKeysWith: +)
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}
