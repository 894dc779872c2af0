/// Settings of the client that cannot work, or a one-shot request that did not.
public struct TreeClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, where, and what was expected. Holds no secret.
    public var description: String
    /// The database's outcome was what went wrong, not the settings.
    public var isService = false

    init(_ description: String, isService: Bool = false) {
        self.description = description
        self.isService = isService
    }
}
