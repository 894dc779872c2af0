internal import JSON

/// Writes JSON for people and scripts, member by member.
struct JSONText {
    private(set) var bytes: [UInt8] = []

    mutating func object(_ body: (inout JSONText) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        body(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func member(_ name: String, _ value: String) {
        key(name)
        bytes.appendJSONString(value)
    }

    mutating func member(_ name: String, _ value: Int64) {
        key(name)
        bytes.appendDecimal(value)
    }

    mutating func member(_ name: String, _ value: Bool) {
        key(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func member(_ name: String, list: [String]) {
        key(name)
        bytes.append(UInt8(ascii: "["))
        for (index, text) in list.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.appendJSONString(text)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func array<Element>(
        _ name: String, _ elements: [Element], _ body: (inout JSONText, Element) -> Void
    ) {
        key(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            object { body(&$0, element) }
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func key(_ name: String) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        bytes.appendJSONString(name)
        bytes.append(UInt8(ascii: ":"))
    }
}
