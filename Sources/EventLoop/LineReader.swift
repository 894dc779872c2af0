/// Reads lines from a non-blocking descriptor as they come.
public final class LineReader {
    /// What a read found.
    public enum Event: Equatable, Sendable {
        /// A line without its end (`\n`, `\r\n`). A longer one than allowed comes in pieces.
        case line([UInt8])
        /// Nothing more for now: poll the descriptor.
        case wait
        /// The other end is closed. A last line without an end has been given before.
        case end
    }

    private let number: Int32
    private let lineBytesMax: Int
    private var buffer: [UInt8] = []
    private var scanned = 0
    private var ended = false

    /// Makes a reader of a descriptor that the caller keeps open.
    public init(_ number: Int32, lineBytesMax: Int = 1 << 20) {
        self.number = number
        self.lineBytesMax = lineBytesMax
    }

    /// The next line.
    public func next() throws(SystemError) -> Event {
        while true {
            if let line = takeLine() { return .line(line) }
            if ended { return .end }
            guard let more = try Descriptor.read(number, max: 65_536) else { return .wait }
            if more.isEmpty { ended = true }
            buffer.append(contentsOf: more)
        }
    }

    private func takeLine() -> [UInt8]? {
        if let newline = buffer[scanned...].firstIndex(of: 0x0A), newline <= lineBytesMax {
            var line = Array(buffer[..<newline])
            if line.last == 0x0D { line.removeLast() }
            buffer.removeFirst(newline + 1)
            scanned = 0
            return line
        }
        scanned = buffer.count
        guard buffer.count >= lineBytesMax || ended && !buffer.isEmpty else { return nil }
        let piece = Array(buffer.prefix(lineBytesMax))
        buffer.removeFirst(piece.count)
        scanned = 0
        return piece
    }
}
