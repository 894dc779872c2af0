/// A core with one rule broken on purpose, so that tests can show that the simulator would see it.
public enum Flaw: String, CaseIterable, Sendable {
    /// Watermarks and commits pass records whose dead letter is not acknowledged.
    case commitsPastGap
    /// Any activity overwrites the status node.
    case noStatusGuard
    /// Superseded runs and early ends are not kept in the ledger.
    case forgetsSupersededRuns
    /// After a refusal what was planned stays in memory.
    case keepsMemoryAfterRefusal
    /// Two events of one node share a batch.
    case mergesEvents
    /// The answer to a write of an assignment that is gone counts for the lane's next batch.
    case takesLateAnswers
    /// Watermarks are read before the raised epoch is acknowledged.
    case readsWatermarkEarly
    /// A refused batch is halved at once, and its last record rejected, without a probe.
    case halvesBeforeProbing
}
