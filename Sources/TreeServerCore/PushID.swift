/// Makes the names of children that POST adds: 20 characters that sort by time.
///
/// Eight characters are the milliseconds since 1970 in base 64, most significant first; twelve are
/// random. Within one millisecond the random part counts up instead, so that order is kept.
struct PushIDGenerator {
    private static let alphabet = Array(
        "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
    private var lastTime: Int64 = -1
    private var digits = [UInt8](repeating: 0, count: 12)

    mutating func next(at now: Int64, using random: inout some RandomNumberGenerator) -> [UInt8] {
        if now == lastTime {
            countUp()
        } else {
            for index in digits.indices { digits[index] = UInt8(random.next() & 63) }
            lastTime = now
        }
        let time = (0..<8).map { Self.alphabet[Int(truncatingIfNeeded: now >> (42 - 6 * $0)) & 63] }
        return time + digits.map { Self.alphabet[Int($0)] }
    }

    private mutating func countUp() {
        for index in digits.indices.reversed() {
            digits[index] = (digits[index] + 1) & 63
            if digits[index] != 0 { return }
        }
    }
}
