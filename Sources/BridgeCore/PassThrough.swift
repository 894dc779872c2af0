internal import JSON

/// Values that pass through as they came: numbers keep every digit, member names become keys of the
/// database, an unpaired surrogate becomes U+FFFD, the last of repeated names counts.
enum PassThrough {
    /// Appends a value of the tape.
    static func append(_ value: Int, of tape: JSONTape, to out: inout [UInt8]) {
        if isClean(value, of: tape) {
            tape.appendRaw(value, to: &out)
        } else {
            rewrite(value, of: tape, to: &out)
        }
    }

    /// A value of the tape.
    static func json(_ value: Int, of tape: JSONTape) -> [UInt8] {
        var out: [UInt8] = []
        append(value, of: tape, to: &out)
        return out
    }

    /// How deep the value's own keys go: 0 for a scalar.
    static func depth(_ value: Int, of tape: JSONTape) -> Int {
        let outer = Int(tape.tokens[value].depth)
        var deepest = outer
        for index in value..<Int(tape.tokens[value].next) {
            deepest = max(deepest, Int(tape.tokens[index].depth))
        }
        return deepest - outer
    }

    /// The length of a member name that is too long for a key, nil where there is none.
    static func overlongKey(_ value: Int, of tape: JSONTape) -> Int? {
        for index in value..<Int(tape.tokens[value].next) where tape.kind(index) == .object {
            for (name, _) in tape.members(of: index) {
                let token = tape.tokens[name]
                // Encoding makes a byte three at the most.
                guard Int(token.end - token.start) * 3 > Key.bytesMax else { continue }
                let length = Key.member(tape.text(name)).count
                if length > Key.bytesMax { return length }
            }
        }
        return nil
    }

    // Nothing to encode, nothing repeated, no surrogate without its partner.
    private static func isClean(_ value: Int, of tape: JSONTape) -> Bool {
        for index in value..<Int(tape.tokens[value].next) {
            let token = tape.tokens[index]
            switch token.kind {
            case .string: if token.hasLoneSurrogate { return false }
            case .object: if !hasCleanNames(index, of: tape) { return false }
            default: continue
            }
        }
        return true
    }

    private static func hasCleanNames(_ object: Int, of tape: JSONTape) -> Bool {
        let count = tape.tokens[object].count
        var seen: Set<ArraySlice<UInt8>> = []
        for (name, _) in tape.members(of: object) {
            let token = tape.tokens[name]
            if token.isEscaped || token.start == token.end { return false }
            let bytes = tape.bytes[Int(token.start)..<Int(token.end)]
            if bytes.contains(where: Key.isForbidden) { return false }
            if count > 1, !seen.insert(bytes).inserted { return false }
        }
        return true
    }

    private static func rewrite(_ value: Int, of tape: JSONTape, to out: inout [UInt8]) {
        let token = tape.tokens[value]
        switch token.kind {
        case .object:
            var order: [[UInt8]] = []
            var last: [[UInt8]: Int] = [:]
            for (name, member) in tape.members(of: value) {
                let key = Key.member(tape.text(name))
                if last.updateValue(member, forKey: key) == nil { order.append(key) }
            }
            out.append(UInt8(ascii: "{"))
            for (position, key) in order.enumerated() {
                if position > 0 { out.append(UInt8(ascii: ",")) }
                out.appendJSONString(key)
                out.append(UInt8(ascii: ":"))
                rewrite(last[key]!, of: tape, to: &out)
            }
            out.append(UInt8(ascii: "}"))
        case .array:
            out.append(UInt8(ascii: "["))
            for (position, element) in tape.elements(of: value).enumerated() {
                if position > 0 { out.append(UInt8(ascii: ",")) }
                rewrite(element, of: tape, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .string where token.hasLoneSurrogate: out.appendJSONString(tape.text(value))
        default: out.append(contentsOf: tape.raw(value))
        }
    }
}
