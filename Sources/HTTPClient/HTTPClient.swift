internal import CCurl
internal import EventLoop

/// An HTTP/1.1 client for one thread: requests in by `start`, what became of them out by
/// `nextEvent`, and `wait` is the program's one sleep.
///
/// - Connections are kept and used again. When such a one turns out dead before a byte of the
///   answer has come, curl sends the same request again on another, also a PATCH, and also where
///   the server had received it whole. So send only what may arrive twice.
/// - A connection that stood when a request timed out is never used again.
/// - Redirects are answers like others. No proxy, cookie, netrc or compression is used.
/// - SIGPIPE is ignored process-wide from the first client on.
@safe
public final class HTTPClient {
    /// What holds for all requests of a client.
    public struct Options: Sendable {
        /// A PEM file of the certificate authorities to trust; nil trusts the system's.
        public var caFile: String?
        /// The directory of the system's certificate authorities, named by hashes as OpenSSL looks
        /// them up; nil takes the one that curl was built for.
        public var systemAuthorities: String?
        /// How long a connection may take to stand, name resolution and TLS included.
        public var connectTimeout = Duration.seconds(5)
        /// How many requests are on their way at once, streams not counted; more wait in order, and
        /// their time does not run before their turn.
        public var requestsMax = 32
        /// The largest body of an answer, where the request sets no other.
        public var responseBytesMax = 16 << 20
        /// The largest header block of an answer.
        public var headerBytesMax = 64 << 10
        /// How long an idle connection is kept: shorter than servers keep theirs.
        public var connectionIdleMax = Duration.seconds(55)
        /// Whether `http://` may be spoken.
        public var allowPlainHTTP = false
        /// The proxy's URL; empty for none, whatever the environment says.
        public var proxy = ""
        /// The User-Agent header.
        public var userAgent = "firebridge"

        /// The defaults.
        public init() {}
    }

    private let options: Options
    private let multi: UnsafeMutableRawPointer
    private var active: [Int: Transfer] = [:]
    private var idle: [Transfer] = []
    private var waiting: [(id: Int, request: HTTPRequest)] = []
    private var events: [HTTPEvent] = []
    private var streams: Set<Int> = []
    private var lastID = 0
    /// When a request last timed out, by the monotonic clock: connections from before are
    /// distrusted.
    private var timedOutAt: Int64?

    /// Makes a client.
    public init(_ options: Options = Options()) {
        precondition(curlIsReady)
        precondition(options.requestsMax > 0)
        SignalDescriptor.ignoreBrokenPipes()
        self.options = options
        guard let multi = unsafe curl_multi_init() else { fatalError("out of memory") }
        unsafe self.multi = multi
        _ = unsafe fb_curlm_set_long(multi, CURLMOPT_MAXCONNECTS, options.requestsMax + 8)
    }

    deinit {
        for transfer in active.values { unsafe curl_multi_remove_handle(multi, transfer.easy) }
        active = [:]
        idle = []
        unsafe curl_multi_cleanup(multi)
    }

    /// The versions of curl and of OpenSSL, as they were loaded.
    public static var loadedVersions: (curl: String, openSSL: String) {
        let info = unsafe fb_curl_version_info()!
        let tls = unsafe String(cString: info.pointee.ssl_version)
        return (
            unsafe String(cString: info.pointee.version),
            tls.hasPrefix("OpenSSL/") ? String(tls.dropFirst(8)) : tls
        )
    }

    /// How many requests are on their way or waiting.
    public var count: Int { active.count + waiting.count }

    /// How long the request that is longest past its time limit is past it; nil where none is. The
    /// time of one that waits for its turn does not run.
    ///
    /// - Parameter now: by the monotonic clock.
    public func overdue(at now: Int64) -> Duration? {
        guard let first = active.values.compactMap(\.expiresAt).min(), first < now else {
            return nil
        }
        return .nanoseconds(now - first)
    }

    /// Sends a request when there is room for it. It goes out at the next `wait` or `nextEvent`.
    ///
    /// - Returns: the id that its events name.
    public func start(_ request: HTTPRequest) -> Int {
        lastID += 1
        if let defect = request.defect(allowPlainHTTP: options.allowPlainHTTP) {
            events.append(.failed(lastID, HTTPError(.invalidRequest, defect)))
        } else if request.isStream || active.count - streams.count < options.requestsMax {
            begin(request, id: lastID)
        } else {
            waiting.append((lastID, request))
        }
        return lastID
    }

