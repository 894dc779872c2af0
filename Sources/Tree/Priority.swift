// Priorities: a number or a text that any leaf or node may have, by which its siblings are ordered.

/// The name under which a priority is written.
public let priorityName = Array(".priority".utf8)

/// Whether a name is `.priority`, under which a priority is written and never a child.
public func isPriority(_ name: [UInt8]) -> Bool {
    name.count == priorityName.count && name[0] == UInt8(ascii: ".") && name == priorityName
}

extension Path {
    /// Whether the place is the priority of a value.
    public var isPriorityPlace: Bool { segments.last.map(isPriority) ?? false }
}

extension Value {
    /// The value without its own priority; its children keep theirs.
    public var plain: Value {
        if case .prioritized(let value, _) = self { value } else { self }
    }

    /// The priority: a number or a text, null where there is none.
    public var priority: Value {
        if case .prioritized(_, let priority) = self { priority } else { .null }
    }

    /// The value with another priority. An absent value has none.
    ///
    /// - Parameter priority: a number, a text, or null for none; anything else counts as null.
    public func with(priority: Value) -> Value {
        let value = plain
        if value.isNull { return .null }
        switch priority {
        case .int, .double, .string: return .prioritized(value, priority: priority)
        case .null, .bool, .object, .prioritized: return value
        }
    }
}

extension Children {
    /// The children by priority, then by key: no priority, numbers, texts.
    public var inPriorityOrder: [(key: ChildKey, value: Value)] {
        var all: [(key: ChildKey, value: Value)] = []
        var hasPriority = false
        for child in self {
            if case .prioritized = child.value { hasPriority = true }
            all.append(child)
        }
        guard hasPriority else { return all }
        all.sort {
            let order = $0.value.priority.rankOrder($1.value.priority)
            return order != 0 ? order < 0 : $0.key < $1.key
        }
        return all
    }
}
