/// SHA-1 of FIPS 180-4. The database's node hash is made of it; it protects nothing.
public struct SHA1 {
    private var state: [UInt32] = [
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0,
    ]

    private init() {}

    /// The digest, 20 bytes.
    public static func digest(_ message: [UInt8]) -> [UInt8] {
        var hash = SHA1()
        var index = 0
        while index + 64 <= message.count {
            hash.block(message[index..<index + 64])
            index += 64
        }
        var tail = Array(message[index...])
        tail.append(0x80)
        while tail.count % 64 != 56 { tail.append(0) }
        let bits = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) {
            tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        for start in stride(from: 0, to: tail.count, by: 64) {
            hash.block(tail[start..<start + 64])
        }
        var digest: [UInt8] = []
        for index in 0..<5 {
            for shift in stride(from: 24, through: 0, by: -8) {
                digest.append(UInt8(truncatingIfNeeded: hash.state[index] >> UInt32(shift)))
            }
        }
        return digest
    }

    private mutating func block(_ bytes: ArraySlice<UInt8>) {
        var w = [UInt32](repeating: 0, count: 80)
        for (index, byte) in bytes.enumerated() { w[index / 4] = w[index / 4] << 8 | UInt32(byte) }
        for index in 16..<80 {
            w[index] = rotate(w[index - 3] ^ w[index - 8] ^ w[index - 14] ^ w[index - 16], 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (f, k): (UInt32, UInt32) =
                switch index {
                case 0..<20: (b & c | ~b & d, 0x5A82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotate(a, 5) &+ f &+ e &+ k &+ w[index]
            (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
    }
}

private func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word << count | word >> (32 - count)
}
