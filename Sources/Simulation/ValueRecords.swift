internal import BridgeCore
internal import Oracle

/// Records of the general mapping, `as: value`, and what they must leave: guarded documents that
/// are set, and notes that are merged.
struct ValueRecords {
    static let documents = "app.documents"
    static let notes = "app.notes"

    /// The contract's default mappings, and these two where there are records of them.
    static func plan(byArrival: Bool, valueRecords: Int) -> MirrorPlan {
        var mappings = MirrorPlan.standard.mappings
        for index in mappings.indices where byArrival {
            guard case .chunk(let node, _) = mappings[index].form else { continue }
            mappings[index].form = .chunk(node: node, index: .arrival)
        }
        do {
            guard valueRecords > 0 else { return try MirrorPlan(mappings: mappings) }
            var document = Mapping.ValueMapping(
                node: try Template("documents/{key}/info"), value: JSONPointer("/info"))
            document.guardedBy = [JSONPointer("/version")!]
            if mergesDocuments(valueRecords) { document.write = .merge }
            var note = Mapping.ValueMapping(node: try Template("notes/{key}"))
            note.write = .merge
            return try MirrorPlan(
                mappings: mappings + [
                    Mapping(topic: documents, form: .value(document)),
                    Mapping(topic: notes, form: .value(note)),
                ])
        } catch {
            preconditionFailure("the mappings are valid: \(error)")
        }
    }

    /// Whether documents are merged, which leaves the same: each has all members.
    private static func mergesDocuments(_ count: Int) -> Bool { count % 2 == 1 }

    private(set) var records: [(topic: String, key: [UInt8], value: [UInt8]?, fate: Fate)] = []
    /// The value nodes that they leave.
    private(set) var tree = Node.object([:])
    private var versions: [[UInt8]: Int] = [:]

    typealias Fate = LoggedRecord.Fate

    init(count: Int, faults: Faults, random: inout SplitMix64) {
        let merges = Self.mergesDocuments(count)
        let keys = ["a.b", "c", "é"].map { Array($0.utf8) }
        for number in 0..<count {
            let key = random.pick(keys)
            if random.chance(0.5) {
                addDocument(key, number, merges, faults, &random)
            } else {
                addNote(key, number, faults, &random)
            }
        }
    }

    private mutating func addDocument(
        _ key: [UInt8], _ number: Int, _ merges: Bool, _ faults: Faults,
        _ random: inout SplitMix64
    ) {
        let path = [escaped("documents"), Key.escape(key), escaped("info")]
        let version = random.int(0..<20)
        let info = Node.object(of: [("n", .integer(number)), ("list", .text("\(version)"))])
        func document(_ info: Node?, _ version: Int?) -> [UInt8] {
            Node.object(of: [("info", info), ("version", version.map(Node.integer))])!.json
        }
        if random.chance(faults.badRecord) {
            add(Self.documents, key, document(info, nil), .rejected(.missingField))
        }
        if random.chance(faults.poisonRecord) {
            let info = merges ? Node.object(of: [("n", .string(poison))]) : .string(poison)
            add(Self.documents, key, document(info, version + 3), .harmless)
        }
        guard !random.chance(0.1) else {
            tree.set(path, nil)
            versions[key] = nil
            return add(Self.documents, key, nil, .effect)
        }
        if version > versions[key] ?? -1 {
            tree.set(path, info)
            versions[key] = version
        }
        add(Self.documents, key, document(info, version), .effect)
    }

    private mutating func addNote(
        _ key: [UInt8], _ number: Int, _ faults: Faults, _ random: inout SplitMix64
    ) {
        let path = [escaped("notes"), Key.escape(key)]
        if random.chance(faults.poisonRecord) {
            add(Self.notes, key, Node.object(of: [("x", .string(poison))])!.json, .harmless)
        }
        guard !random.chance(0.1) else {
            tree.set(path, nil)
            return add(Self.notes, key, nil, .effect)
        }
        var members: [String] = []
        for name in ["x", "y", "z"] where random.chance(0.5) {
            let isNull = random.chance(0.2)
            tree.set(path + [escaped(name)], isNull ? nil : .integer(number))
            members.append("\"\(name)\":\(isNull ? "null" : "\(number)")")
        }
        add(Self.notes, key, Array("{\(members.joined(separator: ","))}".utf8), .effect)
    }

    private mutating func add(_ topic: String, _ key: [UInt8], _ value: [UInt8]?, _ fate: Fate) {
        records.append((topic, key, value, fate))
    }
}

extension Node {
    static func integer(_ value: Int) -> Node { .number(Array(String(value).utf8)) }
}
