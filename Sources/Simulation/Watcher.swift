internal import BridgeCore
internal import Oracle

/// Looks at every PATCH that takes effect, as a listener at the root would, and says what none may
/// ever see.
struct Watcher {
    /// One event node as one group has written it.
    private struct EventNode {
        /// The offsets whose events have been seen.
        var seen: Set<Int64> = []
        /// The last one, and who wrote it under which assignment.
        var last: (offset: Int64, writer: String)?
    }

    private struct GroupNode: Hashable {
        var group: String
        var path: [[UInt8]]
    }

    private struct GroupPartition: Hashable {
        var group: String
        var partition: TopicPartition
    }

    private var nodes: [GroupNode: EventNode] = [:]
    private var landed: [String: Set<Place>] = [:]
    /// Up to where a group's watermark has been found to be right.
    private var checked: [GroupPartition: Int] = [:]
    /// The runs whose nodes the bridge has removed.
    private(set) var removedRuns: Set<[UInt8]> = []

    mutating func observe(
        _ writes: [TreeWrite], from instance: Instance, before: Node, in world: World
    ) {
        let after = world.tree.root
        var streams: Set<[[UInt8]]> = []
        var statuses: Set<[[UInt8]]> = []
        for write in writes {
            switch write.path[0] {
            case root.conversations: statuses.insert(Array(write.path.prefix(3)))
            case root.streaming: streams.insert(Array(write.path.prefix(3)))
            case root.events: observeEvent(write, from: instance, in: world)
            default: break
            }
        }
        for path in statuses { observeStatus(path, before, after, in: world) }
        for path in streams { observeStream(path, before, after, in: world) }
        for write in writes where write.path.starts(with: root.watermarks) {
            observeWatermark(write.path, after, in: world)
        }
        if writes.contains(where: { $0.path[0] != root.own }) {
            observeOtherGroups(instance, before, in: world)
        }
    }

    // MARK: Status

    private func observeStatus(
        _ path: [[UInt8]], _ before: Node, _ after: Node, in world: World
    ) {
        guard let old = before.at(path) else { return }
        guard let new = after.at(path) else {
            return world.fail("status removed", show(path))
        }
        let (was, now) = (StatusAge(old), StatusAge(new))
        if now < was { world.fail("status falls", "\(show(path)): \(now) after \(was)") }
    }

    // MARK: Streams

    private mutating func observeStream(
        _ path: [[UInt8]], _ before: Node, _ after: Node, in world: World
    ) {
        let old = before.at(path)?["meta"]
        guard let node = after.at(path) else {
            if let run = old?["run_id"]?.text { removedRuns.insert(run) }
            return
        }
        guard let new = node["meta"] else {
            return world.fail("chunks without meta", show(path))
        }
        let isFinished = old.map { $0["status"] != .text("streaming") } ?? false
        if let old, old["run_id"] == new["run_id"], isFinished,
            old["error_message"] != .text("stalled"), new["status"] == .text("streaming")
        {
            world.fail("finished run streams again", show(path))
        }
    }

    // MARK: Events

    private mutating func observeEvent(
        _ write: TreeWrite, from instance: Instance, in world: World
    ) {
        guard let events = world.workload.events[write.path],
            let partition = world.workload.eventSource[write.path],
            let event = events.first(where: { $0.value == write.value })
        else { return world.fail("unknown event", "\(show(write.path)) written") }
        let offset = event.offset
        let id = GroupNode(group: instance.group.name, path: write.path)
        let writer = "\(instance.name) \(instance.assignments)"
        var node = nodes[id] ?? EventNode()
        let skipped = events.first { $0.offset < offset && !node.seen.contains($0.offset) }
        if let skipped {
            world.fail(
                "event merged or out of order",
                "\(show(write.path)): offset \(offset) before \(skipped.offset)")
        }
        if let last = node.last, last.writer == writer, offset < last.offset {
            world.fail(
                "event out of order",
                "\(show(write.path)): offset \(offset) after \(last.offset) in one assignment")
        }
        node.seen.insert(offset)
        node.last = (offset, writer)
        nodes[id] = node
        landed[id.group, default: []].insert(Place(partition: partition, offset: offset))
    }

