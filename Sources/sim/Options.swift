import BridgeCore

/// What cannot be understood on the command line.
struct UsageError: Error { var message: String }

/// What the command line asks for.
struct Options: Sendable {
    enum Action: Sendable {
        case help
        case trace(UInt64)
        case sweep(ClosedRange<UInt64>)
    }

    static let usage = """
        usage: sim --seed S [--flaw NAME]
               sim --seeds A-B | --seeds N [--flaw NAME]
        flaws: \(Flaw.allCases.map(\.rawValue).joined(separator: ", "))
        """

    var action: Action
    var flaw: Flaw?

    init(_ arguments: some Sequence<String>) throws(UsageError) {
        var action: Action?
        var rest = arguments.makeIterator()
        while let option = rest.next() {
            if option == "--help" {
                action = .help
                continue
            }
            let parts = option.split(separator: "=", maxSplits: 1)
            guard let value = parts.count == 2 ? String(parts[1]) : rest.next() else {
                throw UsageError(message: "\(option) needs a value")
            }
            switch String(parts[0]) {
            case "--seed":
                guard let seed = UInt64(value) else {
                    throw UsageError(message: "--seed: expected a number, found '\(value)'")
                }
                action = .trace(seed)
            case "--seeds": action = .sweep(try Self.seeds(value))
            case "--flaw":
                guard let named = Flaw(rawValue: value) else {
                    throw UsageError(message: "--flaw: there is no flaw '\(value)'")
                }
                flaw = named
            default: throw UsageError(message: "unknown option '\(option)'")
            }
        }
        guard let action else { throw UsageError(message: "expected --seed or --seeds") }
        self.action = action
    }

    private static func seeds(_ text: String) throws(UsageError) -> ClosedRange<UInt64> {
        let bounds = text.split(separator: "-").map { UInt64($0) }
        if bounds.count == 1, let count = bounds[0], count > 0 { return 1...count }
        if bounds.count == 2, let low = bounds[0], let high = bounds[1], low <= high {
            return low...high
        }
        throw UsageError(message: "--seeds: expected A-B or a number above 0, found '\(text)'")
    }
}
