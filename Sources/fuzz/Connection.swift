internal import EventLoop
internal import Glibc

/// A connection to a port of this machine that waits for nothing.
final class Connection {
    private var socket: Descriptor?
    private var unsent: ArraySlice<UInt8> = []
    private(set) var isOver = false

    var number: Int32 { socket?.number ?? -1 }
    var isIdle: Bool { unsent.isEmpty }

    init(port: UInt16) {
        let socket = Descriptor(
            owning: Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        self.socket = socket
        var to = sockaddr_in()
        to.sin_family = sa_family_t(AF_INET)
        to.sin_port = port.bigEndian
        to.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafePointer(to: &to) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket.number, $0, size)
            }
        }
        isOver = code != 0 || (try? socket.setNonblocking()) == nil
    }

    /// Sends bytes as the other side takes them.
    func send(_ bytes: [UInt8]) {
        unsent += bytes
        push()
    }

    private func push() {
        guard !unsent.isEmpty, let socket else { return }
        do {
            unsent = unsent.dropFirst(try socket.write(unsent.prefix(1 << 16)))
        } catch {
            // Closed at the other side: what it has said can still be read.
            unsent = []
        }
    }

    /// What has come, after sending what could not be sent before.
    func turn() -> [UInt8] {
        push()
        guard !isOver, let socket else { return [] }
        do {
            guard let bytes = try socket.read(max: 1 << 16) else { return [] }
            isOver = bytes.isEmpty
            return bytes
        } catch {
            isOver = true
            return []
        }
    }

    /// Says that nothing more is sent.
    func endSending() { shutdown(number, Int32(SHUT_WR)) }

    /// Closes it; with a reset, where the other side shall have that.
    func close(resets: Bool) {
        if resets {
            var now = linger(l_onoff: 1, l_linger: 0)
            let size = socklen_t(MemoryLayout<linger>.size)
            unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &now, size)
        }
        socket = nil
        isOver = true
    }
}
