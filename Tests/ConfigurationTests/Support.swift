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
