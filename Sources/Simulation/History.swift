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
    /// is passed over told no two chunks without index apart, nor had a refused chunk's time.
    func canPass(_ isPassed: (Place, LogRecord) -> Bool, in group: Group) -> Bool {
        let rest = workload.valid.filter {
            isDue($0.place, in: group) && !isPassed($0.place, $0.record)
        }
        let order = RunOrder(of: rest.map(\.record))
        let whole = RunOrder(of: workload.valid.map(\.record))
        return order.keepsPromise && !order.lacksIndexes && order.isPart(of: whole)
            && !strandsRefusedChunk(isPassed, in: group)
    }

    /// Whether a chunk that the database refuses stays behind without the one before it, whose time
    /// it has. Read again after the run's end it is late, so not refused, and then that time counts.
    private func strandsRefusedChunk(
        _ isPassed: (Place, LogRecord) -> Bool, in group: Group
    ) -> Bool {
        workload.logs.contains { partition, log in
            guard partition.topic == LogRecord.chunks else { return false }
            func isLeft(_ logged: LoggedRecord) -> Bool {
                let place = Place(partition: partition, offset: logged.record.offset)
                let record = LogRecord(
                    topic: partition.topic, key: logged.record.key,
                    value: logged.record.value ?? [], timestamp: logged.record.timestamp)
                return isDue(place, in: group) && !isPassed(place, record)
            }
            return zip(log, log.dropFirst()).contains { before, logged in
                logged.fate == .harmless && isLeft(logged) && !isLeft(before)
            }
        }
    }

    /// The path of the fence under which a group writes a partition's records.
    func fencePath(of partition: TopicPartition, in group: Group) -> [[UInt8]] {
        let set = shape.plan.sets.first { $0.topics.contains(partition.topic) }!
        return ["_firebridge", "fences", group.name].map(escaped) + [
            set.key, Array(String(partition.partition).utf8),
        ]
    }
}
