extension Value {
    /// Negative, zero or positive, as the value comes before, with or after the other where
    /// children are ordered by value: null, false, true, numbers, strings by UTF-16 code units,
    /// nodes (all alike).
    public func rankOrder(_ other: Value) -> Int {
        if rank != other.rank { return rank - other.rank }
        switch (plain, other.plain) {
        case (.string(let a), .string(let b)): return utf16Order(a, b)
        case (.int(let a), .int(let b)): return a < b ? -1 : a == b ? 0 : 1
        case (.int, _), (.double, _):
            let (a, b) = (plain.approximation, other.plain.approximation)
            return a < b ? -1 : a == b ? 0 : 1
        default: return 0
        }
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .bool(false): 1
        case .bool(true): 2
        case .int, .double: 3
        case .string: 4
        case .object: 5
        case .prioritized(let value, _): value.rank
        }
    }

    private var approximation: Double {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: 0
        }
    }
}
