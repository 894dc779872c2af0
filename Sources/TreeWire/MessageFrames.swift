/// How messages are cut into text frames: a long one goes as a frame that holds the number of its
/// parts, in decimals, and the parts.
public enum MessageFrames {
    /// The longest frame, in UTF-16 code units, as clients count.
    public static let unitsMax = 16_384
    /// The most parts of a message: some clients take a longer number for a part.
    public static let partsMax = 9_999

    /// The frames of a message, each whole UTF-8.
    public static func cut(_ message: [UInt8]) -> [[UInt8]] {
        guard message.count > unitsMax else { return [message] }
        var parts: [[UInt8]] = []
        var start = 0
        var units = 0
        for (index, byte) in message.enumerated() where byte & 0xC0 != 0x80 {
            let width = byte >= 0xF0 ? 2 : 1
            if units + width > unitsMax {
                parts.append(Array(message[start..<index]))
                (start, units) = (index, 0)
            }
            units += width
        }
        parts.append(Array(message[start...]))
        guard parts.count > 1 else { return [message] }
        return [Array("\(parts.count)".utf8)] + parts
    }
}

/// Joins the frames of a client to messages.
public struct MessageAssembler {
    /// Why a frame cannot be taken.
    public enum Failure: Error, Equatable, Sendable {
        /// The message is longer than the server keeps.
        case tooLong
    }

    private let bytesMax: Int
    private var partsMissing = 0
    private var message: [UInt8] = []

    /// An assembler that refuses messages longer than `bytesMax`.
    public init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// The message that is complete with this frame; nil for a sign of life (`0`), a count, or a
    /// part that is not the last.
    public mutating func feed(_ frame: [UInt8]) throws(Failure) -> [UInt8]? {
        guard message.count + frame.count <= bytesMax else { throw .tooLong }
        guard partsMissing == 0 else {
            message.append(contentsOf: frame)
            partsMissing -= 1
            guard partsMissing == 0 else { return nil }
            defer { message = [] }
            return message
        }
        if let count = Self.count(frame) {
            guard count <= bytesMax else { throw .tooLong }
            partsMissing = count
            return nil
        }
        return frame
    }

    private static func count(_ frame: [UInt8]) -> Int? {
        guard (1...6).contains(frame.count), frame.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            return nil
        }
        return frame.reduce(0) { 10 * $0 + Int($1 - 0x30) }
    }
}
