internal import BridgeCore
internal import Oracle

// What the groups get to see of the log, and what that must leave.
extension World {
    /// Whether a group must deliver a record: it was neither passed over nor erased.
    func isDue(_ place: Place, in group: Group) -> Bool {
        !group.passes(place) && !erased.contains(place)
    }

    /// The tree that the log demands once a group has mirrored it, on top of what the one before it
    /// has left.
    func expectedTree(after group: Group) -> Node {
        var records = mirrored(by: group)
        if let first = groups.first, first !== group, !first.passed.isEmpty {
            let before = mirrored(by: first)
            // Whoever reads a chunk by arrival again gives it the number that it had.
            records =
                (circumstances.byArrival ? before.filter { $0.topic != LogRecord.chunks } : before)
                + records
        }
        var tree =
            Oracle.expectedTree(of: records, byArrival: circumstances.byArrival) ?? .object([:])
        for (name, node) in workload.valueTree.children { tree.set([name], node) }
        return tree
    }

    /// The records that take effect when a group mirrors the log.
    private func mirrored(by group: Group) -> [LogRecord] {
        workload.valid.filter { isDue($0.place, in: group) }.map(\.record)
    }

    /// Whether the log without these records too still keeps the promise that every interleaving of
    /// its topics gives one tree, and reading it all again another time no other; and whether what
    /// is passed over told no two chunks without index apart.
    func canPass(_ isPassed: (Place, LogRecord) -> Bool, in group: Group) -> Bool {
        let rest = workload.valid.filter {
            isDue($0.place, in: group) && !isPassed($0.place, $0.record)
        }
        let order = RunOrder(of: rest.map(\.record))
        let whole = RunOrder(of: workload.valid.map(\.record))
        return order.keepsPromise && !order.lacksIndexes && order.isPart(of: whole)
    }

    /// The path of the fence under which a group writes a partition's records.
    func fencePath(of partition: TopicPartition, in group: Group) -> [[UInt8]] {
        let set = shape.plan.sets.first { $0.topics.contains(partition.topic) }!
        return ["_firebridge", "fences", group.name].map(escaped) + [
            set.key, Array(String(partition.partition).utf8),
        ]
    }
}
