import Configuration
import Testing

/// The configuration of a text.
func configuration(
    _ text: String, set overrides: [String] = [], environment: [String: String] = [:]
) throws(ConfigurationError) -> Configuration {
    try Configuration(
        Array(text.utf8), file: "firebridge.yaml", overrides: overrides, environment: environment)
}

/// What is wrong with a text, one a line; empty where nothing is.
func errors(
    _ text: String, set overrides: [String] = [], environment: [String: String] = [:]
) -> [String] {
    do {
        _ = try configuration(text, set: overrides, environment: environment)
        return []
    } catch {
        return error.lines
    }
}

/// A small generator that gives the same numbers for the same seed (SplitMix64).
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
