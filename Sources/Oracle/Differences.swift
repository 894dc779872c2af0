public import JSON

/// How a tree differs from the one that is wanted.
public struct Difference: Hashable, Sendable, CustomStringConvertible {
    /// Where, as keys joined by `/`.
    public var path: String
    /// What is wanted there, nil for nothing.
    public var expected: Node?
    /// What is there.
    public var found: Node?

    /// `streaming/c1/7/meta/status: expected "complete", found "streaming"`.
    public var description: String {
        func show(_ node: Node?) -> String {
            guard let node else { return "nothing" }
            let text = String(decoding: node.json, as: UTF8.self)
            return text.count > 120 ? text.prefix(120) + "…" : text
        }
        return "\(path): expected \(show(expected)), found \(show(found))"
    }
}

/// Where two trees differ, in order of the paths.
public func differences(expected: Node?, found: Node?) -> [Difference] {
    var out: [Difference] = []
    compare(expected, found, at: [], into: &out)
    return out
}

/// Where the wanted tree and the answer to a GET of the root differ; `_firebridge` does not count.
///
/// - Parameter found: the JSON of the root.
/// - Throws: where `found` is not JSON.
public func differences(expected: Node?, found json: [UInt8]) throws(JSONError) -> [Difference] {
    var found = try Node.parse(json) ?? .object([:])
    found.set([Array("_firebridge".utf8)], nil)
    return differences(expected: expected, found: found == .object([:]) ? nil : found)
}

private func compare(
    _ expected: Node?, _ found: Node?, at path: [[UInt8]], into out: inout [Difference]
) {
    if case .object(let wanted) = expected, case .object(let there) = found {
        let keys = Set(wanted.keys).union(there.keys)
        for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            compare(wanted[key], there[key], at: path + [key], into: &out)
        }
    } else if !isSame(expected, found) {
        let text = String(decoding: Array(path.joined(separator: "/".utf8)), as: UTF8.self)
        out.append(Difference(path: text, expected: expected, found: found))
    }
}

/// Whether two leaves are the same; numbers are when they stand for the same one.
private func isSame(_ a: Node?, _ b: Node?) -> Bool {
    guard case .number(let a) = a, case .number(let b) = b else { return a == b }
    if a == b { return true }
    if let a = parseInt64(number: a[...]), let b = parseInt64(number: b[...]) { return a == b }
    let (x, y) = (String(decoding: a, as: UTF8.self), String(decoding: b, as: UTF8.self))
    return Double(x) == Double(y) && parseInt64(number: a[...]) == nil
        && parseInt64(number: b[...]) == nil
}
