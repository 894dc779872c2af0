extension RulesNode {
    /// The node as strict JSON, its members in their order.
    func appendStrict(to out: inout [UInt8]) {
        switch content {
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                appendString(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.appendStrict(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.appendStrict(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .string(let text, _): appendString(text, to: &out)
        case .bool(let flag): out.append(contentsOf: (flag ? "true" : "false").utf8)
        case .number, .null: out.append(contentsOf: "null".utf8)  // nowhere in rules
        }
    }

    private func appendString(_ text: [UInt8], to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(contentsOf: [0x5C, byte])
            case 0x0A: out.append(contentsOf: "\\n".utf8)
            case 0..<0x20:
                let hex = String(byte, radix: 16)
                out.append(contentsOf: (byte < 0x10 ? "\\u000\(hex)" : "\\u00\(hex)").utf8)
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}
