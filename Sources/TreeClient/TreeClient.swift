public import BridgeCore
public import HTTPClient
internal import JSON

/// Sends the core's requests to the database and says how each ended, classified.
///
/// Over an `HTTPClient` that the program sleeps in: `send` requests, hand every `HTTPEvent` to
/// `handle`, call `tick` when `deadline` has passed, and take `nextAnswer` and `nextNotice` until
/// they are nil. A request may arrive at the database more than once (see `HTTPClient`): the core's
/// writes are idempotent.
public final class TreeClient {
    /// How a request ended.
    public struct Answer: Sendable {
        /// `Request.id`.
        public var requestID: Int
        /// What it means.
        public var outcome: Outcome
        /// For `requests_total{code}`: the status, or one word for what came instead (`timeout`).
        public var code: String
        /// From `send` to the end, in seconds; waiting for a token included.
        public var seconds: Double
        /// The size of the request's body.
        public var bytes: Int
    }

    /// The `auth_variable_override` under which the shipped rules expect a bridge whose
    /// `database.fence` is true.
    public static let fenceIdentity = #"{"uid":"firebridge"}"#

    private let url: DatabaseURL
    private let http: HTTPClient
    private let timeout: Duration
    private let writeQuery: [String]
    private let redirects: RedirectPolicy
    private let tokens: TokenSource
    private var fetchID: Int?
    private var exchanges: [Int: Exchange] = [:]
    private var waiting: [Exchange] = []
    private var answers: [Answer] = []
    private var notices: [Notice] = []
    private var pieces: [(requestID: Int, bytes: [UInt8])] = []

    /// Makes a client.
    ///
    /// - Parameter http: must allow plain HTTP where `Credentials.needPlainHTTP` says so.
    /// - Parameter timeout: `delivery.request_timeout`, for one attempt.
    /// - Parameter tokenTimeout: for a question to the token's endpoint.
    /// - Parameter authVariableOverride: JSON to write under, see `fenceIdentity`; nil for none.
    public init(
        url: DatabaseURL, credentials: Credentials, http: HTTPClient, timeout: Duration,
        tokenTimeout: Duration = .seconds(10), authVariableOverride: String? = nil
    ) throws(TreeClientError) {
        if let objection = credentials.objection(to: url) { throw TreeClientError(objection) }
        self.url = url
        self.http = http
        self.timeout = timeout
        writeQuery =
            ["print=silent"]
            + (authVariableOverride.map {
                ["auth_variable_override=" + percentEncoded($0.utf8)]
            } ?? [])
        redirects = RedirectPolicy(database: url.parts)
        tokens = TokenSource(credentials, timeout: tokenTimeout)
    }

    /// Sends a request of the core's, or lets it wait for a token.
    public func send(_ request: Request, now: Moment) {
        send(request.method, requestID: request.id, now: now)
    }

    /// As above, by its parts.
    public func send(_ method: Request.Method, requestID: Int, now: Moment) {
        let exchange =
            switch method {
            case .patch(let body):
                Exchange(
                    id: requestID, method: "PATCH", url: url.node([], query: writeQuery),
                    body: body, startedAt: now.monotonic)
            case .get(let path, let shallow):
                Exchange(
                    id: requestID, method: "GET",
                    url: url.node(path, query: shallow ? ["shallow=true"] : []), body: nil,
                    startedAt: now.monotonic)
            case .list(let path, let from, let through, let limit):
                Exchange(
                    id: requestID, method: "GET",
                    url: url.node(
                        path,
                        query: ["orderBy=%22$key%22", "limitToFirst=\(limit)"]
                            + (from.map { ["startAt=" + quoted($0)] } ?? [])
                            + (through.map { ["endAt=" + quoted($0)] } ?? [])),
                    body: nil, startedAt: now.monotonic)
            }
        send(exchange, now)
    }

    func send(_ exchange: Exchange, _ now: Moment) {
        waiting.append(exchange)
        pump(now)
    }

