internal import BridgeCore
internal import EventLoop
internal import HTTPClient
internal import JSON

/// Keeps a token at hand: reads it from a file again when that changes, or fetches it ahead of its
/// end, one fetch at a time and never more often than a back-off allows.
///
/// It sends nothing itself: `fetchDue` gives the request, `fetched` takes its answer.
final class TokenSource {
    /// Whether there is a token.
    enum State {
        case ready(Token)
        /// A fetch is due or under way.
        case wait
        /// None for now, and why.
        case unavailable(String, retryAfter: Duration)
    }

    private let credentials: Credentials
    /// For a fetch. Until it has passed, requests wait for the first token.
    private let timeout: Duration
    private var file: WatchedFile?
    private var account: ServiceAccount?
    private var token: Token?
    private var generation = 0
    private var isFetching = false
    private var fetchAllowedAt: Int64 = 0
    private var failure: String?
    /// Fetches that failed in a row.
    private var failures = 0
    /// Tokens that the database rejected in a row.
    private var rejections = 0
    private var assertion: Secret?
    private(set) var notices: [Notice] = []

    init(_ credentials: Credentials, timeout: Duration) {
        self.credentials = credentials
        self.timeout = timeout
        switch credentials {
        case .none: token = Token.none
        case .emulator: token = Token.owner
        case .secret(let path), .accessToken(let path), .serviceAccount(let path):
            file = WatchedFile(path)
        case .metadataServer: break
        }
    }

    /// The token for a request that is to be sent now.
    func state(_ now: Moment) -> State {
        switch credentials {
        case .none, .emulator: break
        case .secret, .accessToken: readToken(now)
        case .serviceAccount, .metadataServer:
            if let end = token?.expiresAt, end <= now.monotonic { token = nil }
        }
        if let token { return .ready(token) }
        let wait = Duration.nanoseconds(max(fetchAllowedAt - now.monotonic, 0))
        guard let failure, wait > .zero, !isFetching else { return isFetched ? .wait : missing }
        return .unavailable(failure, retryAfter: wait)
    }

    /// The request for a token where one is due. Its answer goes to `fetched`.
    func fetchDue(_ now: Moment) -> HTTPRequest? {
        guard isFetched, !isFetching, now.monotonic >= fetchAllowedAt, isRenewalDue(now) else {
            return nil
        }
        do throws(TreeClientError) {
            var request = try fetch(now)
            request.timeout = timeout
            isFetching = true
            return request
        } catch {
            fail(error.description, now)
            return nil
        }
    }

    /// Takes the answer to the last fetch.
    func fetched(_ result: Result<HTTPResponse, HTTPError>, _ now: Moment) {
        isFetching = false
        defer { assertion = nil }
        switch result {
        case .failure(let error): fail("\(endpoint): \(error)", now)
        case .success(let response):
            do throws(TreeClientError) {
                try accept(response, now)
            } catch {
                fail("\(endpoint): \(redact(error.description, [assertion]))", now)
            }
        }
    }

    /// The database rejected a token.
    ///
    /// - Returns: whether the request may go again with another token.
    func reject(generation: Int, _ now: Moment) -> Bool {
        guard let rejected = token, rejected.generation == generation else {
            // Rejected already by another request, or replaced meanwhile.
            return isFetched || token != nil
        }
        rejections += 1
        switch credentials {
        case .none, .emulator: return false
        case .secret, .accessToken:
            readToken(now, force: true)
            return token?.generation != generation
        case .serviceAccount, .metadataServer:
            say(.warn, "token_rejected", [("count", "\(rejections)")])
            token = nil
            failure = "the database rejected \(rejections) fresh tokens in a row"
            // The first rejection is an old token's usual end; more of them are something else.
            if rejections > 1 { delay(attempt: rejections - 1, now) }
            return rejections == 1
        }
    }

    /// Takes the database's verdict on a request into account: these cannot come of a bad token.
    func judge(_ outcome: Outcome) {
        switch outcome {
        case .done, .refused, .tooBig: rejections = 0
        case .unauthorized, .unavailable, .unanswered: break
        }
    }

    /// When `fetchDue` should be asked again, by the monotonic clock.
    var deadline: Int64? {
        guard isFetched, !isFetching else { return nil }
        return max(token?.renewAt ?? fetchAllowedAt, fetchAllowedAt)
    }

    func takeNotices() -> [Notice] {
        defer { notices = [] }
        return notices
    }

    private var isFetched: Bool {
        switch credentials {
        case .serviceAccount, .metadataServer: true
        default: false
        }
    }

    private var missing: State {
        .unavailable(failure ?? "no token yet", retryAfter: .seconds(1))
    }

    private func isRenewalDue(_ now: Moment) -> Bool {
        guard let token else { return true }
        return token.renewAt.map { $0 <= now.monotonic } ?? false
    }

    /// Where tokens come from, for messages.
    private var endpoint: String {
        switch credentials {
        case .metadataServer(let host): "metadata server \(host)"
        default: "token endpoint \((try? account.map { try URLParts($0.tokenURI).host }) ?? "")"
        }
    }

    private func fail(_ reason: String, _ now: Moment) {
        failures += 1
        failure = reason
        let wait = delay(attempt: failures, now)
        say(
            .warn, "token_unavailable",
            [("reason", reason), ("retry_in", "\(wait.components.seconds)s")])
    }

