internal import Fuzzing
internal import Glibc

/// Plays worlds of odd records one after the other, each from its own seed, until the time is over
/// or ten have gone wrong: `fuzz [--seconds N] [--seed S] [--worlds N] [--trace] [FILE …]`, where the files
/// hold values to mix in (`Tests/Corpus/*`).
///
/// A trap ends the process: it lies between the last seed that was told and the next one due.
@main
struct Main {
    static func main() {
        let options = Options(CommandLine.arguments.dropFirst())
        let trace: ((String) -> Void)? = options.isTracing ? { say($0) } : nil
        let began = seconds()
        var told = began - 10
        var seed = options.seed
        var records = 0
        var rejected = 0
        var failures = 0
        while seed < options.seed + options.worlds, seconds() - began < options.seconds {
            if options.worlds == 1 || seconds() - told >= 5 {
                told = seconds()
                say("seed \(seed), \(records) records, \(rejected) rejected, \(residentMiB()) MiB")
            }
            let world = FuzzWorld(seed: seed, corpus: options.corpus, trace: trace)
            records += world.records
            rejected += world.rejected
            for breach in world.breaches.prefix(5) { say("seed \(seed): \(breach)") }
            seed += 1
            guard !world.breaches.isEmpty else { continue }
            failures += 1
            if failures >= 10 { break }
        }
        say(
            "\(seed - options.seed) worlds, \(records) records, \(rejected) rejected, "
                + "\(failures) worlds wrong, \(residentMiB()) MiB")
        exit(failures == 0 ? 0 : 1)
    }
}
