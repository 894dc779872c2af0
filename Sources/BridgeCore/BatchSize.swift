/// How many bytes a lane's next batches may have: what the path to the database has shown that it
/// takes within a request's time limit.
///
/// Halved by each batch that is split since it is too big or gets no answer, doubled after some
/// that filled it were accepted: a link that takes 64 KiB and not 128 does not pay a time limit for
/// every few batches.
struct BatchSize {
    /// It never falls below, in bytes (or below the configured limit, where that is smaller).
    static let least = 16 << 10
    /// So many batches that used at least half of it make it grow.
    static let growthAfter = 8

    /// The configured limit.
    let most: Int
    /// The present limit.
    private(set) var limit: Int
    private var accepted = 0

    init(most: Int) {
        self.most = most
        limit = most
    }

    /// A batch of so many bytes has to be split.
    mutating func shrink(from bytes: Int) {
        limit = max(min(Self.least, most), min(limit, bytes) / 2)
        accepted = 0
    }

    /// A batch of so many bytes was accepted; a smaller one tells nothing.
    mutating func grow(after bytes: Int) {
        guard limit < most, bytes >= limit / 2 else { return }
        accepted += 1
        guard accepted >= Self.growthAfter else { return }
        accepted = 0
        limit = min(most, limit * 2)
    }
}
