internal import CMicroHTTPD

/// An answer that stays open and is fed as there is something to say.
///
/// What is sent waits here until the client takes it. A client that leaves too much waiting is cut
/// off, so that no reader makes the server grow.
@safe
public final class HTTPServerStream {
    /// How many bytes may wait when more are sent.
    public let bytesMax: Int

    private var pending: ByteQueue
    private var ending: Ending?
    private var suspended: OpaquePointer?
    /// Tells the server that it has something to do: libmicrohttpd does not make its descriptor
    /// readable for a resumed connection.
    var wakeServer: () -> Void = {}
    private let onClose: () -> Void
    /// Whether the client is still there, as far as is known.
    public private(set) var isOpen = true

    private enum Ending { case finished, cutOff }

    /// Makes a stream; give it to the server as a response's body.
    ///
    /// - Parameter onClose: called once when the client has gone or the stream has ended, whoever
    ///   wanted it.
    public init(
        first: [UInt8] = [], bytesMax: Int = 16 * 1024 * 1024,
        onClose: @escaping () -> Void = {}
    ) {
        pending = ByteQueue(first)
        self.bytesMax = bytesMax
        self.onClose = onClose
    }

    /// How many bytes the client has not taken yet.
    public var bytesWaiting: Int { pending.count }

    /// Sends bytes after those that wait.
    ///
    /// - Returns: false where the client is gone or has been cut off now.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
        guard isOpen, ending == nil else { return false }
        guard bytesWaiting <= bytesMax else {
            pending.clear()
            ending = .cutOff
            resume()
            return false
        }
        pending.append(bytes)
        resume()
        return true
    }

    /// Ends the answer after what waits.
    public func end() {
        guard ending == nil else { return }
        ending = .finished
        resume()
    }

    /// Ends the answer in the middle, after what waits: the client sees that something is missing.
    public func cutOff() {
        guard ending == nil else { return }
        ending = .cutOff
        resume()
    }

    private func resume() {
        guard let connection = unsafe suspended else { return }
        unsafe suspended = nil
        unsafe MHD_resume_connection(connection)
        wakeServer()
    }

    /// Fills the buffer with what waits; suspends the connection where nothing does.
    func read(
        into buffer: UnsafeMutablePointer<CChar>, max: Int, connection: OpaquePointer
    ) -> Int {
        guard !pending.isEmpty else {
            switch ending {
            case .finished: return fb_http_end_of_stream()
            case .cutOff: return fb_http_end_with_error()
            case nil:
                unsafe suspended = connection
                unsafe MHD_suspend_connection(connection)
                return 0
            }
        }
        return unsafe pending.take { front in
            let count = min(max, front.count)
            unsafe UnsafeMutableRawPointer(buffer).copyMemory(
                from: front.baseAddress!, byteCount: count)
            return count
        }
    }

    /// The connection has ended.
    func close() {
        guard isOpen else { return }
        isOpen = false
        unsafe suspended = nil
        pending.clear()
        onClose()
    }

    /// Lets a suspended connection go on, so that the server can stop.
    func abandon() {
        if ending == nil { ending = .cutOff }
        resume()
    }
}
