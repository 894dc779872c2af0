internal import JSON
public import Tree

/// A JSON object as a value: names are free, a null is as good as absent, a list has its indexes as
/// names. Nil where the text is no JSON object.
public func claims(parsing json: [UInt8]) -> Value? {
    guard let tape = try? JSONParser().parse(json, depthMax: 32), tape.kind(0) == .object else {
        return nil
    }
    // An object without members is not a value, but claims all the same.
    return value(tape, 0)
}

private func value(_ tape: JSONTape, _ index: Int) -> Value {
    switch tape.kind(index) {
    case .null: return .null
    case .true: return true
    case .false: return false
    case .string: return .string(tape.text(index))
    case .number:
        if let integer = tape.int64(index) { return .int(integer) }
        let number = Double(String(decoding: tape.raw(index), as: UTF8.self)) ?? 0
        return number.isFinite ? .number(number) : .null
    case .object:
        return .node(
            tape.members(of: index).map { (name: tape.text($0.name), value: value(tape, $0.value)) }
        )
    case .array:
        return .node(
            tape.elements(of: index).enumerated().map {
                (name: Array(String($0.offset).utf8), value: value(tape, $0.element))
            })
    }
}

extension Value {
    func text(_ name: String) -> [UInt8]? {
        if case .string(let text) = self[Array(name.utf8)] { text } else { nil }
    }

    /// Seconds, whole or not, in milliseconds.
    func milliseconds(_ name: String) -> Int64? {
        switch self[Array(name.utf8)] {
        case .int(let seconds) where seconds.magnitude < 1 << 50: seconds * 1000
        case .double(let seconds) where seconds.magnitude < 0x1p50: Int64(seconds * 1000)
        default: nil
        }
    }
}
