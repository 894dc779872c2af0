import EventLoop
import Glibc
import HTTPServer
import Testing

/// A server and its raw clients in one thread: each wait turns the server's loop too.
final class Wire {
    let server: HTTPServer
    var requests: [HTTPServerRequest] = []
    var streams: [HTTPServerStream] = []
    var closed = 0
    var sockets: [HTTPServerSocket] = []
    /// What sockets have said, in order.
    var said: [String] = []

    private final class Box { weak var wire: Wire? }

    init(
        listen: String = "127.0.0.1:0", _ change: (inout HTTPServerLimits) -> Void = { _ in }
    ) throws {
        SignalDescriptor.ignoreBrokenPipes()
        var limits = HTTPServerLimits()
        change(&limits)
        let box = Box()
        server = try HTTPServer(listen: #require(ListenAddress(listen)), limits: limits) {
            request in
            box.wire!.answer(request)
        }
        box.wire = self
    }

    private func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
        requests.append(request)
        switch request.path {
        case "/stream":
            let stream = HTTPServerStream(first: Array("first;".utf8), bytesMax: 1000) {
                [weak self] in
                self?.closed += 1
            }
            streams.append(stream)
            return HTTPServerResponse(
                status: 200, headers: [(name: "X-Kind", value: "stream")], body: .stream(stream))
        case "/socket":
            let number = sockets.count
            let socket = HTTPServerSocket(messageBytesMax: 1000, bytesMax: 100_000) {
                [weak self] text in
                let text = String(decoding: text, as: UTF8.self)
                self?.said.append("\(number): \(text)")
                guard let socket = self?.sockets[number] else { return }
                switch text {
                case "close": socket.close()
                case "big": socket.send([UInt8](repeating: 0x78, count: 8_000_000))
                default: socket.send(Array(text.utf8))
                }
            } onClose: {
                [weak self] in
                self?.closed += 1
            }
            sockets.append(socket)
            return HTTPServerResponse(
                status: 101, headers: [(name: "Upgrade", value: "websocket")],
                body: .socket(socket))
        case "/news":
            for stream in streams { stream.send(Array("news;".utf8)) }
            return HTTPServerResponse(status: 200, body: Array("told".utf8))
        case "/empty": return HTTPServerResponse(status: 204)
        case "/big":
            return HTTPServerResponse(status: 200, body: [UInt8](repeating: 0x78, count: 5_000_000))
        default:
            return HTTPServerResponse(
                status: 200, headers: [(name: "X-Method", value: request.method)],
                body: Array("\(request.body.count);".utf8) + request.target)
        }
    }

    /// Turns the loop until the condition holds; fails after half a minute.
    func wait(
        for what: String, clients: [Client] = [], seconds: Int64 = 30,
        until condition: () throws -> Bool
    ) rethrows {
        let deadline = Clock.monotonic() + seconds * 1_000_000_000
        while try !condition() {
            guard Clock.monotonic() < deadline else {
                Issue.record("no \(what)")
                return
            }
            let timeout = min(server.nextTimeout ?? .milliseconds(20), .milliseconds(20))
            _ = Poll.wait(for: [server.descriptor] + clients.map(\.number), timeout: timeout)
            server.run()
            for client in clients { client.read() }
        }
    }
}

/// A client that speaks bytes.
final class Client {
    private let socket: Descriptor
    private(set) var received: [UInt8] = []
    private(set) var isAtEnd = false

    var number: Int32 { socket.number }
    var text: String { String(decoding: received, as: UTF8.self) }

    init(_ address: ListenAddress) throws {
        let family = address.host.contains(":") ? AF_INET6 : AF_INET
        socket = Descriptor(owning: Glibc.socket(family, Int32(SOCK_STREAM.rawValue), 0))
        if family == AF_INET {
            var to = sockaddr_in()
            to.sin_family = sa_family_t(AF_INET)
            to.sin_port = address.port.bigEndian
            unsafe inet_pton(AF_INET, address.host, &to.sin_addr)
            try connect(&to)
        } else {
            var to = sockaddr_in6()
            to.sin6_family = sa_family_t(AF_INET6)
            to.sin6_port = address.port.bigEndian
            unsafe inet_pton(AF_INET6, address.host, &to.sin6_addr)
            try connect(&to)
        }
        try socket.setNonblocking()
    }

    private func connect<Address>(_ to: inout Address) throws {
        let size = socklen_t(MemoryLayout<Address>.size)
        let code = unsafe withUnsafePointer(to: &to) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(socket.number, $0, size)
            }
        }
        try #require(code == 0)
    }

    /// Sends what the socket takes now.
    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        #expect(try socket.write(bytes[...]) == bytes.count)
    }

    /// Sends bytes as far as the socket takes them.
    func send(bytes: [UInt8]) {
        _ = try? socket.write(bytes[...])
    }

    /// Sends the rest of a long text bit by bit.
    func send(rest: inout ArraySlice<UInt8>) {
        let sent = (try? socket.write(rest.prefix(100_000))) ?? rest.count
        rest = rest.dropFirst(sent)
    }

    func read() {
        while !isAtEnd {
            do {
                guard let bytes = try socket.read(max: 65_536) else { return }
                if bytes.isEmpty { isAtEnd = true }
                received.append(contentsOf: bytes)
            } catch {
                isAtEnd = true  // reset by the server
            }
        }
    }

    func forget() { received = [] }
}
