/// Bytes that wait until a client takes them, from the front.
struct ByteQueue {
    private var bytes: [UInt8]
    private var taken = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count - taken }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: [UInt8]) {
        if isEmpty {
            self = ByteQueue(more)
        } else {
            bytes.append(contentsOf: more)
        }
    }

    mutating func append(_ more: UnsafeBufferPointer<UInt8>) {
        unsafe bytes.append(contentsOf: more)
    }

    /// Lends the front, which is not empty.
    ///
    /// - Parameter take: returns how many bytes it has taken; none where it is negative.
    /// - Returns: what `take` has returned.
    mutating func take(_ take: (UnsafeRawBufferPointer) -> Int) -> Int {
        let count = unsafe bytes.withUnsafeBytes { all in
            unsafe take(UnsafeRawBufferPointer(rebasing: all[taken...]))
        }
        taken += max(count, 0)
        // Give back at once what a long message took; shift long queues as they drain.
        if isEmpty {
            clear()
        } else if taken > 1 << 20, taken > bytes.count / 2 {
            bytes.removeFirst(taken)
            taken = 0
        }
        return count
    }

    mutating func clear() { self = ByteQueue() }
}
