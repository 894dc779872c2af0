/// A request to the demo itself, below `/.demo/`.
public enum DemoRequest: Equatable, Sendable {
    /// The figures that were told after the one of this number.
    case figures(after: Int)
    /// Press a button.
    case control(DemoControl)
    /// None of these: the answer's status and the reason.
    case refused(Int, String)

    /// Reads a request; nil where it is not for the demo.
    ///
    /// - Parameter target: path and query as they stand in the request line.
    /// - Parameter header: looks a header up by its name, in any case.
    public init?(
        method: String, target: [UInt8], header: (String) -> String?, body: [UInt8]
    ) {
        let parts = String(decoding: target, as: UTF8.self)
            .split(separator: "?", maxSplits: 1).map(String.init)
        guard let path = parts.first, path.hasPrefix("/.demo/"), !path.hasSuffix(".json") else {
            return nil
        }
        let sender = Sender(
            host: header("Host"), origin: header("Origin"), site: header("Sec-Fetch-Site"))
        let name = path.dropFirst("/.demo/".count)
        if name == "figures" {
            self = Self.figures(method, query: parts.dropFirst().first ?? "", sender)
        } else if let control = DemoControl(name: name, body: body) {
            self = Self.control(method, control, sender)
        } else {
            self = .refused(404, "the demo has no such door")
        }
    }

    private static func figures(_ method: String, query: String, _ sender: Sender) -> Self {
        guard method == "GET" else { return .refused(405, "expected GET") }
        guard sender.namesThisMachine else { return .refused(403, Sender.rebound) }
        let after = query.hasPrefix("after=") ? Int(query.dropFirst("after=".count)) : 0
        return after.map(Self.figures) ?? .refused(400, "after: expected a number")
    }

    private static func control(_ method: String, _ control: DemoControl, _ sender: Sender) -> Self
    {
        guard method == "POST" else { return .refused(405, "expected POST") }
        guard sender.namesThisMachine else { return .refused(403, Sender.rebound) }
        guard sender.isOwnPage else {
            return .refused(403, "the demo's buttons obey the demo's own page only")
        }
        return .control(control)
    }
}

/// What the demo's buttons do.
public enum DemoControl: Equatable, Sendable {
    /// The database is not there for ten seconds.
    case breakDatabase
    /// The bridge's process is killed; it is started again.
    case killBridge
    /// A conversation's answer is generated once more.
    case regenerate(conversation: String)

    /// - Parameter body: the conversation's id, of `regenerate`.
    init?(name: Substring, body: [UInt8]) {
        switch name {
        case "break": self = .breakDatabase
        case "kill": self = .killBridge
        case "regenerate":
            // It travels on a line of its own.
            guard let id = String(validating: body, as: UTF8.self), (1...768).contains(body.count),
                body.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
            self = .regenerate(conversation: id)
        default: return nil
        }
    }

    /// As the tree's process tells it to the demo's: one line.
    public var line: String {
        switch self {
        case .breakDatabase: "control break"
        case .killBridge: "control kill"
        case .regenerate(let conversation): "control regenerate \(conversation)"
        }
    }
}

/// Who sent a request, as far as browsers say.
struct Sender {
    var host: String?
    var origin: String?
    var site: String?

    static let rebound = "expected an address or localhost as the host"

    /// Whether the request was sent to an address rather than to a name that somebody else's name
    /// server has pointed here (DNS rebinding).
    var namesThisMachine: Bool {
        guard let host else { return false }
        let isBracketed = host.hasPrefix("[")
        let end = isBracketed ? host.firstIndex(of: "]") : host.lastIndex(of: ":")
        let name = host[..<(end ?? host.endIndex)].lowercased()
        if isBracketed {
            return name.dropFirst().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        return name == "localhost" || name.hasSuffix(".localhost")
            || labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
    }

    /// Whether a page of this very origin sent it. Browsers name the origin of every POST.
    var isOwnPage: Bool {
        guard let host, let origin, origin == "http://\(host)" else { return false }
        return site == nil || site == "same-origin"
    }
}
