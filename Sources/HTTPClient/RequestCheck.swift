extension HTTPRequest {
    /// Why the request may not be sent, nil where it may. Keeps what came from outside (an id, a
    /// configured token) from becoming a second header or another URL.
    func defect(allowPlainHTTP: Bool) -> String? {
        let schemes = allowPlainHTTP ? ["https://", "http://"] : ["https://"]
        if !schemes.contains(where: url.hasPrefix) {
            return "expected a URL that begins with \(schemes.joined(separator: " or "))"
        }
        if !url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) || url.utf8.contains(0x23) {
            return "expected a URL of visible ASCII without fragment"
        }
        if let query = secretQuery?.reveal(), !query.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            return "expected a query of visible ASCII"
        }
        if method.isEmpty || !method.utf8.allSatisfy(isTokenByte) {
            return "expected a method of letters"
        }
        for (name, value) in headers {
            if name.isEmpty || !name.utf8.allSatisfy(isTokenByte) {
                return "expected a header name of letters, digits and -"
            }
            if !value.bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) {
                return "the value of \(name) holds a line end or another control character"
            }
        }
        return nil
    }
}

/// Whether the byte may stand in a token of RFC 9110: the part of them that anybody uses.
private func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
    default: false
    }
}
