internal import CMicroHTTPD
internal import EventLoop

/// One request from its first line until its answer is out.
@safe
final class Exchange {
    unowned let service: Service
    let target: [UInt8]
    let connection: OpaquePointer
    var stream: HTTPServerStream?
    var socket: HTTPServerSocket?
    /// Read when it begins; nil before.
    private var headers: [(name: String, value: String)]?
    private var body: [UInt8] = []
    private var bytesDropped = 0
    private var isHead = false
    /// The answer, held back until streams have been sent what the request meant for them.
    private var held: HTTPServerResponse?
    /// What the answer is made of when its time has come.
    private var later: (() -> HTTPServerResponse)?
    private var isWaiting = false

    init(_ service: Service, target: [UInt8], connection: OpaquePointer) {
        self.service = service
        self.target = target
        unsafe self.connection = connection
    }

    /// Whether microhttpd shall go on with the connection.
    func proceed(
        method: String, version: String, upload: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        let bodyBytesMax = service.limits.bodyBytesMax
        guard let headers else {
            let headers = readHeaders()
            self.headers = headers
            isHead = method == "HEAD"
            let ends = headers.filter(Self.tellsTheEnd)
            guard ends.count <= 1 else {
                return answer(malformed("it says its length in two ways"))
            }
            // RFC 9112, section 3.2. Before HTTP/1.1 there was no such header.
            let hosts = headers.count { $0.name.lowercased() == "host" }
            guard hosts == 1 || hosts == 0 && version == "HTTP/1.0" else {
                return answer(malformed("expected one Host header, found \(hosts)"))
            }
            let announced = ends.first.flatMap { Int($0.value) } ?? 0
            if announced > bodyBytesMax { return answer(service.limits.oversized) }
            body.reserveCapacity(announced)
            return true
        }
        if upload.count > 0 {
            if body.count + upload.count <= bodyBytesMax, bytesDropped == 0 {
                unsafe body.append(contentsOf: upload)
            } else {
                // Its length was not announced: read on, so that the client reads the answer, but
                // not for ever.
                bytesDropped += body.count + upload.count
                body = []
            }
            return bytesDropped <= 2 * bodyBytesMax
        }
        service.arrivals.end(unsafe fb_http_descriptor(connection))
        guard bytesDropped == 0 else { return answer(service.limits.oversized) }
        if let held {
            self.held = nil
            return answer(held)
        }
        let request = HTTPServerRequest(
            method: method, target: target, headers: headers, body: body)
        body = []
        return respond { service.handler(request) }
    }

    /// Answers at once; where streams are to be told first or the answer waits, when the server
    /// lets it go.
    private func respond(_ handler: () -> HTTPServerResponse) -> Bool {
        let wasWoken = service.isWoken
        service.isWoken = false
        let response = handler()
        let hasNews = service.isWoken
        service.isWoken = hasNews || wasWoken
        // A stream or socket that begins is not held back by its own news.
        let isWhole = if case .bytes = response.body { true } else { false }
        guard response.waits || hasNews && isWhole else { return answer(response) }
        held = response
        service.held.append(self)
        unsafe MHD_suspend_connection(connection)
        return true
    }

    /// Lets the answer go that was held back.
    func release() { unsafe MHD_resume_connection(connection) }

    /// Whether a header says where the request's body ends.
    private static func tellsTheEnd(_ header: (name: String, value: String)) -> Bool {
        switch header.name.utf8.count {
        case 14: header.name.lowercased() == "content-length"
        case 17: header.name.lowercased() == "transfer-encoding"
        default: false
        }
    }

    private func readHeaders() -> [(name: String, value: String)] {
        let list = HeaderList()
        _ = unsafe MHD_get_connection_values(
            connection, .HEADER_KIND,
            { context, _, name, value in
                let list = unsafe Unmanaged<HeaderList>.fromOpaque(context!).takeUnretainedValue()
                let name = unsafe String(cString: name!)
                list.headers.append((name, unsafe value.map { unsafe String(cString: $0) } ?? ""))
                return .YES
            }, Unmanaged.passUnretained(list).toOpaque())
        return list.headers
    }

    private func malformed(_ reason: String) -> HTTPServerResponse {
        var answer = service.limits.malformed(reason)
        answer.headers.append((name: "Connection", value: "close"))
        return answer
    }

    private func answer(_ answer: HTTPServerResponse) -> Bool {
        var response: OpaquePointer?
        switch answer.body {
        case .bytes(let bytes):
            unsafe response = unsafe bytes.withUnsafeBytes {
                unsafe fb_http_response($0.baseAddress, $0.count)
            }
        case .stream(let stream) where isHead:
            // microhttpd would send the end of a body that it has not begun.
            stream.close()
            unsafe response = unsafe fb_http_response(nil, 0)
        case .stream(let stream):
            precondition(stream.isOpen, "a stream belongs to one answer")
            self.stream = stream
            stream.wakeServer = { [unowned service] in service.isWoken = true }
            unsafe response = unsafe fb_http_stream(
                { context, _, buffer, max in
                    let exchange = unsafe Exchange.of(context!)
                    return unsafe exchange.stream!.read(
                        into: buffer!, max: max, connection: exchange.connection)
                }, Unmanaged.passUnretained(self).toOpaque())
        case .later(let delay, let make):
            wait(delay, make)
            return true
        case .cut: return false
        case .socket(let socket):
            self.socket = socket
            unsafe response = unsafe fb_http_upgrade(
                connectionTaken, Unmanaged.passUnretained(self).toOpaque())
        }
        guard let response = unsafe response else { return false }
        defer { unsafe MHD_destroy_response(response) }
        for (name, value) in answer.headers {
            _ = unsafe MHD_add_response_header(response, name, value)
        }
        return unsafe MHD_queue_response(connection, UInt32(answer.status), response) == .YES
    }

    /// Rests until `resume`.
    private func wait(_ milliseconds: Int64, _ make: @escaping () -> HTTPServerResponse) {
        later = make
        isWaiting = true
        service.waiting.append((Clock.monotonic() + milliseconds * 1_000_000, self))
        unsafe MHD_suspend_connection(connection)
    }

    /// Lets an exchange that waits go on.
    func resume() {
        guard isWaiting else { return }
        isWaiting = false
        // Its time has come whether or not its client is still there.
        if let later { held = later() }
        later = nil
        service.isWoken = true
        unsafe MHD_resume_connection(connection)
    }

    /// Ends what waits, so that the server can stop.
    func abandon() {
        stream?.abandon()
        guard isWaiting else { return }
        later = { HTTPServerResponse(status: 503, body: .cut) }
        resume()
    }

    static func of(_ context: UnsafeMutableRawPointer) -> Exchange {
        unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    }
}

/// The answer 101 is out: the connection is the socket's from here on.
private func connectionTaken(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ requestContext: UnsafeMutableRawPointer?, _ early: UnsafePointer<CChar>?, _ earlySize: Int,
    _ descriptor: Int32, _ upgraded: OpaquePointer?
) {
    let exchange = unsafe Exchange.of(context!)
    let bytes = unsafe UnsafeRawBufferPointer(start: early, count: earlySize)
    unsafe exchange.socket!.begin(
        exchange.service.sockets, descriptor: descriptor, upgraded: upgraded!,
        early: unsafe Array(bytes))
}

private final class HeaderList {
    var headers: [(name: String, value: String)] = []
}
