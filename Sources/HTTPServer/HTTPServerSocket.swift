internal import CMicroHTTPD
internal import CWslay
internal import EventLoop

/// A WebSocket connection: text messages both ways.
///
/// Framing, pings, UTF-8 and the closing handshake are wslay's. What is sent waits here until the
/// client takes it; a client that leaves too much waiting is cut off, and one that does not read is
/// not read from, so that neither makes the server grow.
@safe
public final class HTTPServerSocket {
    /// How many bytes may wait beside the longest message, so that one of any length gets through.
    public let bytesMax: Int

    /// Whether the client is still there, as far as is known.
    public private(set) var isOpen = true

    private let onText: ([UInt8]) -> Void
    private let onClose: () -> Void
    private var wslay: UnsafeMutablePointer<fb_ws>?
    private weak var sockets: OpenSockets?
    private var upgraded: OpaquePointer?
    private(set) var descriptor: Int32 = -1

    /// What came with the head of the request.
    private var early: [UInt8] = []
    private var pending = ByteQueue()
    /// The longest message since nothing waited, in bytes.
    private var longest = 0
    private var isBroken = false
    private var isReading = false
    private var readsLeft = 0
    private var interest = (reads: true, writes: false)
    private var life = SignsOfLife()

    /// Reading pauses while so many bytes wait to be taken.
    private static let pauseBytes = 1024 * 1024
    /// The most that is read in one turn, so that all get theirs.
    private static let readBytesMax = 256 * 1024

    /// Makes a socket; give it to the server as a response's body.
    ///
    /// - Parameters:
    ///   - messageBytesMax: a client that sends a longer message is hung up on.
    ///   - onText: called with each message, from `HTTPServer.run`.
    ///   - onClose: called once when the connection has ended, whoever wanted it.
    public init(
        messageBytesMax: Int, bytesMax: Int = 16 * 1024 * 1024,
        onText: @escaping ([UInt8]) -> Void, onClose: @escaping () -> Void
    ) {
        self.bytesMax = bytesMax
        self.onText = onText
        self.onClose = onClose
        let callbacks = unsafe fb_ws_callbacks(
            receive: socketReceives, send: socketSends, message: socketHears)
        unsafe wslay = unsafe fb_ws_new(
            callbacks, Unmanaged.passUnretained(self).toOpaque(), messageBytesMax)
    }

    deinit { if let wslay = unsafe wslay { unsafe fb_ws_free(wslay) } }

    /// How many bytes the client has not taken yet.
    public var bytesWaiting: Int { pending.count }

    /// Sends a text message: UTF-8.
    ///
    /// - Returns: false where the client is gone or has been cut off now.
    @discardableResult
    public func send(_ text: [UInt8]) -> Bool { send(messages: [text]) }

    /// Sends text messages that are one to the client: all of them, or none.
    ///
    /// - Returns: false where the client is gone or has been cut off now.
    @discardableResult
    public func send(messages: [[UInt8]]) -> Bool {
        guard isOpen, !isClosing, let wslay = unsafe wslay else { return false }
        let count = messages.reduce(0) { $0 + $1.count }
        guard bytesWaiting + count <= bytesMax + max(longest, count) else {
            end()
            return false
        }
        let before = bytesWaiting
        for text in messages {
            let code = unsafe text.withUnsafeBytes {
                unsafe fb_ws_send_text(wslay, $0.baseAddress, $0.count)
            }
            if code != 0 { isBroken = true }
        }
        longest = max(longest, bytesWaiting - before)
        sockets?.changed(self)
        return true
    }

    /// Hangs up after what waits.
    public func close() {
        guard isOpen, !isClosing, let wslay = unsafe wslay else { return }
        life.beginClosing()
        if unsafe fb_ws_send_close(wslay, UInt32(WSLAY_CODE_NORMAL_CLOSURE.rawValue)) != 0 {
            isBroken = true
        }
        sockets?.changed(self)
    }

    /// The connection is ours: `early` has already been read from it.
    func begin(
        _ sockets: OpenSockets, descriptor: Int32, upgraded: OpaquePointer, early: [UInt8]
    ) {
        unsafe self.upgraded = upgraded
        self.early = early
        self.descriptor = descriptor
        life.show()
        fb_socket_no_delay(descriptor)
        guard isOpen, unsafe wslay != nil, sockets.insert(self) else {
            unsafe fb_http_end_upgraded(upgraded)
            unsafe self.upgraded = nil
            return end()
        }
        self.sockets = sockets
        sockets.changed(self)
    }

    /// Reads and answers what has come.
    func read() {
        readOn()
        sockets?.changed(self)
    }

