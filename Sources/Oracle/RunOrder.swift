/// The runs of each stream from the oldest to the newest, by their ids, as these records tell them.
public struct RunOrder: Sendable {
    /// By the stream's path below `streaming`.
    public var runs: [[[UInt8]]: [[UInt8]]]
    /// Whether the records keep the promise on which contract section 2 ("Order") rests: in each
    /// topic a run's first record lies, by its own time, before the births of the runs after it.
    public var keepsPromise: Bool

    /// Reads the records.
    public init(of records: some Sequence<LogRecord>) {
        var model = Model()
        for record in records { model.apply(record) }
        runs = model.runsByAge.mapValues { $0.map(\.id) }
        keepsPromise = model.runsByAge.values.allSatisfy { runs in
            runs.indices.allSatisfy { index in
                runs[index...].dropFirst().allSatisfy { runs[index].isMet(before: $0) }
            }
        }
    }

    /// Whether the runs of this order stand in the same order in that other one.
    public func isPart(of other: RunOrder) -> Bool {
        runs.allSatisfy { path, ids in
            let known = Set(ids)
            return other.runs[path]?.filter(known.contains) == ids
        }
    }
}
