import EventLoop
import HTTPClient
import JSON
import Oracle
import TestSupport

/// Requests one after the other, each waited for.
final class Web {
    private let http: HTTPClient
    private static let bodyMax = 1 << 30

    init() {
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        http = HTTPClient(options)
    }

    /// The answer; nil where none comes.
    func send(
        _ method: String, _ url: String, _ body: String? = nil,
        within limit: Duration = .seconds(20)
    ) -> HTTPResponse? {
        let id = http.start(
            HTTPRequest(
                method, url, body: body.map { Array($0.utf8) }, timeout: limit,
                responseBytesMax: Self.bodyMax))
        while true {
            while let event = http.nextEvent() {
                guard event.id == id else { continue }
                if case .response(_, let answer) = event { return answer }
                return nil
            }
            _ = http.wait(timeout: .seconds(1))
        }
    }

    func get(_ url: String, within limit: Duration = .seconds(20)) -> HTTPResponse? {
        send("GET", url, within: limit)
    }
}

/// `firebridge tree` in a namespace of one test's.
final class TreeProcess {
    let child: Child
    /// Where it is: `http://127.0.0.1:9000`.
    let base: String
    /// The namespace.
    let namespace: String
    private let web = Web()
    private let guardian: Guardian

    /// What refuses writes that must not be.
    enum Guardian: Equatable {
        case fence
        case none
        /// `Config/database.rules.json`; with it, the tests ask as the owner.
        case shippedRules
        /// Those rules, and tokens that the keys in this file have signed.
        case keys(String)

        var flags: [String] {
            let rules = ["--rules", repository + "/Config/database.rules.json"]
            return switch self {
            case .fence: ["--fence"]
            case .none: []
            case .shippedRules: rules
            case .keys(let file): rules + ["--jwks", file]
            }
        }
    }

    init(
        in directory: String, namespace: String = "demo", guardedBy guardian: Guardian = .fence,
        flags: [String] = [], under tracer: [String] = []
    ) throws {
        child = try Child(
            "tree", ["tree", "--listen", "127.0.0.1:0"] + guardian.flags + flags, in: directory,
            under: tracer)
        self.namespace = namespace
        self.guardian = guardian
        let child = child
        var found: String?
        try eventually("the tree listens", within: .seconds(30), details: { child.tail }) {
            found = child.lines.first { $0.contains("listening on http://") }
            return found != nil
        }
        let authority = found!.split(separator: "/").dropFirst().first!
        base = "http://\(authority)"
    }

    /// The database's URL for a configuration.
    var url: String { "\(base)/?ns=\(namespace)" }

    func url(of path: String) -> String {
        url(of: path, as: guardian == .shippedRules ? "auth=owner" : nil)
    }

    /// - Parameter credential: parameters that say who asks.
    func url(of path: String, as credential: String?) -> String {
        "\(base)/\(path).json?ns=\(namespace)" + (credential.map { "&" + $0 } ?? "")
    }

    /// The JSON at a path, `_firebridge` included.
    func json(_ path: String = "") throws -> [UInt8] {
        guard let answer = web.get(url(of: path)), answer.status == 200 else {
            throw TimedOut(description: "the tree does not answer for /\(path)\n\(child.tail)")
        }
        return answer.body
    }

    func node(_ path: String = "") throws -> Node? { try Node.parse(json(path)) }

    /// Replaces what is at a path.
    func put(_ path: String, _ json: String) throws {
        guard let answer = web.send("PUT", url(of: path), json), answer.status == 200 else {
            throw SetupFailure("PUT /\(path) was refused")
        }
    }

    /// Removes what is at a path.
    func remove(_ path: [[UInt8]]) throws {
        let encoded = path.map { String(decoding: percentEncoded($0), as: UTF8.self) }
        try put(encoded.joined(separator: "/"), "null")
    }

    /// Where it differs from what these records demand.
    func differences(from records: [LogRecord]) throws -> [Difference] {
        try Oracle.differences(expected: expectedTree(of: records), found: json())
    }

    func differences(from expected: Node?) throws -> [Difference] {
        try Oracle.differences(expected: expected, found: json())
    }
}

/// One key as it stands in a URL.
private func percentEncoded(_ key: [UInt8]) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return key.flatMap { byte -> [UInt8] in
        [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
