/// Why a directory cannot keep a tree, or not any longer.
public struct TreeStoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file or directory.
    public var path: String
    /// What is wrong, and what can be done about it.
    public var reason: String
    /// Another process has it.
    public var isBusy = false

    /// The path and the reason.
    public var description: String {
        isBusy ? "\(path): another process keeps its tree here" : "\(path): \(reason)"
    }
}
