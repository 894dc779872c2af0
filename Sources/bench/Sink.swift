internal import EventLoop
internal import Glibc

/// A database that keeps nothing: answers every GET with `null` and every write with 204, at once
/// or after a delay that holds up nobody else, and counts the chunks that it was given.
///
/// Prints `{"port": P}` when it listens and, when the last of `records` chunks is acknowledged, a
/// line with what it saw; then it goes on answering until it is ended. What it measures begins with
/// the first request about data: a stream's state that is read, or a write with a chunk. Several
/// such clients may follow each other: the count begins anew after each line.
@safe
final class Sink {
    private let recordsMax: Int
    private let delay: Int64
    private let listener: Descriptor
    private var connections: [Int32: Connection] = [:]
    /// Answers that are due later, in order of time: the delay is one for all.
    private var waiting: [Answer] = []
    private var seen = Seen()

    /// What is counted of one run.
    private struct Seen {
        var began: Int64?
        var cpuBefore = 0.0
        var records = 0
        var patches = 0
        var reads = 0
        var bytes = 0
    }

    private struct Answer {
        var due: Int64
        var connection: Connection
        var bytes: [UInt8]
        var records: Int
    }

    init(records: Int, delay: Duration) throws {
        recordsMax = records
        self.delay =
            delay.components.seconds * 1_000_000_000
            + delay.components.attoseconds / 1_000_000_000
        listener = Descriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard unsafe bind(listener.number, pointer, size) == 0 else { return Int32(-1) }
                return unsafe getsockname(listener.number, pointer, &size)
            }
        }
        guard code == 0, listen(listener.number, 64) == 0 else {
            Options.fail("no socket to listen on: errno \(errno)")
        }
        try listener.setNonblocking()
        Output.say(#"{"port": \#(UInt16(bigEndian: address.sin_port))}"#)
    }

    func serve() throws -> Never {
        while true {
            let all = Array(connections.values)
            let timeout = waiting.first.map {
                Duration.nanoseconds(max(0, $0.due - Clock.monotonic()))
            }
            let ready = Poll.wait(
                for: [listener.number] + all.map(\.descriptor.number), timeout: timeout)
            if ready[0] { try accept() }
            for (connection, isReady) in zip(all, ready.dropFirst()) where isReady {
                if !connection.receive() { connections[connection.descriptor.number] = nil }
                while let request = connection.nextRequest() { take(request, from: connection) }
            }
            answerWhatIsDue()
        }
    }

    private func accept() throws {
        let number = Glibc.accept(listener.number, nil, nil)
        guard number >= 0 else { return }
        var yes: Int32 = 1
        unsafe setsockopt(
            number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        let descriptor = Descriptor(owning: number)
        try descriptor.setNonblocking()
        connections[number] = Connection(descriptor)
    }

    private func take(_ request: Connection.Request, from connection: Connection) {
        let now = Clock.monotonic()
        let isData = request.chunks > 0 || request.isAboutStreams
        if isData, seen.began == nil {
            seen.began = now
            seen.cpuBefore = Output.cpuSeconds
        }
        if request.isRead {
            seen.reads += 1
        } else if request.chunks > 0 {
            seen.patches += 1
            seen.bytes += request.bodyBytes
        }
        let date = HTTPDateText.now
        let text =
            request.isRead
            ? "HTTP/1.1 200 OK\r\nDate: \(date)\r\nContent-Type: application/json\r\n"
                + "Content-Length: 4\r\n\r\nnull"
            : "HTTP/1.1 204 No Content\r\nDate: \(date)\r\n\r\n"
        waiting.append(
            Answer(
                due: now + delay, connection: connection, bytes: Array(text.utf8),
                records: request.chunks))
    }

    private func answerWhatIsDue() {
        let now = Clock.monotonic()
        var count = 0
        while count < waiting.count, waiting[count].due <= now {
            let answer = waiting[count]
            // A client that has gone is told nothing.
            _ = try? answer.connection.descriptor.write(answer.bytes[...])
            seen.records += answer.records
            count += 1
            if seen.records >= recordsMax { report(at: Clock.monotonic()) }
        }
        waiting.removeFirst(count)
    }

    private func report(at end: Int64) {
        let seconds = Double(end - (seen.began ?? end)) / 1e9
        Output.say(
            """
            {"records": \(seen.records), "seconds": \(seconds), "patches": \(seen.patches), \
            "reads": \(seen.reads), "bytes": \(seen.bytes), \
            "cpu_s": \(Output.cpuSeconds - seen.cpuBefore)}
            """)
        seen = Seen()
    }
}

/// The Date header, which a bridge takes for the database's clock.
private enum HTTPDateText {
    static var now: String {
        var seconds = time_t(0)
        unsafe time(&seconds)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            _ = unsafe strftime(buffer.baseAddress!, 64, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return unsafe String(cString: buffer.baseAddress!)
        }
    }
}
