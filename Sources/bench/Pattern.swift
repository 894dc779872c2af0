/// A text to be found among bytes, by Horspool's method: most bytes are never looked at, so that
/// the sink costs little beside what it measures.
struct Pattern {
    private let text: [UInt8]
    /// How far to go on after each byte under the pattern's end.
    private let steps: [Int]

    init(_ text: String) {
        self.text = Array(text.utf8)
        var steps = [Int](repeating: self.text.count, count: 256)
        for (index, byte) in self.text.dropLast().enumerated() {
            steps[Int(byte)] = self.text.count - 1 - index
        }
        self.steps = steps
    }

    /// Where the text stands first at or after `start`; nil where it does not.
    func position(in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        let last = text.count - 1
        var end = start + last
        while end < bytes.count {
            var index = 0
            while index <= last, unsafe bytes[end - index] == text[last - index] { index += 1 }
            if index > last { return end - last }
            end += unsafe steps[Int(bytes[end])]
        }
        return nil
    }

    /// How often the text stands there.
    func count(in bytes: UnsafeRawBufferPointer) -> Int {
        var count = 0
        var start = 0
        while let found = unsafe position(in: bytes, from: start) {
            count += 1
            start = found + text.count
        }
        return count
    }
}
