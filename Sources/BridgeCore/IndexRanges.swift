/// A set of chunk indexes as sorted ranges: one range for chunks that came in order.
struct IndexRanges: Equatable {
    private(set) var ranges: [ClosedRange<Int64>] = []

    var isJustZero: Bool { ranges == [0...0] }

    func contains(_ index: Int64) -> Bool { ranges.contains { $0.contains(index) } }

    mutating func insert(_ index: Int64) {
        guard let last = ranges.last else {
            ranges = [index...index]
            return
        }
        if last.contains(index) { return }
        if index == last.upperBound &+ 1 {
            ranges[ranges.count - 1] = last.lowerBound...index
            return
        }
        insert(index...index)
    }

    /// Adds indexes, which may be there already in part. None is negative.
    mutating func insert(_ indexes: ClosedRange<Int64>) {
        // The first range that ends at or after the left neighbour, and the first one that begins
        // after the right one.
        let first = place { $0.upperBound < indexes.lowerBound - 1 }
        let last = place { $0.lowerBound - 1 <= indexes.upperBound }
        var merged = indexes
        if first < last {
            merged =
                min(
                    merged.lowerBound, ranges[first].lowerBound)...max(
                    merged.upperBound, ranges[last - 1].upperBound)
        }
        ranges.replaceSubrange(first..<last, with: CollectionOfOne(merged))
    }

    // How many ranges from the beginning on satisfy a condition.
    private func place(where isBefore: (ClosedRange<Int64>) -> Bool) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(ranges[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Removes the first range and gives it, where it begins with this index.
    mutating func popFirst(at index: Int64) -> ClosedRange<Int64>? {
        guard ranges.first?.lowerBound == index else { return nil }
        return ranges.removeFirst()
    }

    /// Removes the indexes above `bound` and gives them.
    mutating func removeAbove(_ bound: Int64) -> [Int64] {
        var removed: [Int64] = []
        while let last = ranges.last, last.upperBound > bound {
            ranges.removeLast()
            if last.lowerBound <= bound {
                ranges.append(last.lowerBound...bound)
                removed.append(contentsOf: (bound + 1)...last.upperBound)
            } else {
                removed.append(contentsOf: last)
            }
        }
        return removed
    }

    /// How many of the indexes from 0 through `bound` are missing; at most 2^63 - 1.
    func gaps(upTo bound: Int64) -> Int64 {
        var missing = bound
        for range in ranges where range.lowerBound <= bound {
            missing -= min(range.upperBound, bound) - range.lowerBound + 1
        }
        return min(missing, .max - 1) + 1
    }
}
