public import Tree

/// What a request line asks for: a place, and parameters.
public struct RESTTarget: Equatable, Sendable {
    /// The place, percent-decoded. Keys are not checked here.
    public var path: Path
    /// Whether the path ends in `.json`, which it must to reach the data.
    public var isJSON: Bool
    /// The parameters in their order, decoded.
    public var parameters: [Parameter]

    /// One parameter.
    public struct Parameter: Equatable, Sendable {
        /// Its name.
        public var name: String
        /// Its value; empty where there is no `=`.
        public var value: [UInt8]
    }

    /// Why a target cannot be read.
    public enum Failure: Error, Equatable, Sendable {
        /// A `%` without two hexadecimal digits.
        case percentEncoding
        /// Bytes that are not UTF-8.
        case notUTF8
        /// Two slashes with nothing between.
        case emptySegment
    }

    /// Reads `/a/b%20c.json?name=value&…` as it stands in the request line.
    ///
    /// `/a/.json` is the same as `/a.json`, and `/.json` is the root.
    public init(_ target: some Collection<UInt8>) throws(Failure) {
        let parts = target.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        var raw = parts[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Array($0) }
        if raw.first?.isEmpty == true { raw.removeFirst() }
        let suffix = Array(".json".utf8)
        isJSON = raw.last?.count ?? 0 >= suffix.count && Array(raw.last!.suffix(5)) == suffix
        if isJSON { raw[raw.count - 1].removeLast(suffix.count) }
        if raw.last?.isEmpty == true { raw.removeLast() }
        var segments: [[UInt8]] = []
        for segment in raw {
            guard !segment.isEmpty else { throw .emptySegment }
            segments.append(try Self.decode(segment, plus: false))
        }
        path = Path(segments: segments)
        parameters = []
        guard parts.count == 2 else { return }
        for item in parts[1].split(separator: UInt8(ascii: "&")) {
            let pair = item.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(decoding: try Self.decode(Array(pair[0]), plus: true), as: UTF8.self)
            let value = pair.count == 2 ? try Self.decode(Array(pair[1]), plus: true) : []
            parameters.append(Parameter(name: name, value: value))
        }
    }

    private static func decode(_ text: [UInt8], plus: Bool) throws(Failure) -> [UInt8] {
        guard let bytes = percentDecode(text, plus: plus) else { throw .percentEncoding }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
        return bytes
    }

    /// The value of the first parameter of that name.
    public func parameter(_ name: String) -> [UInt8]? {
        parameters.first { $0.name == name }?.value
    }
}
