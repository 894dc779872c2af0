/// CRC-32 (IEEE 802.3), eight bytes at a time.
struct Checksum {
    private let tables: [UInt32]

    init() {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var remainder = UInt32(byte)
            for _ in 0..<8 {
                remainder = remainder >> 1 ^ (remainder & 1 == 1 ? 0xEDB8_8320 : 0)
            }
            tables[byte] = remainder
        }
        for byte in 256..<tables.count {
            let last = tables[byte - 256]
            tables[byte] = last >> 8 ^ tables[Int(last & 0xFF)]
        }
        self.tables = tables
    }

    /// The sum of a number and bytes: a row's bytes under another number are wrong too.
    func sum(_ number: Int64, _ bytes: [UInt8]) -> Int64 {
        let table = tables.span
        let bytes = bytes.span
        var sum = ~UInt32(truncatingIfNeeded: number ^ number >> 32)
        var index = 0
        while index + 8 <= bytes.count {
            let a = Int(sum & 0xFF) ^ Int(bytes[index])
            let b = Int(sum >> 8 & 0xFF) ^ Int(bytes[index + 1])
            let c = Int(sum >> 16 & 0xFF) ^ Int(bytes[index + 2])
            let d = Int(sum >> 24) ^ Int(bytes[index + 3])
            let low = table[1792 + a] ^ table[1536 + b] ^ table[1280 + c] ^ table[1024 + d]
            let e = table[768 + Int(bytes[index + 4])] ^ table[512 + Int(bytes[index + 5])]
            sum = low ^ e ^ table[256 + Int(bytes[index + 6])] ^ table[Int(bytes[index + 7])]
            index += 8
        }
        while index < bytes.count {
            sum = sum >> 8 ^ table[Int((sum ^ UInt32(bytes[index])) & 0xFF)]
            index += 1
        }
        return Int64(~sum)
    }
}
