internal import Demo
internal import EventLoop
internal import HTTPServer
internal import Page
internal import TreeWire

/// What a tree's address answers beside the tree: the page, and in the demo figures and buttons.
final class PageDesk {
    private let page: Page
    private let demo: DemoLine?
    /// When it began, by the monotonic clock: a little before the demo tells anything.
    private let began = Clock.monotonic()
    private var samples: [(number: Int, json: [UInt8])] = []
    private var samplesTold = 0
    /// Until when the database is not there, by the monotonic clock.
    private var brokenUntil: Int64 = 0
    private var isClosing = false
    /// Whether the open streams are to be ended.
    private(set) var cutsStreams = false

    private static let samplesMax = 480
    private static let breakLength: Int64 = 10_000_000_000

    init(_ mode: Page.Mode, demo: DemoLine? = nil) {
        page = Page(mode)
        self.demo = demo
    }

    /// What to sleep on besides.
    var descriptors: [Int32] { demo?.descriptor.map { [$0] } ?? [] }

    /// Takes in what the demo says.
    func turn() {
        cutsStreams = false
        for line in demo?.lines() ?? [] {
            if line == Array(DemoTree.closing.utf8) {
                isClosing = true
                brokenUntil = 0
            } else {
                samplesTold += 1
                samples.append((samplesTold, line))
            }
        }
        if samples.count > Self.samplesMax { samples.removeFirst(samples.count - Self.samplesMax) }
    }

    /// The answer to a request that the tree must not see; nil where it is the tree's.
    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse? {
        if let answer = page.answer(
            method: request.method, target: request.target, accept: request.header("Accept"),
            knownTag: request.header("If-None-Match"))
        {
            return HTTPServerResponse(
                status: answer.status, headers: answer.headers, body: answer.body)
        }
        guard demo != nil else { return nil }
        if let asked = DemoRequest(
            method: request.method, target: request.target, header: request.header,
            body: request.body)
        {
            return answer(asked)
        }
        guard Clock.monotonic() < brokenUntil else { return nil }
        return json(503, errorBody("the demo has broken the database; it will be back"))
    }

    private func answer(_ request: DemoRequest) -> HTTPServerResponse {
        switch request {
        case .refused(let status, let reason): return json(status, errorBody(reason))
        case .figures(let after): return figures(after: after)
        case .control(let control):
            guard !isClosing else { return json(409, errorBody("the demo is ending")) }
            if case .regenerate(let conversation) = control,
                !DemoTree.hasTold(
                    Array(conversation.utf8), within: Clock.monotonic() - began)
            {
                return json(404, errorBody("the demo has told no conversation of this id"))
            }
            if control == .breakDatabase {
                brokenUntil = Clock.monotonic() + Self.breakLength
                cutsStreams = true
            }
            demo?.tell(control.line)
            return json(202, Array("{}".utf8))
        }
    }

    private func figures(after: Int) -> HTTPServerResponse {
        let left = max(0, brokenUntil - Clock.monotonic()) / 1_000_000
        let new = samples.filter { $0.number > after }.map(\.json)
        let head = "{\"last\":\(samplesTold),\"broken_ms\":\(left),\"samples\":["
        return json(200, Array(head.utf8) + new.joined(separator: ",".utf8) + "]}".utf8)
    }

    private func json(_ status: Int, _ body: [UInt8]) -> HTTPServerResponse {
        HTTPServerResponse(
            status: status,
            headers: [
                (name: "Content-Type", value: "application/json; charset=utf-8"),
                (name: "Cache-Control", value: "no-store"),
                (name: "X-Content-Type-Options", value: "nosniff"),
            ], body: body)
    }
}
