internal import CMicroHTTPD
internal import EventLoop

/// The WebSocket connections, and the epoll descriptor that watches them and microhttpd's own.
@safe
final class OpenSockets {
    /// A client that has been silent so long is asked whether it lives, in nanoseconds. Firebase's
    /// clients say so by themselves every 45 s.
    static let askAfter: Int64 = 30_000_000_000
    /// One that has been silent so long is gone.
    static let silenceMax: Int64 = 75_000_000_000
    /// One that does not answer the closing handshake is hung up on.
    static let goodbyeMax: Int64 = 5_000_000_000
    private static let checkInterval: Int64 = 5_000_000_000

    let epoll = fb_epoll_new()
    private var byDescriptor: [Int32: HTTPServerSocket] = [:]
    /// Sockets with something to write or to end, in the order in which that came up.
    private var dirty: [HTTPServerSocket] = []
    private var nextCheck: Int64 = 0
    /// Whether a connection was given back to microhttpd since the last run.
    private(set) var hasEnded = false

    deinit { close(epoll) }

    /// Watches another descriptor for reading, that of microhttpd.
    func watch(_ descriptor: Int32) -> Bool { fb_epoll_set(epoll, descriptor, 1, 1, 0) == 0 }

    func watch(_ descriptor: Int32, reads: Bool, writes: Bool) {
        _ = fb_epoll_set(epoll, descriptor, 0, reads ? 1 : 0, writes ? 1 : 0)
    }

    func insert(_ socket: HTTPServerSocket) -> Bool {
        guard fb_epoll_set(epoll, socket.descriptor, 1, 1, 0) == 0 else { return false }
        if byDescriptor.isEmpty { nextCheck = Clock.monotonic() + Self.checkInterval }
        byDescriptor[socket.descriptor] = socket
        return true
    }

    func remove(_ socket: HTTPServerSocket) {
        guard byDescriptor[socket.descriptor] === socket else { return }
        byDescriptor[socket.descriptor] = nil
        fb_epoll_remove(epoll, socket.descriptor)
        hasEnded = true
    }

    func changed(_ socket: HTTPServerSocket) { dirty.append(socket) }

    /// How long nothing is to be done though no descriptor is ready; nil for ever.
    var nextTimeout: Duration? {
        if !dirty.isEmpty { return .zero }
        guard !byDescriptor.isEmpty else { return nil }
        return .nanoseconds(max(0, nextCheck - Clock.monotonic()))
    }

    /// Reads, answers and writes, as far as nothing blocks.
    func run() {
        hasEnded = false
        flush()
        if !byDescriptor.isEmpty {
            var ready = [fb_epoll_event](
                repeating: fb_epoll_event(), count: Int(FB_EPOLL_MAX))
            let count = unsafe ready.withUnsafeMutableBufferPointer {
                unsafe fb_epoll_ready(epoll, $0.baseAddress!)
            }
            for event in ready.prefix(Int(count)) {
                guard let socket = byDescriptor[event.fd] else { continue }
                if event.can_read != 0 { socket.read() }
                if event.can_write != 0 { changed(socket) }
            }
            check()
        }
        flush()
    }

    /// Writes what waits, in the order in which it was sent.
    func flush() {
        while !dirty.isEmpty {
            let sockets = dirty
            dirty.removeAll(keepingCapacity: true)
            for socket in sockets { socket.flush() }
        }
    }

    private func check() {
        let now = Clock.monotonic()
        guard now >= nextCheck else { return }
        nextCheck = now + Self.checkInterval
        for socket in byDescriptor.values { socket.check(at: now) }
    }

    func endAll() {
        for socket in byDescriptor.values { socket.end() }
        dirty = []
    }
}
