/// What SQLite's write-ahead log held when it was found: SQLite itself goes by its checksums and
/// drops, without a word, all that follows a bad frame (sqlite.org/fileformat2.html, section 4).
struct WriteAheadLog: Equatable {
    /// Frames of this log that are whole, up to the last commit.
    var framesGood = 0
    /// Frames of this log behind them, also half ones: what SQLite drops.
    var framesCut = 0
    /// Commits among those that are dropped.
    var commitsCut = 0

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    init(_ file: [UInt8]) {
        guard file.count >= Self.headerBytes else { return }
        let magic = file.big(0)
        guard magic | 1 == 0x377F_0683 else { return }
        let isBig = magic & 1 == 1
        let pageBytes = Int(file.big(8))
        var sum = Sum()
        sum.add(file, 0..<24, isBig: isBig)
        let isWhole = sum.a == file.big(24) && sum.b == file.big(28)
        guard pageBytes >= 512, isWhole else { return }
        let frameBytes = Self.frameHeaderBytes + pageBytes
        var start = Self.headerBytes
        var isBroken = false
        var sinceCommit = 0
        // Frames of an older log, which this one has begun to overwrite, bear other salts.
        while start + 16 <= file.count, file[start + 8..<start + 16].elementsEqual(file[16..<24]) {
            let isLastOfCommit = file.big(start + 4) != 0
            if start + frameBytes > file.count {
                isBroken = true
            } else if !isBroken {
                sum.add(file, start..<start + 8, isBig: isBig)
                sum.add(file, start + Self.frameHeaderBytes..<start + frameBytes, isBig: isBig)
                isBroken = sum.a != file.big(start + 16) || sum.b != file.big(start + 20)
            }
            sinceCommit += 1
            if !isBroken, isLastOfCommit {
                framesGood += sinceCommit
                sinceCommit = 0
            } else if isBroken, isLastOfCommit {
                commitsCut += 1
            }
            start += frameBytes
        }
        framesCut = sinceCommit
    }

    /// SQLite's own running sum of pairs of 32-bit words.
    private struct Sum {
        var a: UInt32 = 0
        var b: UInt32 = 0

        mutating func add(_ bytes: [UInt8], _ range: Range<Int>, isBig: Bool) {
            for index in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                a &+= word(bytes, index, isBig) &+ b
                b &+= word(bytes, index + 4, isBig) &+ a
            }
        }

        private func word(_ bytes: [UInt8], _ index: Int, _ isBig: Bool) -> UInt32 {
            isBig ? bytes.big(index) : bytes.big(index).byteSwapped
        }
    }
}

extension [UInt8] {
    fileprivate func big(_ index: Int) -> UInt32 {
        UInt32(self[index]) << 24 | UInt32(self[index + 1]) << 16
            | UInt32(self[index + 2]) << 8 | UInt32(self[index + 3])
    }
}