    private func readOn() {
        guard isOpen, !isReading, let wslay = unsafe wslay else { return }
        isReading = true
        defer { isReading = false }
        readsLeft = Self.readBytesMax
        if unsafe fb_ws_read(wslay) != 0 || isOver { life.beginClosing() }
        // What follows a goodbye or nonsense is never asked for.
        early = []
    }

    /// Writes as far as the client takes it, and ends what is to end.
    func flush() {
        guard isOpen, descriptor >= 0 else { return }
        if !early.isEmpty { readOn() }
        write()
        if isBroken || isClosing && bytesWaiting == 0 && isOver { return end() }
        let wanted = (reads: bytesWaiting < Self.pauseBytes && reads, writes: bytesWaiting > 0)
        if wanted != interest {
            interest = wanted
            sockets?.watch(descriptor, reads: wanted.reads, writes: wanted.writes)
        }
    }

    /// Whether anything more of the client's is looked at.
    private var reads: Bool {
        guard let wslay = unsafe wslay else { return false }
        return unsafe fb_ws_wants_read(wslay) != 0
    }

    /// Whether both sides have said goodbye.
    private var isOver: Bool {
        guard let wslay = unsafe wslay else { return true }
        return unsafe fb_ws_is_over(wslay) != 0
    }

    private func write() {
        while !pending.isEmpty {
            let count = unsafe pending.take { front in
                unsafe fb_socket_write(descriptor, front.baseAddress!, front.count)
            }
            guard count > 0 else {
                if count < 0 { isBroken = true }
                break
            }
            // The kernel was full: that it has room is the client's doing.
            if interest.writes { life.tookWhatWaited() }
        }
        if pending.isEmpty { longest = 0 }
    }

    var heard: Int64 { life.heard }
    var closingSince: Int64? { life.closingSince }
    private var isClosing: Bool { closingSince != nil }

    /// Asks a client that is silent whether it lives, and ends one that does not answer.
    func check(at now: Int64) {
        switch life.verdict(at: now) {
        case .alive: break
        case .gone: end()
        case .doubtful:
            guard let wslay = unsafe wslay else { return }
            if unsafe fb_ws_send_ping(wslay) != 0 { isBroken = true }
            sockets?.changed(self)
        }
    }

    /// The connection has ended, or is cut off.
    func end() {
        guard isOpen else { return }
        isOpen = false
        if descriptor >= 0 { sockets?.remove(self) }
        if let upgraded = unsafe upgraded { unsafe fb_http_end_upgraded(upgraded) }
        unsafe upgraded = nil
        pending.clear()
        early = []
        onClose()
    }

    // What wslay calls.

    fileprivate func receive(into buffer: UnsafeMutablePointer<UInt8>, max: Int) -> Int {
        if !early.isEmpty {
            let count = min(max, early.count)
            for index in 0..<count { unsafe buffer[index] = early[index] }
            early.removeFirst(count)
            return count
        }
        guard isOpen, readsLeft > 0, bytesWaiting < Self.pauseBytes else { return -1 }
        let count = unsafe fb_socket_read(descriptor, buffer, max)
        if count == 0 || count == -2 {
            isBroken = true
            return -1
        }
        guard count > 0 else { return -1 }
        readsLeft -= count
        life.show()
        return count
    }

    fileprivate func take(_ bytes: UnsafeBufferPointer<UInt8>) {
        unsafe pending.append(bytes)
    }

    fileprivate func hear(_ bytes: [UInt8], isText: Bool) {
        guard isOpen, !isClosing else { return }
        if isText { onText(bytes) } else { close() }
    }

    fileprivate static func of(_ context: UnsafeMutableRawPointer) -> HTTPServerSocket {
        unsafe Unmanaged<HTTPServerSocket>.fromOpaque(context).takeUnretainedValue()
    }
}

private func socketReceives(
    _ context: UnsafeMutableRawPointer, _ buffer: UnsafeMutablePointer<UInt8>, _ size: Int
) -> Int {
    unsafe HTTPServerSocket.of(context).receive(into: buffer, max: size)
}

private func socketSends(
    _ context: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>, _ size: Int
) {
    unsafe HTTPServerSocket.of(context).take(UnsafeBufferPointer(start: bytes, count: size))
}

private func socketHears(
    _ context: UnsafeMutableRawPointer, _ isText: Int32, _ bytes: UnsafePointer<UInt8>?,
    _ size: Int
) {
    let bytes = unsafe Array(UnsafeBufferPointer(start: bytes, count: size))
    unsafe HTTPServerSocket.of(context).hear(bytes, isText: isText != 0)
}