    // MARK: Watermarks

    func watermark(_ group: String, _ partition: TopicPartition, in tree: Node) -> Int64? {
        let path =
            root.watermarks
            + [
                group, partition.topic, String(partition.partition),
            ].map { escaped($0) }
        return tree.at(path)?["next"]?.integer
    }

    /// Everything below a watermark has taken effect, or its dead letter has arrived. (Of what can
    /// be superseded only the final tree tells.)
    private mutating func observeWatermark(
        _ path: [[UInt8]], _ after: Node, in world: World
    ) {
        guard path.count >= 5, let next = after.at(path.prefix(5))?["next"]?.integer,
            let group = world.groups.first(where: { escaped($0.name) == path[2] }),
            let partition = world.workload.partitions.first(where: {
                escaped($0.topic) == path[3] && Array(String($0.partition).utf8) == path[4]
            })
        else { return world.fail("unknown watermark", show(path)) }
        let log = world.workload.logs[partition]!
        let id = GroupPartition(group: group.name, partition: partition)
        var index = checked[id] ?? 0
        while index < log.count, log[index].record.offset < next {
            let place = Place(partition: partition, offset: log[index].record.offset)
            if !isSettled(log[index], place, in: group, world) {
                world.fail(
                    "watermark passes unsettled",
                    "\(group.name) \(partition): \(next) passes \(place.offset)")
                return
            }
            index += 1
        }
        checked[id] = index
        if next > world.visibleEnd(partition) {
            world.fail("watermark beyond the end", "\(partition): \(next)")
        }
    }

    private func isSettled(
        _ logged: LoggedRecord, _ place: Place, in group: Group, _ world: World
    ) -> Bool {
        switch logged.fate {
        case .rejected: group.deadLetters.contains(place)
        case .harmless: true
        case .effect:
            world.workload.eventOffsets[place.partition]?.contains(place.offset) != true
                || landed[group.name]?.contains(place) == true
        }
    }

    // MARK: One group at a time

    private func observeOtherGroups(_ instance: Instance, _ before: Node, in world: World) {
        let fences = before.at(root.fences)
        for (group, sets) in fences?.children ?? [] where group != escaped(instance.group.name) {
            for (set, numbers) in sets.children {
                for (number, fence) in numbers.children {
                    guard let at = Fence(fence)?.at, world.wall - at < 55_000 else { continue }
                    world.fail(
                        "two groups at once",
                        "\(instance.name) writes, \(show([group, set, number])) was renewed "
                            + "\(world.wall - at) ms ago")
                    return
                }
            }
        }
    }
}

/// What decides between two status nodes.
private struct StatusAge: Comparable, CustomStringConvertible {
    var sequence: Int64
    var since: Instant
    var isResting: Bool

    init(_ node: Node) {
        sequence = node["seq"]?.text.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? .min
        since = node["since"]?.text.flatMap { Instant($0) } ?? .oldest
        isResting = ["IDLE", "ERROR"].contains {
            node["state"] == .text("CONVERSATION_ACTIVITY_STATE_\($0)")
        }
    }

    static func < (a: Self, b: Self) -> Bool {
        (a.sequence, a.since, a.isResting ? 1 : 0) < (b.sequence, b.since, b.isResting ? 1 : 0)
    }

    var description: String { "(\(sequence), \(since.seconds), \(isResting))" }
}

private enum root {
    static let conversations = Array("conversations".utf8)
    static let streaming = Array("streaming".utf8)
    static let events = Array("events".utf8)
    static let own = Array("_firebridge".utf8)
    static let watermarks = ["_firebridge", "watermarks"].map { Array($0.utf8) }
    static let fences = ["_firebridge", "fences"].map { Array($0.utf8) }
}

func escaped(_ text: String) -> [UInt8] { Key.escape(Array(text.utf8)) }
