import BridgeCore
import EventLoop
import Glibc
import Oracle
import TestSupport
import Testing

/// A broker, a tree and a log of one test's own; bridges are started from it.
final class World {
    let broker: Broker
    let directory: String
    let name = uniqueName("it")
    let log: Log
    let tree: TreeProcess
    private(set) var bridges: [BridgeProcess] = []

    /// The topics of the default mappings.
    static let defaults = [LogRecord.chunks, LogRecord.runs, LogRecord.messages]

    /// Starts what is not there yet.
    ///
    /// - Parameter partitions: of the three default topics; nil creates none.
    /// - Parameter letters: whether their topic of dead letters is there too.
    /// - Parameter guardedBy: what refuses an overtaken bridge.
    /// - Parameter slowedBy: a rule of the tree's faults.
    /// - Parameter broker: the one of all tests, unless a test troubles its own.
    init(
        partitions: Int? = 4, letters: Bool = true,
        guardedBy guardian: TreeProcess.Guardian = .fence, slowedBy rule: String? = nil,
        on broker: Broker? = nil
    ) throws {
        guard let broker = unsafe broker ?? Broker.shared else {
            throw SetupFailure("no broker could be started")
        }
        self.broker = broker
        directory = "/tmp/firebridge-\(name)"
        guard unsafe mkdir(directory, 0o700) == 0 else { throw SetupFailure("no \(directory)") }
        log = try Log(broker, prefix: name)
        var flags: [String] = []
        if let rule {
            flags = ["--fault", "\(directory)/faults.json"]
            try File.write(flags[1], Array("{\"rules\": [\(rule)]}".utf8))
        }
        tree = try TreeProcess(
            in: directory, namespace: name, guardedBy: guardian, flags: flags)
        switch (partitions, broker) {
        case (nil, _): break
        case (4, _): try touch(Self.defaults + (letters ? ["dead-letters"] : []))
        case (let count?, .real(let kafka)):
            try kafka.createTopics(Self.defaults.map(log.topic), partitions: count)
        case (let count?, .mock):
            for topic in Self.defaults { try create(topic, partitions: count) }
        }
        if partitions ?? 4 != 4, letters { try touch(["dead-letters"]) }
    }

    deinit {
        bridges = []
        tree.child.process.send(.kill)
        guard Environment.value("FIREBRIDGE_KEEP") == nil else { return }
        _ = shell("rm -rf '\(directory)'")
    }

    func create(_ topic: String, partitions: Int, config: String? = nil) throws {
        try broker.createTopic(log.topic(topic), partitions: partitions, config: config)
    }

    /// Has the broker create topics with its default of four partitions, which needs no tool.
    func touch(_ topics: [String]) throws {
        let names = topics.map(log.topic)
        log.touch(names)
        let offsets = try offsets(topics: topics)
        try eventually("the broker creates \(names)") {
            try offsets.counts().values.allSatisfy { $0 > 0 }
        }
    }

    /// A configuration for this world.
    func settings(group: String? = nil, change: (inout Settings) -> Void = { _ in }) -> Settings {
        var settings = Settings(
            brokers: broker.bootstrap, prefix: name, group: group ?? name, url: tree.url)
        change(&settings)
        return settings
    }

    func startBridge(_ settings: Settings? = nil) throws -> BridgeProcess {
        let bridge = try BridgeProcess(
            settings ?? self.settings(), in: directory, name: "bridge\(bridges.count + 1)")
        bridges.append(bridge)
        return bridge
    }

    /// Runs a command with a configuration to its end.
    func command(
        _ arguments: [String], _ settings: Settings? = nil, within limit: Duration = .seconds(120)
    ) throws -> (exit: Subprocess.Exit, lines: [String]) {
        let file = "\(directory)/\(uniqueName("command")).yaml"
        try File.write(file, Array((settings ?? self.settings()).yaml.utf8))
        let child = try Child(
            arguments[0], [arguments[0], "--config", file] + arguments.dropFirst(), in: directory)
        return (try child.exit(within: limit), child.lines)
    }

    /// Settings of an instance whose restart takes its place at once, where the broker knows that.
    func statically(_ settings: Settings, _ instance: String) -> Settings {
        var settings = settings
        if broker.isReal { settings.properties.append("group.instance.id: \(instance)") }
        return settings
    }

    func offsets(group: String? = nil, topics: [String] = defaults) throws -> GroupOffsets {
        try GroupOffsets(broker, group: group ?? name, topics: topics.map(log.topic))
    }

    /// Waits until everything in the topics is mirrored and committed.
    func waitUntilDrained(
        group: String? = nil, topics: [String] = defaults, within limit: Duration = .seconds(120),
        meanwhile: () throws -> Void = {}
    ) throws {
        let offsets = try offsets(group: group, topics: topics)
        var last: [String] = []
        try eventually(
            "everything is committed", within: limit,
            details: { last.joined(separator: " ") + "\n" + (bridges.last?.child.tail ?? "") }
        ) {
            try meanwhile()
            let positions = try offsets.positions()
            last = positions.filter { ($0.value.committed ?? 0) < $0.value.high }
                .map { "\($0.key): \($0.value.committed ?? -1) of \($0.value.high)" }
            pause(.milliseconds(100))
            return last.isEmpty
        }
    }
}

/// The first differences as text, for a failure's message.
func told(_ differences: [Difference]) -> String {
    differences.isEmpty
        ? ""
        : "\(differences.count) differences:\n"
            + differences.prefix(15).map(\.description)
            .joined(separator: "\n")
}

/// Expects that a tree is as it should be, and tells where it is not.
func expectNone(
    _ differences: [Difference], sourceLocation: SourceLocation = #_sourceLocation
) {
    guard !differences.isEmpty else { return }
    Issue.record("\(told(differences))", sourceLocation: sourceLocation)
}