    /// Gives a request up: none of its events will come any more. It may have reached the server.
    public func cancel(_ id: Int) {
        waiting.removeAll { $0.id == id }
        events.removeAll { $0.id == id }
        if active[id] != nil { finish(id) }
    }

    /// Sleeps until something has happened to a request, one of the descriptors can be read, has
    /// ended or has failed, or the time is up; then does curl's work.
    ///
    /// - Parameter timeout: nil waits for ever.
    /// - Returns: for each descriptor whether it is ready.
    public func wait(for descriptors: [Int32] = [], timeout: Duration?) -> [Bool] {
        perform()
        var milliseconds = events.isEmpty ? Duration.pollMilliseconds(timeout) : 0
        if milliseconds < 0 { milliseconds = .max }
        var extra = descriptors.map {
            curl_waitfd(fd: $0, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        }
        unsafe extra.withUnsafeMutableBufferPointer { extra in
            _ = unsafe curl_multi_poll(
                multi, extra.baseAddress, UInt32(extra.count), milliseconds, nil)
        }
        perform()
        // curl does not pass on that a pipe's other end was closed.
        return descriptors.isEmpty ? [] : Poll.wait(for: descriptors, timeout: .zero)
    }

    /// What happened next, nil when nothing has. Does curl's work where nothing is queued.
    public func nextEvent() -> HTTPEvent? {
        if events.isEmpty { perform() }
        return events.isEmpty ? nil : events.removeFirst()
    }

    private func perform() {
        var running: Int32 = 0
        let code = unsafe curl_multi_perform(multi, &running)
        precondition(code == CURLM_OK, "curl_multi_perform: \(code.rawValue)")
        for id in streams { tell(active[id]!) }
        var result = CURLE_OK
        while let easy = unsafe fb_curlm_next_done(multi, &result) {
            complete(unsafe Int(bitPattern: fb_curl_get_private(easy)), result)
        }
    }

    private func begin(_ request: HTTPRequest, id: Int) {
        let transfer = idle.popLast() ?? Transfer(options)
        transfer.prepare(
            request, id: id, bodyMax: request.responseBytesMax ?? options.responseBytesMax,
            connectionAgeMax: connectionAgeMax())
        active[id] = transfer
        if request.isStream { streams.insert(id) }
        let code = unsafe curl_multi_add_handle(multi, transfer.easy)
        precondition(code == CURLM_OK, "curl_multi_add_handle: \(code.rawValue)")
    }

    /// Only connections that are younger than the last time-out may be used again; nil: all.
    private func connectionAgeMax() -> Int? {
        guard let timedOutAt else { return nil }
        // curl compares whole seconds, so one is taken off.
        let seconds = Int((Clock.monotonic() - timedOutAt) / 1_000_000_000) - 1
        guard seconds < 600 else {
            self.timedOutAt = nil
            return nil
        }
        return max(0, seconds)
    }

    /// Queues what has come of a stream since the last time.
    private func tell(_ transfer: Transfer) {
        if transfer.hasHead, !transfer.isHeadTold {
            transfer.isHeadTold = true
            events.append(
                .head(transfer.id, status: transfer.status, headers: transfer.headers))
        }
        guard !transfer.body.isEmpty else { return }
        events.append(.data(transfer.id, transfer.body))
        transfer.body = []
    }

    private func complete(_ id: Int, _ result: CURLcode) {
        let transfer = active[id]!
        if transfer.isStream { tell(transfer) }
        if result == CURLE_OPERATION_TIMEDOUT { timedOutAt = Clock.monotonic() }
        events.append(
            result == CURLE_OK
                ? .response(id, transfer.response()) : .failed(id, transfer.error(result)))
        finish(id)
    }

    private func finish(_ id: Int) {
        let transfer = active.removeValue(forKey: id)!
        streams.remove(id)
        unsafe curl_multi_remove_handle(multi, transfer.easy)
        transfer.clear()
        if idle.count < options.requestsMax { idle.append(transfer) }
        if !waiting.isEmpty, active.count - streams.count < options.requestsMax {
            let next = waiting.removeFirst()
            begin(next.request, id: next.id)
        }
    }
}

extension HTTPEvent {
    /// The request that it is about.
    public var id: Int {
        switch self {
        case .response(let id, _), .head(let id, _, _), .data(let id, _), .failed(let id, _): id
        }
    }
}

private let curlIsReady = fb_curl_init() == CURLE_OK
