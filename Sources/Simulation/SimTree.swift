internal import JSON
internal import Oracle

/// One write of a PATCH.
struct TreeWrite {
    var path: [[UInt8]]
    var value: Node?
}

/// A PATCH that breaks the rules of the protocol, which no bridge may send.
struct ProtocolBreach: Error { var message: String }

/// The simulated database: a tree with atomic multi-path PATCH, a real one's answers with their
/// arrays, and the fence rule of contract section 7.
struct SimTree {
    /// What it holds. A snapshot is a copy of this.
    var root = Node.object([:])

    private let parser = JSONParser()

    /// The writes of a PATCH body, checked as the database would.
    ///
    /// - Parameter time: what the server's clock says, for `{".sv":"timestamp"}`, in milliseconds.
    func writes(of body: [UInt8], time: Int64) throws(ProtocolBreach) -> [TreeWrite] {
        let tape: JSONTape
        do { tape = try parser.parse(body) } catch {
            throw ProtocolBreach(message: "the body is not JSON: \(error)")
        }
        guard tape.kind(0) == .object else {
            throw ProtocolBreach(message: "the body is no object")
        }
        var writes: [TreeWrite] = []
        for (name, value) in tape.members(of: 0) {
            let path = tape.text(name).split(
                separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
            ).map { Array($0) }
            let node = Node(tape, value).flatMap { resolve($0, time) }
            for key in path { try check(key) }
            try check(node, depth: path.count)
            writes.append(TreeWrite(path: path, value: node))
        }
        try checkAntichain(writes)
        return writes
    }

    /// The server's time in place of `{".sv":"timestamp"}`.
    private func resolve(_ node: Node, _ time: Int64) -> Node? {
        guard case .object(let children) = node else { return node }
        if children.count == 1, node[".sv"] == .text("timestamp") {
            return .number(Array(String(time).utf8))
        }
        let resolved = children.compactMapValues { resolve($0, time) }
        return resolved.isEmpty ? nil : .object(resolved)
    }

    private func check(_ key: [UInt8]) throws(ProtocolBreach) {
        let isForbidden = key.contains { byte in
            byte < 0x20 || byte == 0x7F || ".$#[]/".utf8.contains(byte)
        }
        guard isForbidden || key.isEmpty || key.count > 768 else { return }
        throw ProtocolBreach(message: "the key '\(String(decoding: key, as: UTF8.self))'")
    }

    private func check(_ node: Node?, depth: Int) throws(ProtocolBreach) {
        guard depth <= 32 else { throw ProtocolBreach(message: "deeper than 32") }
        guard case .object(let children)? = node else { return }
        for (key, child) in children {
            try check(key)
            try check(child, depth: depth + 1)
        }
    }

    /// No path of a PATCH may lie above another one.
    private func checkAntichain(_ writes: [TreeWrite]) throws(ProtocolBreach) {
        var paths: Set<[[UInt8]]> = []
        for write in writes where !paths.insert(write.path).inserted {
            throw ProtocolBreach(message: "\(show(write.path)) twice")
        }
        for path in paths {
            for length in 1..<path.count where paths.contains(Array(path[..<length])) {
                throw ProtocolBreach(message: "\(show(path)) and its ancestor")
            }
        }
    }

    /// Whether the shipped rules allow the writes: a fence only rises, by `(epoch, serial)`, and at
    /// an equal epoch its owner stays.
    func isFenced(_ writes: [TreeWrite]) -> Bool {
        var fences = Set<[[UInt8]]>()
        for write in writes where write.path.starts(with: fenceRoot) {
            fences.insert(Array(write.path.prefix(5)))
        }
        for path in fences {
            guard let old = Fence(root.at(path)) else { continue }
            var after = root.at(path) ?? .object([:])
            for write in writes where write.path.starts(with: path) {
                if write.path == path {
                    after = write.value ?? .object([:])
                } else {
                    after.set(Array(write.path.dropFirst(5)), write.value)
                }
            }
            guard let new = Fence(after) else { return true }
            let isRaised = new.epoch > old.epoch
            let isKept =
                new.epoch == old.epoch && new.owner == old.owner && new.serial >= old.serial
            guard isRaised || isKept else { return true }
        }
        return false
    }

