/// Shares the memory of texts that come again and again: member names, types, times.
///
/// A table of the latest text for each hash; a newcomer takes the place of whoever was there, so
/// the table never grows.
struct Interner {
    private var table = [[UInt8]](repeating: [], count: slots)
    private static let slots = 1024
    /// Longer texts are not likely to come again.
    private static let bytesMax = 48

    /// The text of those bytes, shared where the same one was met lately.
    mutating func text(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
        guard range.count <= Self.bytesMax, !range.isEmpty else { return Array(bytes[range]) }
        // The length and the last bytes tell most texts apart; a clash costs only a copy.
        var hash = UInt64(truncatingIfNeeded: range.count) &* 0x100_0000_01B3
        let span = bytes.span
        for index in range.suffix(6) { hash = (hash ^ UInt64(span[index])) &* 0x100_0000_01B3 }
        let slot = Int(truncatingIfNeeded: (hash ^ hash >> 32) & UInt64(Self.slots - 1))
        let known = table[slot]
        if isSame(known.span, span.extracting(range)) { return known }
        let text = Array(bytes[range])
        table[slot] = text
        return text
    }
}

func isSame(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    var index = 0
    while index < a.count {
        if a[index] != b[index] { return false }
        index += 1
    }
    return true
}
