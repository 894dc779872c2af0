internal import JSON

/// A JSON value in the making, its members in the order given.
enum Draft {
    case text(String)
    case integer(Int64)
    case flag(Bool)
    case null
    case list([Draft])
    case object([(String, Draft)])

    var json: [UInt8] {
        var out: [UInt8] = []
        append(to: &out)
        return out
    }

    private func append(to out: inout [UInt8]) {
        switch self {
        case .text(let text): out.appendJSONString(text)
        case .integer(let number): out.appendDecimal(number)
        case .flag(let truth): out += (truth ? "true" : "false").utf8
        case .null: out += "null".utf8
        case .list(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.append(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, (name, member)) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                out.appendJSONString(name)
                out.append(UInt8(ascii: ":"))
                member.append(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }
}
