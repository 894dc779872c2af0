internal import EventLoop
internal import JSON

/// Broker, tree and bridge: processes that talk over real sockets. A bridge that dies is started
/// again, as systemd would.
final class Parts {
    /// `host:port` of the broker, once it is there.
    private(set) var broker: String?
    /// Where the tree is, once it is there: `http://127.0.0.1:9000`.
    private(set) var tree: String?
    /// Where the bridge tells of itself, while it does: `http://127.0.0.1:40123`.
    private(set) var bridge: String?
    /// How often the bridge was started again.
    private(set) var restarts = 0
    /// What was pressed on the tree's page and not taken yet.
    private var buttons: [DemoTree.Button] = []

    private let brokerPart: Part
    private let treePart: Part
    private var bridgePart: Part?
    private var shortLives = 0
    /// Whether the bridge was killed at a reader's wish.
    private var isKilled = false
    private let parser = JSONParser()

    /// A bridge that ends within so many nanoseconds has not run.
    private static let shortLife: Int64 = 2_000_000_000
    private static let shortLivesMax = 3

    /// Starts broker and tree; the bridge follows when both are there.
    init(listen: ListenAddress) throws(DemoFailure) {
        brokerPart = try Part("broker", [DemoBroker.command])
        treePart = try Part("tree", [DemoTree.command, "\(listen)"])
    }

    /// What to sleep on.
    var descriptors: [Int32] {
        brokerPart.descriptors + treePart.descriptors + (bridgePart?.descriptors ?? [])
    }

    /// The bridge's process id.
    var bridgePID: Int32? { bridgePart?.pid }

    /// Takes in what the parts have said, and sees to it that they run.
    ///
    /// - Returns: what there is to tell.
    func turn() throws(DemoFailure) -> [String] {
        for line in brokerPart.lines() where line.hasPrefix("bootstrap ") {
            broker = String(line.dropFirst("bootstrap ".count))
        }
        for line in treePart.lines() {
            if tree == nil { tree = Self.address(in: line) }
            if let button = DemoTree.Button(line) { buttons.append(button) }
        }
        try check()
        if bridgePart == nil, let broker, let tree {
            try startBridge(broker: broker, tree: tree)
        }
        return try watchBridge()
    }

    /// What was pressed on the tree's page since the last time.
    func takeButtons() -> [DemoTree.Button] {
        defer { buttons = [] }
        return buttons
    }

    /// Tells the tree's process a line.
    func tellTree(_ line: String) { treePart.tell(line) }

    /// Kills the bridge, where it runs; it is started again.
    ///
    /// - Returns: whether it ran.
    func killBridge() -> Bool {
        guard bridge != nil, let bridgePart else { return false }
        // It has run: its life was not short by its own fault.
        isKilled = true
        bridgePart.kill()
        return true
    }

    /// Ends all of them; the bridge first, so that it can leave politely.
    func stop() {
        bridgePart?.stop(within: .seconds(2))
        treePart.stop(within: .seconds(1))
        brokerPart.stop(within: .seconds(1))
    }

    private func check() throws(DemoFailure) {
        if let end = brokerPart.end() { throw brokerPart.failure(.wrong, end) }
        guard let end = treePart.end() else { return }
        let failure = treePart.failure(.wrong, end)
        let prefix = "firebridge: tree: "
        // It has never listened: its own words say why.
        guard tree == nil, let words = treePart.lastLines.first(where: { $0.hasPrefix(prefix) })
        else { throw failure }
        throw DemoFailure(
            .unreachable,
            "\(words.dropFirst(prefix.count)) (--listen 127.0.0.1:0 takes a free port)")
    }

    private func startBridge(broker: String, tree: String) throws(DemoFailure) {
        let file: Descriptor
        do throws(SystemError) {
            file = try Descriptor.memoryFile(
                BridgeSettings.yaml(broker: broker, tree: tree), label: "firebridge.yaml")
        } catch {
            throw DemoFailure(.unreachable, "cannot write the bridge's configuration: \(error)")
        }
        // The configuration has no name that could be left behind.
        bridgePart = try Part("bridge", ["run", "--config", "/proc/self/fd/0"], file: file)
    }

    private func watchBridge() throws(DemoFailure) -> [String] {
        guard let part = bridgePart else { return [] }
        var notes: [String] = []
        for line in part.lines() {
            guard bridge == nil, let status = status(in: line) else { continue }
            bridge = status
            notes.append("bridge: process \(part.pid), \(status)/status")
        }
        guard let end = part.end() else { return notes }
        let isShort = !isKilled && Clock.monotonic() - part.startedAt < Self.shortLife
        isKilled = false
        shortLives = isShort ? shortLives + 1 : 0
        guard shortLives < Self.shortLivesMax else { throw part.failure(.wrong, end) }
        bridge = nil
        bridgePart = nil
        restarts += 1
        return notes + ["the bridge has ended (\(end)) and is started again"]
    }

    /// `http://host:port` of the line in which the tree says where it listens. An address that
    /// stands for all of the machine's becomes one to go to.
    private static func address(in line: String) -> String? {
        guard line.contains("listening on http://"),
            let authority = line.split(separator: "/").dropFirst().first,
            var address = ListenAddress(String(authority))
        else { return nil }
        if address.host == "0.0.0.0" { address.host = "127.0.0.1" }
        if address.host == "::" { address.host = "::1" }
        return "http://\(address)"
    }

    /// What the bridge's log says of where it tells of itself.
    private func status(in line: String) -> String? {
        guard let tape = try? parser.parse(Array(line.utf8)),
            let event = tape.member(Array("event".utf8), of: 0),
            tape.isText(event, Array("started".utf8)),
            let status = tape.member(Array("status".utf8), of: 0)
        else { return nil }
        return String(decoding: tape.text(status), as: UTF8.self)
    }
}

/// The demo's bridge: the defaults, with quick answers from the broker, an early look at who has
/// died, and short waits for a database that was broken.
enum BridgeSettings {
    static func yaml(broker: String, tree: String) -> [UInt8] {
        Array(
            """
            kafka:
              brokers: [\(broker)]
              group: firebridge
              properties:
                fetch.wait.max.ms: 5
                session.timeout.ms: 4000
                heartbeat.interval.ms: 500
            database:
              url: \(tree)/?ns=demo
              fence: true
              credentials:
                type: emulator
            delivery:
              retry_max: 1s
            streams:
              keep: 0
            server:
              listen: 127.0.0.1:0
            log:
              format: json

            """.utf8)
    }
}
