internal import EventLoop
internal import Glibc

/// One client of the sink: bytes in, whole requests out. It trusts its client to speak HTTP/1.1
/// with announced lengths.
@safe
final class Connection {
    let descriptor: Descriptor
    private var buffer: UnsafeMutableRawBufferPointer
    private var filled = 0
    /// Of the request whose head has come.
    private var head: Head?

    private static let headEnd = Pattern("\r\n\r\n")
    private static let chunk = Pattern(#""content":"#)

    /// What the sink wants to know of a request.
    struct Request {
        var isRead: Bool
        var isAboutStreams: Bool
        var bodyBytes: Int
        /// How many chunks the body writes: how often it names a `content`.
        var chunks: Int
    }

    private struct Head {
        var size: Int
        var bodyBytes: Int
        var isRead: Bool
        var isAboutStreams: Bool
    }

    init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        unsafe buffer = .allocate(byteCount: 1 << 20, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }

    /// Takes in what has come; false at the end.
    func receive() -> Bool {
        while true {
            if unsafe filled == buffer.count { grow() }
            let got = unsafe recv(
                descriptor.number, buffer.baseAddress! + filled, buffer.count - filled, 0)
            if got < 0 { return errno == EAGAIN || errno == EINTR }
            if got == 0 { return false }
            filled += got
            if unsafe filled < buffer.count { return true }
        }
    }

    /// The next request that has come whole.
    func nextRequest() -> Request? {
        if head == nil { head = readHead() }
        guard let head, filled >= head.size + head.bodyBytes else { return nil }
        let body = unsafe UnsafeRawBufferPointer(
            rebasing: buffer[head.size..<head.size + head.bodyBytes])
        let request = Request(
            isRead: head.isRead, isAboutStreams: head.isAboutStreams, bodyBytes: head.bodyBytes,
            chunks: unsafe Self.chunk.count(in: body))
        let used = head.size + head.bodyBytes
        unsafe memmove(buffer.baseAddress!, buffer.baseAddress! + used, filled - used)
        filled -= used
        self.head = nil
        return request
    }

    private func readHead() -> Head? {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[0..<filled])
        guard let end = unsafe Self.headEnd.position(in: bytes) else { return nil }
        let text = unsafe String(decoding: bytes[..<end], as: UTF8.self)
        let lines = text.split(separator: "\r\n")
        var bodyBytes = 0
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            bodyBytes = Int(line.split(separator: " ").last ?? "0") ?? 0
        }
        return Head(
            size: end + 4, bodyBytes: bodyBytes, isRead: text.hasPrefix("GET "),
            isAboutStreams: lines.first?.contains("_firebridge/streams/") ?? false)
    }

    private func grow() {
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: buffer.count * 2, alignment: 16)
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[0..<filled]))
        unsafe buffer.deallocate()
        unsafe buffer = unsafe larger
    }
}