    mutating func apply(_ writes: [TreeWrite]) {
        for write in writes { root.set(write.path, write.value) }
    }

    /// The answer to a GET.
    func get(_ path: [UInt8], shallow: Bool) -> [UInt8] {
        let keys = path.split(separator: UInt8(ascii: "/")).map { Array($0) }
        guard let node = root.at(keys) else { return Array("null".utf8) }
        guard shallow, case .object(let children) = node else { return restJSON(node) }
        let view = children.mapValues { child -> Node in
            if case .object = child { .bool(true) } else { child }
        }
        return Node.object(view).json
    }
}

extension SimTree {
    /// The answer to a GET of the children whose keys lie in a range, in order of keys.
    func list(_ path: [UInt8], from: [UInt8]?, through: [UInt8]?, limit: Int) -> [UInt8] {
        let keys = path.split(separator: UInt8(ascii: "/")).map { Array($0) }
        let chosen = (root.at(keys)?.children ?? []).filter { child in
            !child.key.lexicographicallyPrecedes(from ?? [])
                && !(through?.lexicographicallyPrecedes(child.key) ?? false)
        }.prefix(limit)
        guard !chosen.isEmpty else { return Array("null".utf8) }
        return restJSON(.object(Dictionary(uniqueKeysWithValues: chosen.map { ($0.key, $0.node) })))
    }
}

/// A fence as it stands in the tree.
struct Fence: Equatable {
    var epoch: Int64
    var owner: [UInt8]
    var serial: Int64
    /// When it was renewed, by the server's clock, in milliseconds; nil after a clean stop.
    var at: Int64?

    init?(_ node: Node?) {
        guard let epoch = node?["epoch"]?.integer, let owner = node?["owner"]?.text,
            let serial = node?["serial"]?.integer
        else { return nil }
        self.epoch = epoch
        self.owner = owner
        self.serial = serial
        at = node?["at"]?.integer
    }
}

private let fenceRoot = ["_firebridge", "fences"].map { Array($0.utf8) }

extension Node {
    /// The integer of a number.
    var integer: Int64? {
        guard case .number(let digits) = self else { return nil }
        return parseInt64(number: digits[...])
    }
}

/// A path as people write it.
func show(_ path: some Sequence<[UInt8]>) -> String {
    path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
}

/// JSON as the database answers it: an object whose keys are small integers, more than half of them
/// there, comes as an array.
private func restJSON(_ node: Node) -> [UInt8] {
    var out: [UInt8] = []
    func append(_ node: Node) {
        guard case .object = node else {
            out += node.json
            return
        }
        let children = node.children
        if let elements = elements(children) {
            for (index, element) in elements.enumerated() {
                out.append(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
                if let element { append(element) } else { out += "null".utf8 }
            }
            out.append(UInt8(ascii: "]"))
            return
        }
        for (index, (key, child)) in children.enumerated() {
            out.append(index == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            out.appendJSONString(key)
            out.append(UInt8(ascii: ":"))
            append(child)
        }
        out.append(UInt8(ascii: "}"))
    }
    append(node)
    return out
}

private func elements(_ children: [(key: [UInt8], node: Node)]) -> [Node?]? {
    var indexed: [(Int, Node)] = []
    for (key, node) in children {
        guard key.count < 9, key == [UInt8(ascii: "0")] || key.first != UInt8(ascii: "0"),
            let index = plainDecimal(key[...], negative: false), index < 2 * children.count
        else { return nil }
        indexed.append((Int(index), node))
    }
    var out = [Node?](repeating: nil, count: (indexed.map(\.0).max() ?? -1) + 1)
    for (index, node) in indexed { out[index] = node }
    return out
}
