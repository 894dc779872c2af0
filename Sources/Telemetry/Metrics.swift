/// A number that only rises.
public final class Counter {
    /// The number.
    public private(set) var value: Int64 = 0

    /// Makes a counter at 0.
    public init() {}

    /// Adds to it; never less than 0.
    public func add(_ count: Int = 1) {
        precondition(count >= 0)
        value &+= Int64(count)
    }
}

/// A number that rises and falls.
public final class Gauge {
    /// The number.
    public var value: Double = 0

    /// Makes a gauge at 0.
    public init() {}

    /// Sets it.
    public func set(_ value: some BinaryInteger) { self.value = Double(value) }
}

/// How many observations were at most so large.
public final class Histogram {
    /// The upper bounds of the buckets, rising; one without bound follows.
    public let bounds: [Double]
    /// The observations in each bucket, not summed up; one more than bounds.
    public private(set) var counts: [Int64]
    /// The sum of all observations.
    public private(set) var sum: Double = 0

    /// Makes an empty histogram.
    public init(bounds: [Double]) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Counts an observation. What cannot be (less than 0, as clocks may differ, or not a number)
    /// counts as 0.
    public func observe(_ observed: Double) {
        let value = observed > 0 ? observed : 0
        var bucket = 0
        while bucket < bounds.count, bounds[bucket] < value { bucket += 1 }
        counts[bucket] += 1
        sum += value
    }

    /// Takes over what was counted elsewhere in the same buckets.
    public func replace(counts: [Int64], sum: Double) {
        precondition(counts.count == bounds.count + 1)
        self.counts = counts
        self.sum = sum
    }

    /// Counts a duration in seconds.
    public func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        observe(Double(seconds) + Double(attoseconds) / 1e18)
    }
}

/// The series of one metric, told apart by their labels.
///
/// Look a series up once, when a partition or lane comes, and keep it: counting then costs an
/// addition.
public final class Family<Series: AnyObject> {
    /// The metric's name, its prefix included.
    public let name: String
    /// What it counts.
    public let help: String
    /// The names of its labels.
    public let labels: [String]
    let make: () -> Series
    private(set) var series: [(values: [String], series: Series)] = []

    init(_ name: String, _ help: String, labels: [String] = [], make: @escaping () -> Series) {
        self.name = name
        self.help = help
        self.labels = labels
        self.make = make
        if labels.isEmpty { _ = self[] }
    }

    /// The series with these label values, made where there is none yet.
    public subscript(_ values: String...) -> Series {
        precondition(values.count == labels.count, "\(name) has the labels \(labels)")
        if let found = index(of: values) { return series[found].series }
        let made = make()
        series.append((values, made))
        return made
    }

    /// Removes the series with these label values. Who still holds it counts in vain.
    public func remove(_ values: String...) {
        if let found = index(of: values) { series.remove(at: found) }
    }

    /// Removes all series.
    func removeAll() { series = [] }

    private func index(of values: [String]) -> Int? {
        series.firstIndex { entry in
            entry.values.elementsEqual(values) { $0.utf8.elementsEqual($1.utf8) }
        }
    }
}
