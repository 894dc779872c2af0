/// A small random number generator whose numbers are the same everywhere and for ever: a seed names
/// what was made of it (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Begins the sequence of that seed.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number from `range`. (The standard library's own mapping may change between versions.)
    public mutating func int(_ range: Range<Int>) -> Int {
        precondition(!range.isEmpty)
        return range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// A number from 0 up to, not including, 1.
    public mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// True so often.
    public mutating func chance(_ probability: Double) -> Bool { fraction() < probability }

    /// One of these.
    public mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[int(0..<elements.count)]
    }

    /// These in another order.
    public mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var out = elements
        for index in out.indices.dropFirst().reversed() { out.swapAt(index, int(0..<index + 1)) }
        return out
    }
}
