internal import CMicroHTTPD
public import EventLoop

/// An HTTP/1.1 server for a program of one thread: libmicrohttpd, driven through an epoll
/// descriptor.
///
/// Poll `descriptor` for reading, at most for `nextTimeout`, and call `run`. The handler is called
/// from there, with whole requests.
@safe
public final class HTTPServer {
    /// What answers a request.
    public typealias Handler = (HTTPServerRequest) -> HTTPServerResponse

    /// Where it listens: with the port that the system chose, where that was left to it.
    public let address: ListenAddress

    /// Called before answers go out that come late (`.later`) or wait
    /// (`HTTPServerResponse.waits`), and at the end of each `run`: what all requests of a turn
    /// share, such as waiting for a disk.
    public var settle: () -> Void = {}

    private let service: Service
    private let daemon: OpaquePointer

    /// Begins to listen.
    ///
    /// - Parameter handler: called with each whole request. It must not block.
    public init(
        listen address: ListenAddress, limits: HTTPServerLimits = HTTPServerLimits(),
        handler: @escaping Handler
    ) throws(HTTPServerError) {
        var reason = unsafe UnsafePointer<CChar>(strerror(0)!)
        let socket = unsafe fb_http_listen(address.host, "\(address.port)", &reason)
        guard socket >= 0 else {
            throw HTTPServerError(address: address, reason: unsafe String(cString: reason))
        }
        let port = UInt16(truncatingIfNeeded: fb_http_port(socket))
        self.address = ListenAddress(host: address.host, port: port)
        service = Service(limits: limits, handler: handler)
        let options = fb_http_options(
            listen_socket: socket, connections_max: UInt32(limits.connectionsMax),
            timeout_seconds: UInt32(limits.idleSeconds), connection_memory: 2 * limits.headBytesMax)
        let context = unsafe Unmanaged.passUnretained(service).toOpaque()
        guard
            let daemon = unsafe fb_http_start(
                options, exchangeBegun, exchangeProceeds, exchangeCompleted, connectionChanged,
                context
            ),
            unsafe service.sockets.watch(fb_http_epoll(daemon))
        else { throw HTTPServerError(address: address, reason: "libmicrohttpd does not start") }
        unsafe self.daemon = daemon
    }

    deinit {
        // Open streams are cut off: microhttpd does not stop over suspended connections.
        for exchange in service.exchanges.values { exchange.abandon() }
        service.sockets.endAll()
        unsafe MHD_stop_daemon(daemon)
    }

    /// Readable when `run` has something to do.
    public var descriptor: Int32 { service.sockets.epoll }

    /// How long `run` may wait though the descriptor is not readable; nil for ever. Ask after the
    /// streams have been fed.
    public var nextTimeout: Duration? {
        if service.isWoken || service.sockets.hasEnded { return .zero }
        let milliseconds = unsafe fb_http_timeout(daemon)
        let http: Duration? = milliseconds < 0 ? nil : .milliseconds(milliseconds)
        let own = [service.nextAnswer, service.arrivals.nextTimeout]
        return ([http, service.sockets.nextTimeout] + own).compactMap { $0 }.min()
    }

    /// How many connections are open.
    public var connectionCount: Int { unsafe Int(fb_http_connections(daemon)) }

    /// Writes what sockets were sent, as far as their clients take it. `run` does so too.
    public func flush() { service.sockets.flush() }

    /// Accepts, reads, calls the handler and writes, as far as nothing blocks.
    public func run() {
        let start = Clock.monotonic()
        service.isWoken = false
        service.sockets.run()
        service.resumeDue()
        settle()  // requests whose turn came late have no one to hold them back
        _ = unsafe MHD_run(daemon)
        // Streams are written to before the answer of a request that had news for them.
        while !service.held.isEmpty {
            let held = service.held
            service.held = []
            settle()
            _ = unsafe MHD_run(daemon)
            for exchange in held { exchange.release() }
            _ = unsafe MHD_run(daemon)
        }
        settle()
        service.sockets.flush()
        let isFull = connectionCount >= service.limits.connectionsMax
        if service.arrivals.hurry(isFull: isFull, since: start) { service.isWoken = true }
    }
}

