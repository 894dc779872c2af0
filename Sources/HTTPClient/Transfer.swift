internal import CCurl
internal import EventLoop

/// One easy handle and what its present request collects. Used again for the next request.
///
/// curl knows it by an unretained pointer: the client's tables keep it alive while its handle may
/// be in the multi handle, and `deinit` frees the handle first.
@safe
final class Transfer {
    let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var list: UnsafeMutablePointer<curl_slist>?
    private var sentBody: UnsafeMutableRawPointer?

    private(set) var id = 0
    private(set) var isStream = false
    /// When its time limit has passed, by the monotonic clock; nil where it has none.
    private(set) var expiresAt: Int64?
    private var bodyMax = 0
    private let headerMax: Int

    private(set) var headers = HTTPHeaders()
    /// Whether the blank line after the final header block has come.
    private(set) var hasHead = false
    /// The body, or the pieces of a stream that were not told yet.
    var body: [UInt8] = []
    /// Whether the head of a stream was told.
    var isHeadTold = false
    private var headerBytes = 0
    /// What our own limits found, where they ended the transfer.
    private var excess: String?

    init(_ options: HTTPClient.Options) {
        guard let easy = unsafe curl_easy_init() else { fatalError("out of memory") }
        unsafe self.easy = easy
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        headerMax = options.headerBytesMax
        setConstants(options)
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe errorText.deallocate()
        unsafe curl_slist_free_all(list)
        unsafe sentBody?.deallocate()
    }

    /// Makes the handle ready to be added for this request.
    ///
    /// - Parameter connectionAgeMax: the age in seconds above which a kept connection is not used;
    ///   0 opens a new one.
    func prepare(_ request: HTTPRequest, id: Int, bodyMax: Int, connectionAgeMax: Int?) {
        self.id = id
        self.bodyMax = bodyMax
        isStream = request.isStream
        setLine(request)
        setHeaders(request)
        setBody(request)
        let ms = request.timeout.map { max(1, Int(Duration.pollMilliseconds($0))) } ?? 0
        set(CURLOPT_TIMEOUT_MS, ms)
        expiresAt = ms > 0 ? Clock.monotonic() + Int64(ms) * 1_000_000 : nil
        let silence = request.silenceMax.map { max(1, Int($0.components.seconds)) } ?? 0
        set(CURLOPT_LOW_SPEED_LIMIT, silence > 0 ? 1 : 0)
        set(CURLOPT_LOW_SPEED_TIME, silence)
        _ = unsafe fb_curl_set_offset(
            easy, CURLOPT_MAXFILESIZE_LARGE, isStream ? 0 : curl_off_t(bodyMax))
        set(CURLOPT_FRESH_CONNECT, connectionAgeMax == 0 ? 1 : 0)
        set(CURLOPT_MAXLIFETIME_CONN, connectionAgeMax ?? 0)
        _ = unsafe fb_curl_set_pointer(
            easy, CURLOPT_PRIVATE, UnsafeMutableRawPointer(bitPattern: id))
    }

    /// Forgets the request, its secrets first. The handle is out of the multi handle by now.
    func clear() {
        unsafe curl_slist_free_all(list)
        unsafe list = nil
        _ = unsafe fb_curl_set_list(easy, CURLOPT_HTTPHEADER, nil)
        _ = unsafe fb_curl_set_text(easy, CURLOPT_URL, nil)
        _ = unsafe fb_curl_set_text(easy, CURLOPT_POSTFIELDS, nil)
        unsafe sentBody?.deallocate()
        unsafe sentBody = nil
        unsafe errorText.pointee = 0
        headers = HTTPHeaders()
        hasHead = false
        isHeadTold = false
        body = []
        headerBytes = 0
        excess = nil
    }

    var status: Int { unsafe fb_curl_get_long(easy, CURLINFO_RESPONSE_CODE) }

    func response() -> HTTPResponse {
        func time(_ info: CURLINFO) -> Duration {
            .microseconds(unsafe fb_curl_get_offset(easy, info))
        }
        var timings = HTTPResponse.Timings()
        timings.connect = time(CURLINFO_CONNECT_TIME_T)
        timings.tls = time(CURLINFO_APPCONNECT_TIME_T)
        timings.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        timings.total = time(CURLINFO_TOTAL_TIME_T)
        timings.connections = unsafe fb_curl_get_long(easy, CURLINFO_NUM_CONNECTS)
        return HTTPResponse(status: status, headers: headers, body: body, timings: timings)
    }

    func error(_ code: CURLcode) -> HTTPError {
        if let excess { return HTTPError(.tooLarge, excess) }
        let detail = unsafe String(cString: errorText)
        let words = unsafe String(cString: curl_easy_strerror(code))
        return HTTPError(HTTPError.Kind(code), detail.isEmpty ? words : detail)
    }

    // MARK: What curl calls

