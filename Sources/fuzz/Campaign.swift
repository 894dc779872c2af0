internal import Glibc

/// Rounds that are played in this process.
///
/// A trap ends it, and so does a round that does not end: it lies between the last seed that was
/// told and the next one due.
struct Campaign {
    private let options: Options
    /// A round of the slowest kind takes some seconds.
    private static let roundSecondsMax: UInt32 = 60

    init(_ options: Options) { self.options = options }

    /// - Parameter status: what is told every five seconds.
    /// - Parameter round: plays the round of a seed, and says what was wrong.
    /// - Returns: the exit code.
    func run(status: () -> String, round: (UInt64) -> [String]) -> Int32 {
        let began = seconds()
        var told = began - 10
        var seed = options.seed
        var failures = 0
        while seed < options.seed + options.rounds, seconds() - began < options.seconds {
            if options.rounds == 1 || seconds() - told >= 5 {
                told = seconds()
                say("seed \(seed), \(status()), \(residentMiB()) MiB")
            }
            alarm(Self.roundSecondsMax)
            let breaches = round(seed)
            for breach in breaches.prefix(5) { say("seed \(seed): \(breach)") }
            seed += 1
            guard !breaches.isEmpty else { continue }
            failures += 1
            if failures >= 10 { break }
        }
        say(
            "\(seed - options.seed) rounds, \(status()), \(failures) rounds wrong, "
                + "\(residentMiB()) MiB")
        return failures == 0 ? 0 : 1
    }
}