/// What microhttpd's callbacks work with.
final class Service {
    let limits: HTTPServerLimits
    let handler: HTTPServer.Handler
    /// The exchanges that microhttpd knows by address: alive exactly as long as it does.
    var exchanges: [ObjectIdentifier: Exchange] = [:]
    let sockets = OpenSockets()
    /// Requests whose answers are held back.
    var held: [Exchange] = []
    /// Whether a stream has been given something since the last run.
    var isWoken = false
    /// Connections whose request has not come whole.
    var arrivals: Arrivals
    /// Exchanges whose answer comes later, and when by the monotonic clock.
    var waiting: [(due: Int64, exchange: Exchange)] = []

    /// How long until the next of them is due; nil where there is none.
    var nextAnswer: Duration? {
        waiting.map(\.due).min().map { .nanoseconds(max(0, $0 - Clock.monotonic())) }
    }

    func resumeDue() {
        guard !waiting.isEmpty else { return }
        let now = Clock.monotonic()
        let due = waiting.filter { $0.due <= now }
        waiting.removeAll { $0.due <= now }
        for (_, exchange) in due { exchange.resume() }
    }

    init(limits: HTTPServerLimits, handler: @escaping HTTPServer.Handler) {
        self.limits = limits
        self.handler = handler
        arrivals = Arrivals(timeMax: limits.requestTimeMax)
    }

    static func of(_ context: UnsafeMutableRawPointer) -> Service {
        unsafe Unmanaged<Service>.fromOpaque(context).takeUnretainedValue()
    }
}

/// The request line has come: makes the exchange, whose address microhttpd keeps.
private func exchangeBegun(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>,
    _ connection: OpaquePointer
) -> UnsafeMutableRawPointer? {
    let service = unsafe Service.of(context!)
    let bytes = unsafe UnsafeBufferPointer(start: target, count: strlen(target))
    let exchange = unsafe Exchange(
        service, target: bytes.map { UInt8(bitPattern: $0) }, connection: connection)
    service.exchanges[ObjectIdentifier(exchange)] = exchange
    return unsafe Unmanaged.passUnretained(exchange).toOpaque()
}

/// The head has come, or a piece of the body, or its end.
private func exchangeProceeds(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?,
    _ exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let exchange = unsafe exchange!.pointee else { return .NO }
    let size = unsafe uploadSize!.pointee
    let goesOn = unsafe UnsafeRawBufferPointer(start: upload, count: size).withMemoryRebound(
        to: UInt8.self
    ) {
        unsafe Exchange.of(exchange).proceed(
            method: String(cString: method!), version: String(cString: version!), upload: $0)
    }
    unsafe uploadSize!.pointee = 0
    return goesOn ? .YES : .NO
}

/// A client has connected, or its connection ends.
private func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    let service = unsafe Service.of(context!)
    let descriptor = unsafe fb_http_descriptor(connection!)
    if change == .CONNECTION_NOTIFY_STARTED {
        service.arrivals.expect(from: descriptor)
    } else {
        service.arrivals.end(descriptor)
        // A server that was full looks for who waits to be accepted at its next run only.
        service.isWoken = true
    }
}

/// The answer is out, or the connection has ended.
private func exchangeCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let pointer = unsafe exchange?.pointee else { return }
    unsafe exchange!.pointee = nil
    let ended = unsafe Exchange.of(pointer)
    unsafe Service.of(context!).exchanges[ObjectIdentifier(ended)] = nil
    ended.stream?.close()
    unsafe Service.of(context!).arrivals.expect(from: fb_http_descriptor(connection!))
    unsafe Service.of(context!).waiting.removeAll { $0.exchange === ended }
    ended.socket?.end()
}