    func collectHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= headerMax else {
            excess = "more than \(headerMax) bytes of headers"
            return false
        }
        // After the head come only the trailers of a chunked body: nothing that we need.
        guard !hasHead else { return true }
        var text = unsafe line[...]
        while let last = unsafe text.last, last == 0x0D || last == 0x0A { unsafe text.removeLast() }
        if unsafe text.starts(with: "HTTP/".utf8) {
            headers = HTTPHeaders()
        } else if unsafe text.isEmpty {
            hasHead = status >= 200
        } else {
            unsafe headers.append(line: text)
        }
        return true
    }

    func collectBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard isStream || body.count + bytes.count <= bodyMax else {
            excess = "a body of more than \(bodyMax) bytes"
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }
}

extension Transfer {
    fileprivate func set(_ option: CURLoption, _ value: Int) {
        let code = unsafe fb_curl_set_long(easy, option, value)
        precondition(code == CURLE_OK, "curl option \(option.rawValue): \(code.rawValue)")
    }

    fileprivate func set(_ option: CURLoption, _ value: String) {
        let code = unsafe fb_curl_set_text(easy, option, value)
        precondition(code == CURLE_OK, "curl option \(option.rawValue): \(code.rawValue)")
    }

    /// What holds for every request of the client.
    private func setConstants(_ options: HTTPClient.Options) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe fb_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        _ = unsafe fb_curl_set_writer(easy, CURLOPT_WRITEFUNCTION, onBody)
        _ = unsafe fb_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        _ = unsafe fb_curl_set_writer(easy, CURLOPT_HEADERFUNCTION, onHeader)
        _ = unsafe fb_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        set(CURLOPT_NOSIGNAL, 1)
        // Else the end of a transfer whose name is still being resolved waits for the resolver,
        // and with it the whole daemon.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, options.allowPlainHTTP ? "http,https" : "https")
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        // A ".." in a path is a key of the database, not a step upwards.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_PROXY, options.proxy)
        set(CURLOPT_USERAGENT, options.userAgent)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        if let directory = options.systemAuthorities { set(CURLOPT_CAPATH, directory) }
        if let file = options.caFile {
            set(CURLOPT_CAINFO, file)
            // Else curl trusts the system's directory beside the file.
            _ = unsafe fb_curl_set_text(easy, CURLOPT_CAPATH, nil)
        }
        // Default a day: a rotated CA file would not be seen until a restart. Connections are kept,
        // so that the file is seldom read all the same.
        set(CURLOPT_CA_CACHE_TIMEOUT, 2)
        // Default a minute: for so long a database that has moved would be looked for where it was.
        set(CURLOPT_DNS_CACHE_TIMEOUT, 5)
        // A resumed session shows no certificate: an authority that was taken out would be trusted
        // as long as the server's tickets hold.
        set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(Duration.pollMilliseconds(options.connectTimeout)))
        set(CURLOPT_MAXAGE_CONN, Int(options.connectionIdleMax.components.seconds))
        set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    private func setLine(_ request: HTTPRequest) {
        if let query = request.secretQuery {
            let separator = request.url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
            set(
                CURLOPT_URL,
                request.url + separator + String(decoding: query.reveal(), as: UTF8.self))
        } else {
            set(CURLOPT_URL, request.url)
        }
        set(CURLOPT_NOBODY, 0)
        set(CURLOPT_HTTPGET, 1)
        if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
        set(CURLOPT_CUSTOMREQUEST, request.method)
    }

    private func setHeaders(_ request: HTTPRequest) {
        // curl must not wait for "100 Continue", nor call our bodies a form.
        unsafe list = curl_slist_append(nil, "Expect:")
        for (name, value) in request.headers {
            let bytes = value.bytes
            // A header with an empty value is spelt with a semicolon; a colon would remove it.
            var line = Array(name.utf8)
            line.append(contentsOf: (bytes.isEmpty ? ";" : ": ").utf8)
            line.append(contentsOf: bytes)
            line.append(0)
            unsafe line.withUnsafeBufferPointer { line in
                unsafe line.withMemoryRebound(to: CChar.self) { line in
                    unsafe list = curl_slist_append(list, line.baseAddress)
                }
            }
        }
        let names = request.headers.map { $0.name.lowercased() }
        if request.body != nil, !names.contains("content-type") {
            unsafe list = curl_slist_append(list, "Content-Type:")
        }
        _ = unsafe fb_curl_set_list(easy, CURLOPT_HTTPHEADER, list)
    }

    /// curl reads the body where it stands until the transfer is over, so it gets a copy that does
    /// not move.
    private func setBody(_ request: HTTPRequest) {
        guard let body = request.body else { return }
        let copy = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(body.count, 1), alignment: 1)
        unsafe copy.copyBytes(from: body)
        unsafe sentBody = copy.baseAddress
        set(CURLOPT_POST, 1)
        _ = unsafe fb_curl_set_pointer(easy, CURLOPT_POSTFIELDS, sentBody)
        _ = unsafe fb_curl_set_offset(
            easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        set(CURLOPT_CUSTOMREQUEST, request.method)
    }
}

private func transfer(_ context: UnsafeMutableRawPointer) -> Transfer {
    unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

/// Any other count than the one given ends the transfer.
private let stop = Int.max

private func onBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe transfer(context!).collectBody(buffer) ? size * count : stop
}

private func onHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe transfer(context!).collectHeader(buffer) ? size * count : stop
}
