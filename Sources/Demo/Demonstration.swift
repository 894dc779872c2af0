public import EventLoop
internal import HTTPClient
internal import Kafka

/// `firebridge demo`: recorded conversations told at their own pace to a broker, mirrored by a
/// bridge into a tree, looked at there, and at the end compared with what the log demands.
public final class Demonstration {
    private let length: Duration?
    private let signals: SignalDescriptor
    let http: HTTPClient
    let parts: Parts
    let probe = Probe()
    private(set) var audience = Audience()
    private var audienceID: Int?
    /// When to listen again, and to tell the page of the moment, by the monotonic clock.
    private var listenAt: Int64 = 0
    private var publishAt: Int64 = 0
    private(set) var storyteller: Storyteller?
    private var display: (any Display)?
    /// What was said before there was a display.
    private var notes: [String] = []
    private(set) var isInterrupted = false
    /// The request for the whole tree, and what became of it.
    private var question: (id: Int, answer: HTTPEvent?)?

    private static let listenPause: Int64 = 200_000_000
    private static let publishInterval: Int64 = 250_000_000
    private static let startLimit: Int64 = 30_000_000_000
    private static let drainLimit: Int64 = 30_000_000_000
    /// Who interrupts does not want to wait for a bridge that has to join its group again.
    private static let interruptedDrainLimit: Int64 = 3_000_000_000

    /// Starts broker and tree.
    ///
    /// - Parameter listen: where the tree listens; port 0 for a free one.
    /// - Parameter length: how long to play, from the first record; nil until a signal.
    public init(listen: ListenAddress, length: Duration?) throws(DemoFailure) {
        self.length = length
        do throws(SystemError) {
            // First of all: threads that start later must not take the signals.
            signals = try SignalDescriptor([.interrupt, .terminate, .hangUp])
        } catch {
            throw DemoFailure(.wrong, "\(error)")
        }
        ThisProcess.limitMallocArenas()
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        http = HTTPClient(options)
        parts = try Parts(listen: listen)
    }

    /// Plays until the time is up or a signal comes, compares, and ends all processes.
    ///
    /// - Throws: what went wrong; where the tree is not what the log demands, the first
    ///   differences.
    public func run() throws(DemoFailure) {
        defer { parts.stop() }
        defer { display?.end() }
        guard let producer = try prepare() else { return say("stopped before the first record") }
        let storyteller = Storyteller(producer, .embedded())
        self.storyteller = storyteller
        try play(storyteller)
        let isDrained = try drain(storyteller)
        let verdict = try judge(storyteller, isDrained: isDrained)
        display?.end()
        for line in verdict.lines { say(line) }
        if let failure = verdict.failure { throw failure }
    }

    // MARK: Acts

    /// Waits for all parts.
    ///
    /// - Returns: nil where a signal ends it.
    private func prepare() throws(DemoFailure) -> Producer? {
        var producer: Producer?
        let limit = Clock.monotonic() + Self.startLimit
        while probe.status?.reasons.isEmpty != true, !isInterrupted {
            try turn(within: .milliseconds(100))
            if display == nil, let tree = parts.tree { open(tree) }
            if producer == nil, let broker = parts.broker {
                producer = try Storyteller.producer(broker: broker)
            }
            guard Clock.monotonic() < limit else {
                let reasons = probe.status?.reasons.joined(separator: "; ") ?? "it does not answer"
                throw DemoFailure(.unreachable, "the bridge is not ready after 30 s: \(reasons)")
            }
        }
        return isInterrupted ? nil : producer
    }

    private func open(_ tree: String) {
        let page = "\(tree)/?ns=demo"
        if Terminal.size(of: 1) != nil, Environment.value("TERM") ?? "dumb" != "dumb" {
            let ending =
                length.map { "stops after \($0.components.seconds) s" } ?? "Ctrl-C stops it"
            display = LiveDisplay(
                title: [page, "firebridge demo, \(ending)"],
                isColored: (Environment.value("NO_COLOR") ?? "").isEmpty)
        } else {
            display = LineDisplay()
            say("the tree is at \(page)")
        }
        for note in notes { say(note) }
    }

    private func play(_ storyteller: Storyteller) throws(DemoFailure) {
        let end = length.map { storyteller.beginning + $0.nanoseconds } ?? .max
        while !isInterrupted {
            let now = Clock.monotonic()
            guard now < end else { return }
            let next = storyteller.tell(until: now) { audience.produced($0, at: now) }
            try turn(within: .nanoseconds(max(0, min(next, end) - Clock.monotonic())))
        }
    }

