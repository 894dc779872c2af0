/// A place in the tree: the names from the root down, as UTF-8 bytes. Compared byte by byte.
public struct Path: Hashable, Sendable {
    /// The names from the root down; none for the root.
    public var segments: [[UInt8]]

    /// The root.
    public static let root = Path(segments: [])

    /// The place with these names.
    public init(segments: [[UInt8]]) { self.segments = segments }

    /// The place that a text such as `a/b/c` names. Slashes at its beginning and end, and repeated
    /// ones, count for nothing.
    public init(_ text: some Collection<UInt8>) {
        segments = text.split(separator: UInt8(ascii: "/")).map { Array($0) }
    }

    /// How many names it has.
    public var depth: Int { segments.count }

    /// The names joined by `/`, without one at the beginning.
    public var joined: [UInt8] { Array(segments.joined(separator: [UInt8(ascii: "/")])) }

    /// The place one name below.
    public func appending(_ segment: [UInt8]) -> Path { Path(segments: segments + [segment]) }

    /// The place at the relative path below.
    public func appending(_ path: Path) -> Path { Path(segments: segments + path.segments) }

    /// The relative path that is left without the first names.
    public func dropFirst(_ count: Int) -> Path { Path(segments: Array(segments.dropFirst(count))) }

    /// Whether the other place is here or below.
    public func isPrefix(of other: Path) -> Bool { other.segments.starts(with: segments) }
}

extension Path: Comparable {
    /// An order in which each place is followed by all that lies below it.
    public static func < (a: Path, b: Path) -> Bool { a.order(b) < 0 }

    func order(_ other: Path) -> Int {
        let a = segments.span
        let b = other.segments.span
        let shared = min(a.count, b.count)
        var index = 0
        while index < shared {
            let order = utf16Order(a[index], b[index])
            if order != 0 { return order }
            index += 1
        }
        return a.count - b.count
    }
}

extension Path: ExpressibleByStringLiteral, CustomStringConvertible {
    /// The place that a text such as `a/b/c` names.
    public init(stringLiteral text: String) { self.init(text.utf8) }

    /// The names with a `/` before each; `/` for the root.
    public var description: String { "/" + String(decoding: joined, as: UTF8.self) }
}
