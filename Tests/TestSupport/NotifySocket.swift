import EventLoop
import Glibc

/// The other end of sd_notify(3): a Unix datagram socket, at a path or at `@NAME`.
public final class NotifySocket {
    private let descriptor: Descriptor
    private let path: String

    /// Makes the socket.
    public init(_ name: String) throws {
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        guard number >= 0 else { throw SetupFailure("no Unix socket: errno \(errno)") }
        descriptor = Descriptor(owning: number)
        path = name
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 } else { unsafe unlink(name) }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sa_family_t>.size + bytes.count
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(number, $0, socklen_t(length))
            }
        }
        guard code == 0 else { throw SetupFailure("cannot bind \(name): errno \(errno)") }
        try descriptor.setNonblocking()
    }

    deinit { if !path.hasPrefix("@") { unsafe unlink(path) } }

    /// The next message; nil where none comes in time.
    public func next(within limit: Duration) -> String? {
        guard Poll.wait(for: [descriptor.number], timeout: limit)[0],
            let bytes = try? descriptor.read(max: 65_536)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