    /// Waits until the bridge has committed all that was produced; a signal ends the waiting.
    ///
    /// - Returns: whether it has.
    private func drain(_ storyteller: Storyteller) throws(DemoFailure) -> Bool {
        storyteller.flush(within: .seconds(5))
        parts.tellTree(DemoTree.closing)
        probe.interval = 50_000_000
        let wasInterrupted = isInterrupted
        isInterrupted = false
        defer { isInterrupted = isInterrupted || wasInterrupted }
        let limit =
            Clock.monotonic() + (wasInterrupted ? Self.interruptedDrainLimit : Self.drainLimit)
        while Clock.monotonic() < limit, !isInterrupted {
            if let status = probe.status, status.lag == 0,
                status.committed == Int64(storyteller.records)
            {
                return true
            }
            try turn(within: .milliseconds(20))
        }
        return false
    }

    /// The answer to one more request, while everything else goes on.
    func ask(_ request: HTTPRequest) throws(DemoFailure) -> HTTPEvent {
        question = (http.start(request), nil)
        while true {
            if let answer = question?.answer { return answer }
            try turn(within: .milliseconds(100))
        }
    }

    // MARK: One turn

    /// Sleeps until something happens, at most so long, and takes it in.
    private func turn(within limit: Duration) throws(DemoFailure) {
        let publishDue = storyteller == nil ? nil : publishAt
        let due = [probe.deadline, display?.dueAt, publishDue].compactMap(\.self).min() ?? .max
        let wait = min(limit, .nanoseconds(max(0, due - Clock.monotonic())))
        let kafka = storyteller.map { [$0.descriptor] } ?? []
        _ = http.wait(for: [signals.number] + kafka + parts.descriptors, timeout: wait)
        while signals.next() != nil { isInterrupted = true }
        for note in try parts.turn() { say(note) }
        for button in parts.takeButtons() { obey(button, at: Clock.monotonic()) }
        while let event = http.nextEvent() { take(event, at: Clock.monotonic()) }
        storyteller?.turn()
        probe.turn(parts.bridge, http, at: Clock.monotonic())
        listen(at: Clock.monotonic())
        show(at: Clock.monotonic())
        publish(at: Clock.monotonic())
    }

    /// Listens to the tree as any reader would.
    private func listen(at now: Int64) {
        guard audienceID == nil, let tree = parts.tree, now >= listenAt else { return }
        listenAt = now + Self.listenPause
        audience.reconnect()
        audienceID = http.start(
            HTTPRequest(
                "GET", "\(tree)/streaming.json?ns=demo",
                headers: [("Accept", "text/event-stream")], timeout: nil,
                silenceMax: .seconds(75), isStream: true))
    }

    private func take(_ event: HTTPEvent, at now: Int64) {
        if event.id == question?.id { question?.answer = event }
        guard event.id == audienceID else { return probe.take(event, at: now) }
        switch event {
        case .head: break
        case .data(let id, let bytes):
            guard !audience.hear(bytes, at: now) else { return }
            http.cancel(id)
            audienceID = nil
        case .response, .failed: audienceID = nil
        }
    }

    private func show(at now: Int64) {
        guard let display, let figures = figures(at: now, due: display.dueAt) else { return }
        display.show(figures, audience.conversations, at: now)
        if display.isUnseen { isInterrupted = true }
    }

    /// Tells the page.
    private func publish(at now: Int64) {
        guard let figures = figures(at: now, due: publishAt) else { return }
        publishAt = now + Self.publishInterval
        parts.tellTree(figures.json(at: Clock.now().wall))
    }

    private func figures(at now: Int64, due: Int64) -> Figures? {
        guard let storyteller, now >= due else { return nil }
        let recent = audience.recent(at: now)
        return Figures(
            seconds: (now - storyteller.beginning) / 1_000_000_000, active: audience.active,
            finished: audience.finished, tokenRate: recent.rate, requestRate: probe.requestRate,
            lag: probe.status?.lag, median: percentile(50, of: recent.latencies),
            tail: percentile(99, of: recent.latencies), visible: audience.latencies.count,
            outstanding: audience.outstanding, restarts: parts.restarts,
            isBridgeThere: probe.status?.reasons.isEmpty == true)
    }

    /// Does what was pressed on the page.
    private func obey(_ button: DemoTree.Button, at now: Int64) {
        switch button {
        case .breakDatabase: say("the database is broken for 10 s, at a reader's wish")
        case .killBridge:
            if parts.killBridge() { say("the bridge is killed, at a reader's wish") }
        case .regenerate(let conversation):
            guard let storyteller, storyteller.regenerate(conversation, at: now) else { return }
            audience.forget(conversation)
            let id = String(decoding: conversation, as: UTF8.self).harmless
            say("\(id) is told once more, at a reader's wish")
        }
    }

    private func say(_ line: String) {
        guard let display else { return notes.append(line) }
        display.say(line)
    }
}

extension Duration {
    /// Bounded to about 146 years, so that a time by the clock can be added.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max / 2 : min(whole + attoseconds / 1_000_000_000, .max / 2)
    }
}
