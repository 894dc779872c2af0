/// What the clocks say, handed to the core with every call: it reads none itself.
public struct Moment: Hashable, Sendable {
    /// Nanoseconds of a clock that never goes back: for waiting.
    public var monotonic: Int64
    /// Milliseconds since 1970, UTC: for what is written.
    public var wall: Int64

    /// Makes a moment.
    public init(monotonic: Int64, wall: Int64) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// The monotonic time so much later, in nanoseconds.
    public func after(_ duration: Duration) -> Int64 { monotonic + duration.nanoseconds }
}

extension Duration {
    /// The whole of it in nanoseconds.
    public var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }

    /// The whole of it in milliseconds.
    public var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
