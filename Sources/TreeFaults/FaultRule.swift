/// A request, as far as rules of faults look at it.
public struct FaultRequest: Sendable {
    /// `GET`, `PUT`, …
    public var method: String
    /// The place, without `.json` and query: `/`, `/streaming/c/8`.
    public var path: String
    /// The `User-Agent`, empty where there is none.
    public var agent: String
    /// Whether an event stream or a WebSocket is asked for.
    public var isStream: Bool
    /// The whole body.
    public var body: [UInt8]

    /// Makes a request from the target in the request line.
    public init(
        method: String, target: [UInt8], agent: String = "", isStream: Bool = false,
        body: [UInt8] = []
    ) {
        self.method = method
        var path = String(decoding: target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        if path.hasSuffix(".json") { path.removeLast(5) }
        self.path = path.isEmpty ? "/" : path
        self.agent = agent
        self.isStream = isStream
        self.body = body
    }

    /// Whether it changes the tree.
    public var isWrite: Bool { ["PUT", "PATCH", "POST", "DELETE"].contains(method) }
}

/// Which requests meet a fault, and when.
public struct FaultCondition: Equatable, Sendable {
    /// One of these methods; empty: any.
    public var methods: [String] = []
    /// Patterns of `Glob`; nil: any.
    public var path: String?
    /// A pattern of `Glob` over the `User-Agent`; nil: any.
    public var agent: String?
    /// What the body contains, byte by byte; nil: anything.
    public var body: [UInt8]?
    /// Only bodies of more bytes; nil: any.
    public var largerThan: Int?
    /// Event streams and WebSockets instead of single requests.
    public var isStream = false
    /// When it begins and ends, in milliseconds after the rules were read.
    public var from: Int64 = 0
    /// nil: never.
    public var until: Int64?
    /// So many requests pass first.
    public var skip = 0
    /// Of the others every so manieth is met.
    public var every = 1
    /// So many are met in all; nil: no end.
    public var times: Int?
    /// How probable it is then, from 0 to 1.
    public var chance = 1.0

    /// Any single request, at any time.
    public init() {}

    /// Whether a request is one that the rule counts.
    func fits(_ request: FaultRequest, after elapsed: Int64) -> Bool {
        guard request.isStream == isStream, elapsed >= from, elapsed < until ?? .max,
            methods.isEmpty || methods.contains(request.method)
        else { return false }
        if let path, !Glob.matches(path, request.path) { return false }
        if let agent, !Glob.matches(agent, request.agent) { return false }
        if let largerThan, request.body.count <= largerThan { return false }
        if let body, !contains(request.body, body) { return false }
        return true
    }
}

/// Patterns: `*` stands for anything within a segment, `**` for anything at all.
enum Glob {
    static func matches(_ pattern: String, _ text: String) -> Bool {
        matches(Array(pattern.utf8)[...], Array(text.utf8)[...])
    }

    private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        let star = UInt8(ascii: "*")
        guard let first = pattern.first else { return text.isEmpty }
        guard first == star else {
            return text.first == first && matches(pattern.dropFirst(), text.dropFirst())
        }
        let isDeep = pattern.dropFirst().first == star
        let rest = pattern.drop { $0 == star }
        var left = text
        while true {
            if matches(rest, left) { return true }
            guard let next = left.first, isDeep || next != UInt8(ascii: "/") else { return false }
            left = left.dropFirst()
        }
    }
}

/// Whether bytes stand somewhere in others.
private func contains(_ bytes: [UInt8], _ sought: [UInt8]) -> Bool {
    guard let first = sought.first else { return true }
    guard sought.count <= bytes.count else { return false }
    for start in 0...(bytes.count - sought.count) where bytes[start] == first {
        if bytes[start..<start + sought.count].elementsEqual(sought) { return true }
    }
    return false
}
