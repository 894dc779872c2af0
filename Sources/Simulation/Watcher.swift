internal import BridgeCore
internal import Oracle

/// Looks at every PATCH that takes effect, as a listener at the root would, and says what none may
/// ever see.
struct Watcher {
    /// One event node as one group has written it.
    private struct EventNode {
        /// The offsets whose events have been seen.
        var seen: Set<Int64> = []
        /// The last one, and under which claim it was written.
        var last: (offset: Int64, claim: Claim)?
    }

    /// What an assignment begins with. After a lost fence the same process claims anew.
    private struct Claim: Hashable {
        var owner: [UInt8]
        var epoch: Int64
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
    /// The conversations of which a stream was judged to have stalled.
    private(set) var stalledConversations: Set<[UInt8]> = []
    /// The claims of each fence under which something was mirrored.
    private var mirroring: [[[UInt8]]: Claim] = [:]
    /// The greatest watermark of each group and partition.
    private var greatest: [GroupPartition: Int64] = [:]

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
            case root.events: observeEvent(write, of: writes, from: instance, in: world)
            default: break
            }
        }
        for path in statuses { observeStatus(path, before, after, in: world) }
        for path in streams { observeStream(path, before, after, in: world) }
        for write in writes where write.path.starts(with: root.watermarks) {
            observeWatermark(write.path, after, in: world)
        }
        // A claim sets watermarks: its own PATCHes have the serials 0 and 1. And a refused batch
        // that the network repeats may land once nothing is refused any more, before its probe.
        let setsBack = writes.contains { write in
            write.path.starts(with: root.fences)
                && (after.at(write.path.prefix(5))?["serial"]?.integer ?? 0) <= 1
        }
        let isExcused = setsBack || world.faults.doubledRequest > 0
        if !isExcused || writes.contains(where: { $0.path[0] != root.own }) {
            for write in writes where write.path.starts(with: root.watermarks) {
                observeProgress(write.path, before, after, in: world)
            }
        }
        if writes.contains(where: { $0.path[0] != root.own }) {
            for write in writes where write.path.starts(with: root.fences) {
                guard let fence = Fence(after.at(write.path.prefix(5))) else { continue }
                mirroring[Array(write.path.prefix(5))] = Claim(
                    owner: fence.owner, epoch: fence.epoch)
            }
            observeOtherGroups(instance, before, in: world)
        }
    }

    // MARK: Status

    private mutating func observeStatus(
        _ path: [[UInt8]], _ before: Node, _ after: Node, in world: World
    ) {
        // Chunks may have come back before the judgement went out, and be in the same PATCH.
        if after.at(path)?["error"]?["code"]?.text == Array("stalled".utf8) {
            stalledConversations.insert(path[1])
        }
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
        if new["error_message"] == .text("stalled"), old?["error_message"] != .text("stalled") {
            observeStall(of: path[1], run: new["run_id"], after, in: world)
        }
        let isFinished = old.map { $0["status"] != .text("streaming") } ?? false
        if let old, old["run_id"] == new["run_id"], isFinished,
            old["error_message"] != .text("stalled"), new["status"] == .text("streaming")
        {
            world.fail("finished run streams again", show(path))
        }
    }

    private mutating func observeStall(
        of conversation: [UInt8], run: Node?, _ after: Node, in world: World
    ) {
        stalledConversations.insert(conversation)
        let status = after.at([root.conversations, conversation, escaped("status")])
        guard world.shape.settings.stallStatus, let status, !StatusAge(status).isResting,
            status["run_id"].map({ $0 == run }) ?? true
        else { return }
        world.fail("status of a stalled stream", show([conversation]))
    }

    // MARK: Events

    private mutating func observeEvent(
        _ write: TreeWrite, of writes: [TreeWrite], from instance: Instance, in world: World
    ) {
        guard let events = world.workload.events[write.path],
            let partition = world.workload.eventSource[write.path],
            let event = events.first(where: { $0.value == write.value })
        else { return world.fail("unknown event", "\(show(write.path)) written") }
        let offset = event.offset
        let fencePath = world.fencePath(of: partition, in: instance.group)
        guard writes.contains(where: { $0.path.starts(with: fencePath) }),
            let fence = Fence(world.tree.root.at(fencePath))
        else { return world.fail("event without fence", show(write.path)) }
        let id = GroupNode(group: instance.group.name, path: write.path)
        let claim = Claim(owner: fence.owner, epoch: fence.epoch)
        var node = nodes[id] ?? EventNode()
        let skipped = events.first { event in
            event.offset < offset && !node.seen.contains(event.offset)
                && world.isDue(
                    Place(partition: partition, offset: event.offset), in: instance.group)
        }
        if let skipped {
            world.fail(
                "event merged or out of order",
                "\(show(write.path)): offset \(offset) before \(skipped.offset)")
        }
        if let last = node.last, last.claim == claim, offset < last.offset {
            world.fail(
                "event out of order",
                "\(show(write.path)): offset \(offset) after \(last.offset) under one claim")
        }
        node.seen.insert(offset)
        node.last = (offset, claim)
        nodes[id] = node
        landed[id.group, default: []].insert(Place(partition: partition, offset: offset))
    }

    // MARK: Watermarks

    func watermark(_ group: String, _ partition: TopicPartition, in tree: Node) -> Int64? {
        tree.at(watermarkPath(group, partition))?["next"]?.integer
    }

    /// Whether the watermark, if there is one, is of that Kafka cluster.
    func trusts(
        _ group: String, _ partition: TopicPartition, of cluster: String, in tree: Node
    ) -> Bool {
        tree.at(watermarkPath(group, partition)).map { $0["cluster"] == .text(cluster) } ?? true
    }

    private func watermarkPath(_ group: String, _ partition: TopicPartition) -> [[UInt8]] {
        root.watermarks + [group, partition.topic, String(partition.partition)].map { escaped($0) }
    }

    /// The greatest watermark that a group has written for a partition.
    func greatestWatermark(_ group: String, _ partition: TopicPartition) -> Int64 {
        greatest[GroupPartition(group: group, partition: partition)] ?? 0
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
        greatest[id] = max(greatest[id] ?? 0, next)
        if next > world.visibleEnd(partition) {
            world.fail("watermark beyond the end", "\(partition): \(next)")
        }
    }

    /// With data a watermark only rises: a claim and an operator's reset set it without.
    private func observeProgress(
        _ path: [[UInt8]], _ before: Node, _ after: Node, in world: World
    ) {
        let node = path.prefix(5)
        guard world.faults.hasFence, let was = before.at(node)?["next"]?.integer,
            let now = after.at(node)?["next"]?.integer, now < was
        else { return }
        world.fail("watermark goes back", "\(show(Array(node))): \(now) after \(was)")
    }

    private func isSettled(
        _ logged: LoggedRecord, _ place: Place, in group: Group, _ world: World
    ) -> Bool {
        guard world.isDue(place, in: group) else { return true }
        return switch logged.fate {
        case .rejected: group.reject == .skip || group.deadLetters.contains(place)
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
                    guard let fence = Fence(fence), let at = fence.at, world.wall - at < 55_000,
                        mirroring[root.fences + [group, set, number]]
                            == Claim(owner: fence.owner, epoch: fence.epoch)
                    else { continue }
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
