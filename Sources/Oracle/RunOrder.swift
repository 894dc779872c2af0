/// Which run of each stream is the newer one, as these records tell it.
public struct RunOrder: Sendable {
    /// From the oldest to the newest, by the stream's path below `streaming`.
    private let runs: [[[UInt8]]: [Run]]
    /// Whether the records keep the promise on which contract section 2 ("Order") rests: in each
    /// topic a run's first record lies, by its own time, before the births of the runs after it.
    public let keepsPromise: Bool
    /// Whether some chunk is rejected for want of an index (contract section 1), unless its mapping
    /// says `index: arrival`.
    public let lacksIndexes: Bool

    /// Reads the records.
    public init(of records: some Sequence<LogRecord>) {
        var model = Model()
        for record in records { model.apply(record) }
        runs = model.runsByAge
        lacksIndexes = runs.values.joined().contains { $0.lacksIndexes }
        keepsPromise = runs.values.allSatisfy { runs in
            runs.indices.allSatisfy { index in
                runs[index...].dropFirst().allSatisfy { runs[index].isMet(before: $0) }
            }
        }
    }

    /// Whether the runs of this order stand in the same order in that other one, and whoever knows
    /// only this one takes none of the other's newer runs for an older one.
    public func isPart(of other: RunOrder) -> Bool {
        runs.allSatisfy { path, runs in
            guard let all = other.runs[path] else { return runs.isEmpty }
            let ids = runs.map(\.id)
            return all.map(\.id).filter(Set(ids).contains) == ids
                && runs.allSatisfy { run in
                    all.drop { $0.id != run.id }.dropFirst().allSatisfy { Run.isOlder(run, $0) }
                }
        }
    }
}
