/// A set of chunk indexes as sorted ranges: one range for chunks that came in order.
struct IndexRanges: Equatable {
    private var ranges: [ClosedRange<Int64>] = []

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
        // The first range that ends at or after the index's left neighbour.
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < index - 1 { low = middle + 1 } else { high = middle }
        }
        guard low < ranges.count, ranges[low].lowerBound <= index + 1 else {
            ranges.insert(index...index, at: low)
            return
        }
        ranges[low] = min(ranges[low].lowerBound, index)...max(ranges[low].upperBound, index)
        if low + 1 < ranges.count, ranges[low].upperBound + 1 >= ranges[low + 1].lowerBound {
            ranges[low] = ranges[low].lowerBound...ranges[low + 1].upperBound
            ranges.remove(at: low + 1)
        }
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
