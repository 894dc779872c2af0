internal import EventLoop
internal import Glibc
internal import Synchronization

/// A request as the server received it.
public struct ReceivedRequest: Sendable {
    /// `PATCH`.
    public var method: String
    /// The path with its query, as it stood in the request line.
    public var target: String
    /// The header lines.
    public var lines: [String]
    /// The body; empty while only the head was read.
    public var body: [UInt8] = []
    /// Which connection it came on, from 0.
    public var connection: Int

    /// The value of a header, nil where it is absent.
    public func header(_ name: String) -> String? {
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts[0].lowercased() == name.lowercased() else { continue }
            return parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
        }
        return nil
    }
}

/// What the server does in answer to a request, in order.
public enum Step: Sendable {
    /// Sends bytes as they are.
    case send(String)
    /// Sends the same text again and again until the client goes.
    case sendForever(String)
    /// Sends a text byte by byte with this pause between two.
    case trickle(String, every: Duration)
    /// Sleeps.
    case pause(Duration)
    /// Says nothing more until the client goes.
    case hang
    /// Closes the connection in order.
    case close
    /// Closes it by a TCP reset.
    case reset

    /// A whole answer with its length.
    public static func answer(_ status: Int, _ body: String = "", headers: [String] = []) -> Step {
        let lines = ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.utf8.count)"] + headers
        return .send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }
}

/// An HTTP/1.1 server on a free port of the loopback that answers by script. Threads: one accepts,
/// one serves each connection; they end with their sockets.
public final class ScriptedServer: Sendable {
    /// Answers a request.
    public typealias Script = @Sendable (ReceivedRequest) -> [Step]

    /// The port.
    public let port: UInt16
    private let listener: Int32
    private let script: Script
    private let head: (@Sendable (ReceivedRequest) -> [Step]?)?
    private let received = Mutex<[ReceivedRequest]>([])

    /// Starts a server.
    ///
    /// - Parameter head: asked when a request's head has come; what it answers is done instead of
    ///   reading the body.
    /// - Parameter script: asked when the whole request has come.
    public init(
        head: (@Sendable (ReceivedRequest) -> [Step]?)? = nil, _ script: @escaping Script
    ) {
        self.script = script
        self.head = head
        SignalDescriptor.ignoreBrokenPipes()
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        (port) = listenOnLoopback(listener)
        detach { [listener, weak self] in
            var number = 0
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self else { return }
                let connection = number
                number += 1
                detach { self.serve(client, connection) }
            }
        }
    }

    deinit { stop() }

    /// Listens no more; what is open is served on.
    public func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// `http://127.0.0.1:<port>`.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// What has been received, in order.
    public var requests: [ReceivedRequest] { received.withLock { $0 } }

    private func serve(_ client: Int32, _ connection: Int) {
        let peer = Peer(client)
        defer { peer.finish() }
        while var request = peer.readHead(connection) {
            if let steps = head?(request) {
                received.withLock { $0.append(request) }
                guard peer.perform(steps) else { return }
                continue
            }
            let length = request.header("content-length").flatMap { Int($0) } ?? 0
            guard let body = peer.readBody(length) else { return }
            request.body = body
            received.withLock { $0.append(request) }
            guard peer.perform(script(request)) else { return }
        }
    }
}

/// One connection, as its thread sees it.
private final class Peer {
    let socket: Int32
    var buffer: [UInt8] = []

    init(_ socket: Int32) { self.socket = socket }

    func finish() { close(socket) }

    func readHead(_ connection: Int) -> ReceivedRequest? {
        let end: [UInt8] = [13, 10, 13, 10]
        var position: Int?
        while true {
            position = buffer.indices.first { buffer[$0...].starts(with: end) }
            if position != nil { break }
            guard fill() else { return nil }
        }
        let text = String(decoding: buffer[..<position!], as: UTF8.self)
        buffer.removeFirst(position! + 4)
        let lines = text.split(separator: "\r\n").map(String.init)
        let words = lines[0].split(separator: " ").map(String.init)
        return ReceivedRequest(
            method: words[0], target: words[1], lines: Array(lines.dropFirst()),
            connection: connection)
    }

    func readBody(_ length: Int) -> [UInt8]? {
        while buffer.count < length { guard fill() else { return nil } }
        defer { buffer.removeFirst(length) }
        return Array(buffer.prefix(length))
    }

    /// Whether more could be read.
    private func fill() -> Bool {
        guard let more = try? Descriptor.read(socket, max: 65_536), !more.isEmpty else {
            return false
        }
        buffer.append(contentsOf: more)
        return true
    }

    /// Whether the connection goes on.
    func perform(_ steps: [Step]) -> Bool {
        for step in steps {
            switch step {
            case .send(let text): guard send(text) else { return false }
            case .sendForever(let text): while send(text) {}
            case .trickle(let text, let pause):
                for byte in text.utf8 {
                    guard (try? Descriptor.writeAll([byte], to: socket)) != nil else {
                        return false
                    }
                    _ = Poll.wait(for: [], timeout: pause)
                }
            case .pause(let time): _ = Poll.wait(for: [], timeout: time)
            case .hang:
                while fill() {}
                return false
            case .close: return false
            case .reset:
                resetOnClose(socket)
                return false
            }
        }
        return true
    }

    private func send(_ text: String) -> Bool {
        (try? Descriptor.writeAll(Array(text.utf8), to: socket)) != nil
    }
}

/// A free port of the loopback that nobody listens on now.
public func unusedPort() -> UInt16 {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    return listenOnLoopback(number)
}

private func listenOnLoopback(_ number: Int32) -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            precondition(unsafe bind(number, pointer, length) == 0)
            precondition(listen(number, 128) == 0)
            precondition(unsafe getsockname(number, pointer, &length) == 0)
        }
    }
    return UInt16(bigEndian: address.sin_port)
}

private func resetOnClose(_ number: Int32) {
    var value = linger(l_onoff: 1, l_linger: 0)
    _ = unsafe setsockopt(
        number, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
}

private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Runs a body on a thread of its own.
private func detach(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread, nil,
        { context in
            unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
            return nil
        }, Unmanaged.passRetained(Work(body)).toOpaque())
    precondition(code == 0)
    pthread_detach(thread)
}
