/// Where the database is, and below which of its nodes everything is written.
///
/// `https://<name>.firebaseio.com`, `https://<name>.<region>.firebasedatabase.app`, or an
/// emulator's `http://127.0.0.1:9000/?ns=<name>`; a path in it is the root.
public struct DatabaseURL: Equatable, Sendable, CustomStringConvertible {
    let parts: URLParts
    /// The keys of the root, empty for the database's own.
    public let root: [[UInt8]]
    /// The `ns` query item: which database of an emulator.
    public let namespace: String?
    private let prefix: String

    /// Reads the configuration's `database.url`.
    public init(parsing text: String) throws(TreeClientError) {
        parts = try URLParts(text)
        guard parts.scheme == "https" || parts.scheme == "http" else {
            throw TreeClientError("expected https or http, found \(parts.scheme)")
        }
        guard parts.scheme == "https" || parts.isLoopback || parts.isPrivate else {
            throw TreeClientError(
                "expected https: plain http is for this machine and private networks only, "
                    + "found host \(parts.host)")
        }
        let pieces = parts.target.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        root = try Self.keys(pieces[0])
        namespace = try pieces.count == 2 ? Self.namespace(pieces[1]) : nil
        prefix =
            parts.origin + "/" + root.map { percentEncoded($0) }.joined(separator: "/")
    }

    /// Whether requests go over the wire unencrypted.
    public var isPlain: Bool { parts.scheme == "http" }

    /// Whether the database is on this machine.
    public var isLoopback: Bool { parts.isLoopback }

    /// As it is shown in a log.
    public var description: String { prefix + (namespace.map { "?ns=\($0)" } ?? "") }

    /// The URL of a node.
    ///
    /// - Parameter path: keys joined by `/`, empty for the root.
    /// - Parameter query: query items, encoded already.
    func node(_ path: [UInt8], query: [String]) -> String {
        let slash = path.isEmpty || root.isEmpty ? "" : "/"
        let items = query + (namespace.map { ["ns=\($0)"] } ?? [])
        return prefix + slash + percentEncoded(path, keepsSlash: true) + ".json"
            + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    private static func keys(_ path: Substring) throws(TreeClientError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        for segment in path.split(separator: "/") {
            guard let key = percentDecoded(segment), isKey(key) else {
                throw TreeClientError(
                    "expected a path of database keys (none of . $ # [ ] / in one, "
                        + "at most 768 bytes), found \"\(segment)\"")
            }
            keys.append(key)
        }
        return keys
    }

    private static func isKey(_ key: [UInt8]) -> Bool {
        let forbidden = Array(".$#[]/".utf8)
        return key.count <= 768
            && key.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !forbidden.contains($0) }
            && String(validating: key, as: UTF8.self) != nil
    }

    private static func namespace(_ query: Substring) throws(TreeClientError) -> String? {
        guard !query.isEmpty else { return nil }
        let items = query.split(separator: "&", omittingEmptySubsequences: false)
        guard items.count == 1, query.hasPrefix("ns=") else {
            // Not the item's value: someone may have put a token there.
            let names = items.map { $0.prefix { $0 != "=" } }.joined(separator: ", ")
            throw TreeClientError("expected no query but ns=NAME, found: \(names)")
        }
        let name = query.dropFirst(3)
        guard !name.isEmpty, name.utf8.allSatisfy(isUnreserved) else {
            throw TreeClientError("expected ns=NAME of letters, digits, - and _")
        }
        return String(name)
    }
}