    /// Takes what happened to a request.
    ///
    /// - Returns: false where the request is someone else's.
    @discardableResult
    public func handle(_ event: HTTPEvent, now: Moment) -> Bool {
        let result: Result<HTTPResponse, HTTPError>
        switch event {
        case .response(_, let response): result = .success(response)
        case .failed(_, let error): result = .failure(error)
        case .head(let id, let status, _):
            exchanges[id]?.status = status
            return exchanges[id] != nil
        case .data(let id, let bytes):
            return take(bytes, of: id)
        }
        if event.id == fetchID {
            fetchID = nil
            tokens.fetched(result, now)
        } else if let exchange = exchanges.removeValue(forKey: event.id) {
            conclude(exchange, result, now)
        } else {
            return false
        }
        pump(now)
        return true
    }

    /// Opens the node's event stream (REST streaming): its bytes come by `nextPiece`, its end as an
    /// answer, `done` where the database closed it in order.
    public func watch(path: [UInt8], requestID: Int, now: Moment) {
        var exchange = Exchange(
            id: requestID, method: "GET", url: url.node(path, query: []), body: nil,
            startedAt: now.monotonic)
        exchange.isStream = true
        send(exchange, now)
    }

    /// The next bytes of an event stream, as they came off the wire.
    public func nextPiece() -> (requestID: Int, bytes: [UInt8])? {
        pieces.isEmpty ? nil : pieces.removeFirst()
    }

    /// Does what is due by time: fetches a token, or answers those who wait for none.
    public func tick(now: Moment) { pump(now) }

    /// When to `tick`, by the monotonic clock.
    public var deadline: Int64? { tokens.deadline }

    /// The next answer.
    public func nextAnswer() -> Answer? { answers.isEmpty ? nil : answers.removeFirst() }

    /// The next thing that whoever is on call should know.
    public func nextNotice() -> Notice? { notices.isEmpty ? nil : notices.removeFirst() }

    /// Gives all requests up; none is answered. They may have reached the database.
    public func cancelAll() {
        for id in exchanges.keys { http.cancel(id) }
        exchanges = [:]
        waiting = []
        answers = []
        pieces = []
    }

    /// How long the request that is longest past its time limit is past it; nil where none is.
    public func overdue(at now: Moment) -> Duration? {
        http.overdue(at: now.monotonic)
    }

    private func pump(_ now: Moment) {
        if let request = tokens.fetchDue(now) { fetchID = http.start(request) }
        while let exchange = waiting.first {
            switch tokens.state(now) {
            case .ready(let token):
                waiting.removeFirst()
                start(exchange, token)
                continue
            case .wait: break
            case .unavailable(let reason, let retryAfter):
                waiting.removeFirst()
                answer(exchange, .unavailable(reason, retryAfter: retryAfter), code: "token", now)
                continue
            }
            break
        }
        notices.append(contentsOf: tokens.takeNotices())
    }

    /// A piece of a stream is for its reader; where the status says that there is no stream, it is
    /// the text of an error.
    private func take(_ bytes: [UInt8], of id: Int) -> Bool {
        guard let exchange = exchanges[id] else { return false }
        if exchange.status == 200 {
            pieces.append((exchange.id, bytes))
        } else if exchange.errorBody.count < Exchange.writeAnswerMax {
            exchanges[id]!.errorBody.append(contentsOf: bytes)
        }
        return true
    }

    private func start(_ exchange: Exchange, _ token: Token) {
        var exchange = exchange
        exchange.token = token
        exchange.status = nil
        exchange.errorBody = []
        let id = http.start(exchange.request(timeout: timeout))
        exchanges[id] = exchange
    }

