// The packed form: values and paths as few bytes. It is what a durable tree writes to disk.
//
// A value is a tag and what belongs to it; a name is a tag of another kind. Numbers are varints of
// seven bits a byte, the lowest first; signed ones zigzag.

enum PackedTag {
    static let null: UInt8 = 0
    static let `false`: UInt8 = 1
    static let `true`: UInt8 = 2
    static let int: UInt8 = 3
    /// Eight bytes, the lowest first.
    static let double: UInt8 = 4
    /// The length, the bytes.
    static let string: UInt8 = 5
    /// The number of children, and of each the name and the value, in key order.
    static let object: UInt8 = 6
    /// The value, its priority.
    static let prioritized: UInt8 = 7
    /// And the length, below 64: the bytes.
    static let shortString: UInt8 = 0x40
    /// And the number of one of `PackedTexts`.
    static let known: UInt8 = 0x80
}

enum PackedName {
    /// An integer of 32 bits.
    static let number: UInt8 = 0
    /// 1…126: so many bytes.
    static let longest: UInt8 = 0x7E
    /// The length, the bytes.
    static let long: UInt8 = 0x7F
    /// And the number of one of `PackedTexts`.
    static let known: UInt8 = 0x80
}

extension [UInt8] {
    /// Appends a value in the packed form.
    public mutating func append(packed value: Value) { _ = append(packed: value, countMax: .max) }

    /// Appends a value in the packed form; stops where there are more than `countMax` bytes.
    ///
    /// - Returns: whether all of it is there.
    public mutating func append(packed value: Value, countMax: Int) -> Bool {
        switch value {
        case .null: append(PackedTag.null)
        case .bool(let flag): append(flag ? PackedTag.true : PackedTag.false)
        case .int(let number):
            append(PackedTag.int)
            append(signed: number)
        case .double(let number):
            append(PackedTag.double)
            let bits = number.bitPattern
            for shift in stride(from: 0, to: UInt64.bitWidth, by: 8) {
                append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
            }
        case .string(let text):
            guard count + text.count <= countMax else { return false }
            append(packedText: text, 0..<text.count)
        case .object(let children):
            append(PackedTag.object)
            if case .packed(let bytes) = children.storage {
                append(contentsOf: bytes)
                break
            }
            append(varint: UInt64(children.count))
            for (key, value) in children {
                append(packed: key)
                guard append(packed: value, countMax: countMax) else { return false }
            }
        case .prioritized(let value, let priority):
            append(PackedTag.prioritized)
            guard append(packed: value, countMax: countMax) else { return false }
            append(packed: priority)
        }
        return count <= countMax
    }

    /// Appends a leaf that is a text.
    mutating func append(packedText bytes: [UInt8], _ range: Range<Int>) {
        if let number = PackedTexts.shared.number(of: bytes.span.extracting(range)) {
            append(PackedTag.known | number)
            return
        }
        if range.count < 64 {
            append(PackedTag.shortString | UInt8(range.count))
        } else {
            append(PackedTag.string)
            append(varint: UInt64(range.count))
        }
        append(contentsOf: bytes[range])
    }

    /// Appends a name.
    public mutating func append(packed key: ChildKey) {
        switch key.form {
        case .number(let number):
            append(PackedName.number)
            append(signed: Int64(number))
        case .text(let text):
            if let number = PackedTexts.shared.number(of: text.span) {
                append(PackedName.known | number)
                return
            }
            if text.count > 0, text.count <= Int(PackedName.longest) {
                append(UInt8(text.count))
            } else {
                append(PackedName.long)
                append(varint: UInt64(text.count))
            }
            append(contentsOf: text)
        }
    }

    /// Appends a path: how many names it shares with the one before, and the others.
    public mutating func append(packed path: Path, after last: Path = .root) {
        var shared = 0
        while shared < Swift.min(path.depth, last.depth),
            path.segments[shared] == last.segments[shared]
        {
            shared += 1
        }
        append(varint: UInt64(shared))
        append(varint: UInt64(path.depth - shared))
        for index in shared..<path.depth { append(packed: ChildKey(path.segments[index])) }
    }

    /// Appends the writes of an update.
    public mutating func append(packed update: Update) {
        append(varint: UInt64(update.writes.count))
        var last = Path.root
        for write in update.writes {
            append(packed: write.path, after: last)
            append(packed: write.value)
            last = write.path
        }
    }

    /// Appends a number of no sign.
    public mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    private mutating func append(signed number: Int64) {
        append(varint: UInt64(bitPattern: number << 1 ^ number >> 63))
    }
}
