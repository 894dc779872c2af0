/// A place at which two values differ.
public struct Difference: Equatable, Sendable, CustomStringConvertible {
    /// Where: as deep as possible.
    public var path: Path
    /// What stands there in the value asked about.
    public var found: Value
    /// What stands there in the value that it is compared with.
    public var expected: Value

    /// One line: the path, and both values cut to a readable length.
    public var description: String {
        func short(_ value: Value) -> String {
            let text = value.description
            return text.utf8.count <= 200 ? text : String(text.prefix(200)) + "…"
        }
        return "\(path): expected \(short(expected)), found \(short(found))"
    }
}

extension Value {
    /// The places at which this value differs from the expected one, in key order, at most `limit`.
    /// Where both have children only the children are compared, so each place is as deep as it can
    /// be.
    public func differences(from expected: Value, limit: Int = .max) -> [Difference] {
        var found: [Difference] = []
        compare(expected, at: .root, &found, limit)
        return found
    }

    private func compare(
        _ expected: Value, at path: Path, _ found: inout [Difference], _ limit: Int
    ) {
        guard found.count < limit else { return }
        guard priority == expected.priority, case .object(let mine) = plain,
            case .object(let theirs) = expected.plain
        else {
            if self != expected {
                found.append(Difference(path: path, found: self, expected: expected))
            }
            return
        }
        var left = mine.makeIterator()
        var right = theirs.makeIterator()
        var (a, b) = (left.next(), right.next())
        while found.count < limit, let key = [a?.key, b?.key].compactMap(\.self).min() {
            let here = a?.key == key ? a?.value : nil
            let there = b?.key == key ? b?.value : nil
            (here ?? .null).compare(there ?? .null, at: path.appending(key.bytes), &found, limit)
            if here != nil { a = left.next() }
            if there != nil { b = right.next() }
        }
    }
}
