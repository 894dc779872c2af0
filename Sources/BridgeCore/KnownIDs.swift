internal import JSON

/// Ids that were found valid before: the records of one run share its bytes, and none is checked
/// again.
final class KnownIDs {
    private static let count: UInt = 4096
    private var texts = [[UInt8]](repeating: [], count: Int(count))
    /// The longest id that is remembered.
    private static let bytesMax = 128

    /// The bytes of a string where they are known.
    func text(_ value: Int, of tape: JSONTape) -> [UInt8]? {
        guard tape.kind(value) == .string, !tape.tokens[value].isEscaped else { return nil }
        let range = Int(tape.tokens[value].start)..<Int(tape.tokens[value].end)
        guard !range.isEmpty else { return nil }
        let known = texts[place(of: tape.bytes, range)]
        return tape.isRaw(value, known) ? known : nil
    }

    /// Remembers an id, in place of another one.
    func keep(_ text: [UInt8]) {
        guard !text.isEmpty, text.count <= Self.bytesMax else { return }
        texts[place(of: text, 0..<text.count)] = text
    }

    // What tells ids apart stands at their end.
    private func place(of bytes: [UInt8], _ range: Range<Int>) -> Int {
        var hash: UInt = 0
        for index in range.suffix(8) { hash = hash &* 0x9E37_79B1 &+ UInt(bytes[index]) }
        return Int((hash ^ hash >> 12) % Self.count)
    }
}