    /// No fetch before that time: 1 s, 2 s, 4 s … at most a minute.
    @discardableResult
    private func delay(attempt: Int, _ now: Moment) -> Duration {
        let wait = Duration.seconds(min(60, 1 << min(attempt - 1, 6)))
        fetchAllowedAt = now.after(wait)
        return wait
    }

    private func say(
        _ level: Notice.Level, _ event: String, _ fields: [(name: String, value: String)]
    ) {
        notices.append(Notice(level, event, fields))
    }
}

// MARK: From a file

extension TokenSource {
    private func readToken(_ now: Moment, force: Bool = false) {
        do throws(TreeClientError) {
            guard let bytes = try readFile(now, force: force) else { return }
            let blanks: Set<UInt8> = [0x09, 0x0A, 0x0D, 0x20]
            var text = bytes[...]
            while let last = text.last, blanks.contains(last) { text.removeLast() }
            text = text.drop { blanks.contains($0) }
            try install(Array(text), from: file!.path)
        } catch {
            if failure != error.description {
                say(.warn, "token_unavailable", [("reason", error.description)])
            }
            failure = error.description
        }
    }

    /// The credentials file where it has changed.
    private func readFile(_ now: Moment, force: Bool) throws(TreeClientError) -> [UInt8]? {
        do throws(SystemError) {
            guard let contents = try file!.changed(now: now.monotonic, force: force) else {
                return nil
            }
            if let warning = contents.warning {
                say(.warn, "credentials_file_mode", [("reason", warning)])
            }
            return contents.bytes
        } catch {
            throw TreeClientError("credentials: \(error)")
        }
    }

    private func install(
        _ text: [UInt8], from source: String, lifetime: Duration? = nil, _ now: Moment? = nil
    ) throws(TreeClientError) {
        guard !text.isEmpty, text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw TreeClientError("\(source): expected a token of visible ASCII")
        }
        generation += 1
        var token = Token(generation: generation, bare: Secret(text))
        if case .secret = credentials {
            token.query = Secret("auth=" + percentEncoded(text))
        } else {
            token.header = Secret(Array("Bearer ".utf8) + text)
        }
        if let lifetime, let now {
            token.expiresAt = now.after(lifetime)
            token.renewAt = now.after(lifetime * 4 / 5)
        }
        self.token = token
        failure = nil
    }
}

// MARK: From an endpoint

extension TokenSource {
    private static let metadataPath =
        "/computeMetadata/v1/instance/service-accounts/default/token?scopes="
        + "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email%2C"
        + "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Ffirebase.database"

    private func fetch(_ now: Moment) throws(TreeClientError) -> HTTPRequest {
        if case .metadataServer(let host) = credentials {
            return HTTPRequest(
                "GET", "http://\(host)\(Self.metadataPath)",
                headers: [("Metadata-Flavor", "Google")], responseBytesMax: 65_536)
        }
        if let bytes = try readFile(now, force: true) {
            do throws(TreeClientError) {
                account = try ServiceAccount(parsing: bytes)
            } catch {
                account = nil
                throw TreeClientError("credentials: \(file!.path): \(error)")
            }
        }
        guard let account else { throw TreeClientError(failure ?? "credentials: no key") }
        do throws(TreeClientError) {
            let (request, assertion) = try account.tokenRequest(now: now.wall)
            self.assertion = assertion
            return request
        } catch {
            throw TreeClientError("credentials: \(file!.path): \(error)")
        }
    }

    private func accept(_ response: HTTPResponse, _ now: Moment) throws(TreeClientError) {
        let tape = try? JSONParser().parse(response.body)
        func field(_ name: String, _ kind: JSONKind = .string) -> String? {
            guard let tape, let value = tape.member(Array(name.utf8), of: 0),
                tape.kind(value) == kind
            else { return nil }
            return String(decoding: tape.text(value), as: UTF8.self)
        }
        guard response.status == 200 else {
            let words = [field("error"), field("error_description")].compactMap { $0 }
            let hint =
                field("error") == "invalid_grant"
                ? " (is this machine's clock right, and does the key still exist?)" : ""
            let text = ["HTTP \(response.status)"] + words.map { printable($0) }
            throw TreeClientError(text.joined(separator: ": ") + hint)
        }
        guard let text = field("access_token") else {
            throw TreeClientError("expected access_token in the answer")
        }
        // At least some seconds: a lifetime of 0 must not become a loop.
        let lifetime = Duration.seconds(
            min(
                max(
                    (field("expires_in", .number) ?? field("expires_in")).flatMap { Int($0) }
                        ?? 300, 10), 86_400))
        try install(Array(text.utf8), from: "access_token", lifetime: lifetime, now)
        failures = 0
        say(.info, "token_fetched", [("lifetime", "\(lifetime.components.seconds)s")])
    }

    /// A foreign text on one line of bounded length, long runs that may be tokens cut out.
    private func printable(_ text: String) -> String {
        // Cut last, or the beginning of a token would pass for a word.
        let words = text.prefix(10_000).split { $0.isWhitespace || $0.isNewline }.dropLast(
            text.count > 10_000 ? 1 : 0
        ).map {
            $0.utf8.count >= 60 ? "<secret>" : String($0)
        }
        return String(words.joined(separator: " ").prefix(300))
    }
}