    private func conclude(
        _ exchange: Exchange, _ result: Result<HTTPResponse, HTTPError>, _ now: Moment
    ) {
        switch result {
        case .failure(let error):
            let code = error.kind.rawValue.replacing(" ", with: "_").lowercased()
            let isSent = error.kind == .timeout || error.kind == .reset
            let outcome: Outcome =
                isSent
                ? .unanswered("\(error)", retryAfter: nil)
                : .unavailable("\(error)", retryAfter: nil)
            answer(exchange, outcome, code: code, now)
        case .success(let response):
            if let next = follow(exchange, response) { return start(next, exchange.token) }
            var outcome = Outcome.classify(
                status: response.status,
                body: exchange.isStream ? exchange.errorBody : response.body,
                retryAfter: response.headers["retry-after"], date: response.headers["date"],
                contentType: response.headers["content-type"], now: now.wall)
            if case .unavailable(_, let wait) = outcome,
                let objection = RedirectPolicy.objection(
                    status: response.status, location: response.headers["location"],
                    from: exchange.url)
            {
                outcome = .unavailable(objection, retryAfter: wait)
            }
            if case .unauthorized = outcome {
                let mayRepeat = tokens.reject(generation: exchange.token.generation, now)
                if mayRepeat, !exchange.hadFreshToken {
                    var again = exchange
                    again.hadFreshToken = true
                    waiting.insert(again, at: 0)
                    return
                }
            }
            tokens.judge(outcome)
            answer(exchange, outcome, code: String(response.status), now)
        }
    }

    /// The request as it goes on after a redirect, nil where it does not.
    private func follow(_ exchange: Exchange, _ response: HTTPResponse) -> Exchange? {
        guard exchange.hops < RedirectPolicy.hopsMax,
            let target = redirects.target(
                status: response.status, location: response.headers["location"],
                from: exchange.url)
        else { return nil }
        var next = exchange
        next.url = target
        next.hops += 1
        return next
    }

    private func answer(_ exchange: Exchange, _ outcome: Outcome, code: String, _ now: Moment) {
        answers.append(
            Answer(
                requestID: exchange.id, outcome: outcome.redacted(exchange.token), code: code,
                seconds: Double(now.monotonic - exchange.startedAt) / 1e9,
                bytes: exchange.body?.count ?? 0))
    }
}

/// A request on its way: what is needed to send it again.
struct Exchange {
    var id: Int
    var method: String
    var url: String
    var body: [UInt8]?
    var startedAt: Int64
    var isStream = false
    /// A stream's status and, where that is no success, what came with it.
    var status: Int?
    var errorBody: [UInt8] = []
    var token = Token.none
    var hops = 0
    /// Whether it goes for the second time, with another token than the one that was rejected.
    var hadFreshToken = false

    /// The largest answer to a write, which is empty or one line.
    static let writeAnswerMax = 256 << 10

    func request(timeout: Duration) -> HTTPRequest {
        var headers: [(name: String, value: HTTPRequest.Value)] = []
        if let header = token.header { headers.append(("Authorization", .secret(header))) }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        if isStream { headers.append(("Accept", "text/event-stream")) }
        // A redirect may have repeated the query, and with it the secret.
        let hasAuth = url.contains("?auth=") || url.contains("&auth=")
        return HTTPRequest(
            method, url, secretQuery: hasAuth ? nil : token.query, headers: headers, body: body,
            timeout: isStream ? nil : timeout, silenceMax: isStream ? .seconds(75) : nil,
            responseBytesMax: method == "GET" ? nil : Self.writeAnswerMax, isStream: isStream)
    }
}

extension Outcome {
    /// The same without the secret that the database may have repeated.
    fileprivate func redacted(_ token: Token) -> Outcome {
        func clean(_ text: String) -> String { redact(text, [token.bare, token.query]) }
        return switch self {
        case .done: self
        case .unauthorized(let text): .unauthorized(clean(text))
        case .unavailable(let text, let wait): .unavailable(clean(text), retryAfter: wait)
        case .unanswered(let text, let wait): .unanswered(clean(text), retryAfter: wait)
        case .tooBig(let text): .tooBig(clean(text))
        case .refused(let status, let text): .refused(status: status, clean(text))
        }
    }
}

/// A key as a query's JSON string, encoded for a URL.
private func quoted(_ key: [UInt8]) -> String {
    var json: [UInt8] = []
    json.appendJSONString(key)
    return percentEncoded(json)
}
