internal import Fuzzing
internal import Glibc

/// Plays rounds of odd input one after the other, each from its own seed, until the time is over or
/// ten have gone wrong. `--target` says into what:
///
///     core     records into the bridge's core; the files hold values to mix in
///     rules    texts into the language of security rules
///     rest, socket, poll
///              requests, WebSockets and long polls into a running `firebridge tree`, beside a
///              client that must always be answered; flags after `--` are the tree's
@main
struct Main {
    static func main() {
        let options = Options(CommandLine.arguments.dropFirst())
        switch options.target {
        case .core: exit(core(options))
        case .rules: exit(rules(options))
        case .visits(let kind):
            var siege = Siege(options, kind)
            exit(siege.run())
        }
    }

    private static func core(_ options: Options) -> Int32 {
        let trace: ((String) -> Void)? = options.isTracing ? { say($0) } : nil
        var records = 0
        var rejected = 0
        return Campaign(options).run {
            "\(records) records, \(rejected) rejected"
        } round: { seed in
            let world = FuzzWorld(seed: seed, corpus: options.corpus, trace: trace)
            records += world.records
            rejected += world.rejected
            return world.breaches
        }
    }

    private static func rules(_ options: Options) -> Int32 {
        var accepted = 0
        var slowest = 0.0
        return Campaign(options).run {
            "\(accepted) accepted, the slowest took \(Int(slowest * 1000)) ms"
        } round: { seed in
            let began = seconds()
            let round = RulesRound(seed: seed)
            slowest = max(slowest, seconds() - began)
            if options.isTracing { say(String(decoding: round.text, as: UTF8.self)) }
            if round.isAccepted { accepted += 1 }
            return round.breaches
        }
    }
}
