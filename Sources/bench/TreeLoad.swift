internal import EventLoop
internal import Glibc

/// Clients of a tree, or of any server on this machine that answers with 204: each connection has
/// one request on its way.
@safe
enum TreeLoad {
    /// What is asked.
    enum Kind: String {
        /// PATCHes of 500 chunks.
        case patch
        /// PUTs of one small value.
        case put
        /// GETs, for a server that answers the same to all.
        case fixed
    }

    static func run(_ kind: Kind, port: Int, requests count: Int, connections: Int) {
        let requests = (0..<count).map { request(kind, $0) }
        var clients = (0..<connections).map { _ in Client(port) }
        var starts = [Int64](repeating: 0, count: connections)
        var seconds: [Double] = []
        seconds.reserveCapacity(count)
        let group = Group(clients)
        var next = 0
        let began = Clock.monotonic()
        let before = Output.cpuSeconds
        for index in clients.indices where next < count {
            starts[index] = Clock.monotonic()
            clients[index].send(requests[next])
            next += 1
        }
        while seconds.count < count {
            for index in group.ready() where clients[index].hasAnswer() {
                let now = Clock.monotonic()
                seconds.append(Double(now - starts[index]) / 1e9)
                guard next < count else { continue }
                starts[index] = now
                clients[index].send(requests[next])
                next += 1
            }
        }
        let elapsed = Double(Clock.monotonic() - began) / 1e9
        Output.say(
            """
            {"requests": \(count), "seconds": \(elapsed), "cpu_s": \(Output.cpuSeconds - before), \
            \(percentiles(&seconds))}
            """)
    }

    /// Opens event streams, and then writes one value after the other: how long until each stream
    /// has it.
    static func fanOut(port: Int, streams count: Int, rounds: Int) {
        var streams = (0..<count).map { _ in Client(port) }
        let group = Group(streams)
        let open = Array(
            """
            GET /fan.json?ns=demo HTTP/1.1\r\nHost: 127.0.0.1\r\n\
            Accept: text/event-stream\r\n\r\n
            """.utf8)
        for index in streams.indices { streams[index].send(open) }
        var events = [Int](repeating: 0, count: count)
        func wait(until total: Int, _ seen: () -> Void) {
            var missing = events.count { $0 < total }
            while missing > 0 {
                for index in group.ready() {
                    let before = events[index]
                    events[index] += streams[index].events()
                    if before < total, events[index] >= total {
                        missing -= 1
                        seen()
                    }
                }
            }
        }
        wait(until: 1) {}
        var writer = Client(port)
        let answers = Group([writer])
        var seconds: [Double] = []
        for round in 1...rounds {
            let began = Clock.monotonic()
            writer.send(request(.put, round, path: "fan"))
            wait(until: round + 1) { seconds.append(Double(Clock.monotonic() - began) / 1e9) }
            while !answers.ready().contains(where: { _ in writer.hasAnswer() }) {}
        }
        Output.say("{\"streams\": \(count), \(percentiles(&seconds))}")
    }

    private static func percentiles(_ seconds: inout [Double]) -> String {
        seconds.sort()
        func at(_ share: Double) -> Double {
            seconds[min(seconds.count - 1, Int(Double(seconds.count) * share))] * 1000
        }
        return "\"p50_ms\": \(at(0.5)), \"p99_ms\": \(at(0.99)), \"max_ms\": \(at(1))"
    }

    private static func request(_ kind: Kind, _ number: Int, path: String? = nil) -> [UInt8] {
        let target: String
        var body: [UInt8] = []
        switch kind {
        case .patch:
            target = "PATCH \(TreeWorkload.patchTarget)"
            body = TreeWorkload.patchBody(number)
        case .put:
            let place = path ?? "small/\(number % 64)/\(number % 1000)"
            target = "PUT /\(place).json?ns=demo&print=silent"
            body = Array("{\"n\":\(number),\"at\":\"2026-04-23T22:43:44.700Z\"}".utf8)
        case .fixed: return Array("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        }
        let head = "\(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }
}

/// A connection that trusts its server.
@safe
private struct Client {
    let descriptor: Descriptor
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var tail: [UInt8] = []

    init(_ port: Int) {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard number >= 0 else { Options.fail("no socket: errno \(errno)") }
        descriptor = Descriptor(owning: number)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var one: Int32 = 1
        unsafe setsockopt(
            number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { Options.fail("no connection to port \(port): errno \(errno)") }
    }

    func send(_ bytes: [UInt8]) {
        do {
            try Descriptor.writeAll(bytes, to: descriptor.number)
        } catch {
            Options.fail("\(error)")
        }
    }

    private mutating func receive() -> ArraySlice<UInt8> {
        let got = unsafe recv(descriptor.number, &buffer, buffer.count, 0)
        guard got > 0 else { Options.fail("the server has closed the connection") }
        return buffer[..<got]
    }

    /// Takes in what has come: whether it ends an answer without content.
    mutating func hasAnswer() -> Bool {
        let isFirst = tail.isEmpty
        let got = receive()
        if isFirst, !got.dropFirst(9).starts(with: "204".utf8) {
            Options.fail("expected 204, found \(String(decoding: got.prefix(40), as: UTF8.self))")
        }
        tail = Array((tail + got.suffix(4)).suffix(4))
        guard tail.elementsEqual("\r\n\r\n".utf8) else { return false }
        tail = []
        return true
    }

    /// Takes in what has come: how many events end in it.
    mutating func events() -> Int {
        let text = tail + receive()
        tail = Array(text.suffix(1))
        var count = 0
        for index in 1..<max(1, text.count)
        where text[index] == UInt8(ascii: "\n") && text[index - 1] == UInt8(ascii: "\n") {
            count += 1
        }
        return count
    }
}

/// Which of several connections have something to be read.
private struct Group {
    private let descriptors: [Int32]

    init(_ clients: [Client]) { descriptors = clients.map(\.descriptor.number) }

    func ready() -> [Int] {
        let ready = Poll.wait(for: descriptors, timeout: .seconds(30))
        let indices = ready.indices.filter { ready[$0] }
        guard !indices.isEmpty else { Options.fail("nothing came for half a minute") }
        return indices
    }
}
