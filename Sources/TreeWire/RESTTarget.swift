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
    public init(_ target: [UInt8]) throws(Failure) {
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        var end = mark
        let suffix = Array(".json".utf8)
        isJSON = end >= suffix.count && target[end - suffix.count..<end].elementsEqual(suffix)
        if isJSON { end -= suffix.count }
        path = Path(segments: try Self.names(target[..<end]))
        parameters = []
        var start = mark + 1
        while start < target.endIndex {
            let stop = target[start...].firstIndex(of: UInt8(ascii: "&")) ?? target.endIndex
            if stop > start { parameters.append(try Self.parameter(target[start..<stop])) }
            start = stop + 1
        }
    }

    /// The names between the slashes; one slash at the beginning and at the end is no name.
    private static func names(_ text: ArraySlice<UInt8>) throws(Failure) -> [[UInt8]] {
        let slash = UInt8(ascii: "/")
        var text = text
        if text.first == slash { text = text.dropFirst() }
        if text.last == slash { text = text.dropLast() }
        var names: [[UInt8]] = []
        while !text.isEmpty {
            let end = text.firstIndex(of: slash) ?? text.endIndex
            guard end > text.startIndex, end + 1 != text.endIndex else { throw .emptySegment }
            names.append(try decode(text[..<end], plus: false))
            text = text[end...].dropFirst()
        }
        return names
    }

    private static func parameter(_ item: ArraySlice<UInt8>) throws(Failure) -> Parameter {
        let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
        let name = try decode(item[..<equals], plus: true)
        let value = try decode(item[equals...].dropFirst(), plus: true)
        return Parameter(name: String(decoding: name, as: UTF8.self), value: value)
    }

    private static func decode(_ text: ArraySlice<UInt8>, plus: Bool) throws(Failure) -> [UInt8] {
        guard let bytes = percentDecode(text, plus: plus) else { throw .percentEncoding }
        guard isUTF8(bytes) else { throw .notUTF8 }
        return bytes
    }

    /// The value of the first parameter of that name.
    public func parameter(_ name: String) -> [UInt8]? {
        parameters.first { $0.name == name }?.value
    }
}

private func isUTF8(_ bytes: [UInt8]) -> Bool {
    !bytes.contains { $0 >= 0x80 } || String(validating: bytes, as: UTF8.self) != nil
}
