internal import EventLoop
internal import HTTPServer
internal import JSON
internal import TreeFaults

/// `firebridge tree --fault FILE`: stands before the tree and does what the rules of the file say.
/// The file is read again at SIGHUP and when it has changed.
final class FaultDesk {
    private let path: String
    private let parser = JSONParser()
    private var engine: FaultEngine
    private var stamp: File.Stamp?
    private var lookedAt: Int64
    /// Answers that come slowly.
    private var slow: [SlowAnswer] = []

    private static let bytesMax = 1 << 20
    /// How often the file is looked at, in milliseconds.
    private static let interval: Int64 = 100

    /// - Throws: why the file cannot be used.
    init(_ path: String) throws(TreeGuard.Failure) {
        self.path = path
        lookedAt = Self.now
        stamp = File.stamp(path)
        engine = FaultEngine(at: Self.now)
        engine = FaultEngine(try read(), at: Self.now)
    }

    private static var now: Int64 { Clock.monotonic() / 1_000_000 }

    private func read() throws(TreeGuard.Failure) -> FaultPlan {
        do {
            return try FaultPlan(
                parsing: File.read(path, bytesMax: Self.bytesMax), with: parser)
        } catch {
            throw TreeGuard.Failure(lines: ["--fault: \(path): \(error)"])
        }
    }

    /// Begins anew with what the file says now; one that cannot be used is told, and the rules
    /// before it stay.
    func reload() {
        stamp = File.stamp(path)
        do throws(TreeGuard.Failure) {
            engine = FaultEngine(try read(), at: Self.now)
        } catch {
            error.tell()
        }
    }

    /// When `turn` has something to do.
    var nextTurn: Duration? {
        let due = slow.map(\.due).min() ?? .max
        return .milliseconds(max(0, min(due, lookedAt + Self.interval) - Self.now))
    }

    /// Looks at the file, and goes on with slow answers.
    func turn() {
        let now = Self.now
        if now >= lookedAt + Self.interval {
            lookedAt = now
            if let found = File.stamp(path), found != stamp { reload() }
        }
        for answer in slow { answer.turn(at: now) }
        slow.removeAll { $0.isOver }
    }

    /// What a request is answered with.
    ///
    /// - Parameter tree: asks the tree.
    func answer(
        _ request: HTTPServerRequest, tree: @escaping () -> HTTPServerResponse
    ) -> HTTPServerResponse {
        if request.method == "GET", request.path == "/.faults.json" { return figures() }
        let isStream =
            request.header("Accept")?.contains("text/event-stream") == true
            || request.header("Upgrade") != nil
        let action = engine.verdict(
            for: FaultRequest(
                method: request.header("X-HTTP-Method-Override") ?? request.method,
                target: request.target, agent: request.header("User-Agent") ?? "",
                isStream: isStream, body: request.body), at: Self.now)
        guard action.delay > 0 else { return perform(action, tree) }
        return later(action.delay) { self.perform(action, tree) }
    }

    private func perform(
        _ action: FaultAction, _ tree: () -> HTTPServerResponse
    ) -> HTTPServerResponse {
        let cut = HTTPServerResponse(status: 503, body: .cut)
        if action.cut == .before { return cut }
        var answer = action.reachesTree ? tree() : cut
        if let reply = action.reply {
            let json = (name: "Content-Type", value: "application/json; charset=utf-8")
            let hasType = reply.headers.contains { $0.name.lowercased() == "content-type" }
            answer.status = reply.status
            answer.headers = reply.headers + (hasType ? [] : [json])
            answer.body = .bytes(reply.body)
        }
        if action.cut == .after { answer.body = .cut }
        // An answer without content has nothing that could be slow or be cut in the middle.
        if case .bytes(let bytes) = answer.body, !bytes.isEmpty {
            if action.cut == .inside {
                let stream = HTTPServerStream(first: Array(bytes.prefix(bytes.count / 2)))
                stream.cutOff()
                answer.body = .stream(stream)
            } else if let pace = action.bytesPerSecond {
                let slowAnswer = SlowAnswer(bytes, bytesPerSecond: pace, at: Self.now)
                slow.append(slowAnswer)
                answer.body = .stream(slowAnswer.stream)
            }
        } else if action.cut == .inside {
            answer.body = .cut
        }
        let whole = answer
        return action.hold > 0 ? later(action.hold) { whole } : whole
    }

    private func later(
        _ milliseconds: Int64, _ make: @escaping () -> HTTPServerResponse
    ) -> HTTPServerResponse {
        HTTPServerResponse(status: 503, body: .later(milliseconds: milliseconds, make))
    }

    /// How often each rule has met a request since the file was read.
    private func figures() -> HTTPServerResponse {
        let head = "{\"seed\":\(engine.plan.seed),\"requests\":\(engine.requests),\"rules\":["
        var body = Array(head.utf8)
        for (index, (name, count)) in engine.hits.enumerated() {
            body += Array("\(index == 0 ? "" : ","){\"name\":".utf8)
            body.appendJSONString(name)
            body += Array(",\"hits\":\(count)}".utf8)
        }
        return HTTPServerResponse(
            status: 200, headers: [(name: "Content-Type", value: "application/json")],
            body: body + Array("]}\n".utf8))
    }
}

/// An answer that comes at a pace.
private final class SlowAnswer {
    let stream: HTTPServerStream
    private let bytes: [UInt8]
    private let bytesPerSecond: Int
    private let began: Int64
    private var sent = 0

    init(_ bytes: [UInt8], bytesPerSecond: Int, at now: Int64) {
        self.bytes = bytes
        self.bytesPerSecond = bytesPerSecond
        began = now
        stream = HTTPServerStream()
    }

    /// When the next byte is due, in milliseconds.
    var due: Int64 { began + Int64(sent + 1) * 1000 / Int64(bytesPerSecond) }
    var isOver: Bool { !stream.isOpen || sent == bytes.count }

    func turn(at now: Int64) {
        let count = min(bytes.count, Int(now - began) * bytesPerSecond / 1000)
        if count > sent { stream.send(Array(bytes[sent..<count])) }
        sent = max(sent, count)
        if sent == bytes.count { stream.end() }
    }
}
