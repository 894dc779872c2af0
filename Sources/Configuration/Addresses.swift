/// `host:port`, `[v6]:port` or `host` taken apart; nil where it is neither.
func splitHostAndPort(_ text: String) -> (host: String, port: UInt16?)? {
    let bytes = Array(text.utf8)
    var host = bytes[...]
    var rest = bytes[bytes.endIndex...]
    if bytes.first == UInt8(ascii: "[") {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
        host = bytes[1..<end]
        rest = bytes[(end + 1)...]
        guard host.allSatisfy(isIPv6Byte), host.contains(UInt8(ascii: ":")) else { return nil }
    } else {
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            host = bytes[..<colon]
            rest = bytes[colon...]
        }
        guard !host.isEmpty, host.allSatisfy(isHostByte) else { return nil }
    }
    let name = String(decoding: host, as: UTF8.self)
    guard !rest.isEmpty else { return (name, nil) }
    guard rest.first == UInt8(ascii: ":"), let port = decimalPort(rest.dropFirst()) else {
        return nil
    }
    return (name, port)
}

private func decimalPort(_ digits: ArraySlice<UInt8>) -> UInt16? {
    guard (1...5).contains(digits.count),
        digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return UInt16(String(decoding: digits, as: UTF8.self))
}

private func isHostByte(_ byte: UInt8) -> Bool {
    isWordByte(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
}

private func isIPv6Byte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
        UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
        true
    default: false
    }
}

/// Whether a host is an address to listen on: names are not looked up.
func isListenHost(_ host: String) -> Bool {
    sameBytes(host, "localhost") || host.utf8.contains(UInt8(ascii: ":")) || isIPv4(host)
}

private func isIPv4(_ host: String) -> Bool {
    let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 4
        && parts.allSatisfy { part in
            part.count <= 3 && UInt8(String(decoding: part, as: UTF8.self)) != nil
                && part.first != UInt8(ascii: "+")
        }
}

/// Whether a host is this machine.
func isLoopback(_ host: String) -> Bool {
    sameBytes(host, "localhost") || sameBytes(host, "::1")
        || isIPv4(host) && host.utf8.starts(with: "127.".utf8)
}

/// Whether librdkafka can make a broker of this: `[protocol://]host[:port]`.
func isBroker(_ text: String) -> Bool {
    var address = Array(text.utf8)
    if let slash = address.firstIndex(of: UInt8(ascii: "/")) {
        let scheme = address[..<slash]
        guard scheme.last == UInt8(ascii: ":"), scheme.dropLast().allSatisfy(isWordByte),
            scheme.count > 1, address[slash...].starts(with: "//".utf8)
        else { return false }
        address.removeFirst(slash + 2)
    }
    guard let parts = splitHostAndPort(String(decoding: address, as: UTF8.self)) else {
        return false
    }
    return parts.port != 0
}

/// What the configuration has to know of a database's URL.
struct DatabaseURL {
    let isSecure: Bool
    let host: String
    /// How many keys its path has.
    let rootDepth: Int

    /// Why a URL cannot be a database's: what was expected. It never quotes the URL, which may hold
    /// a secret.
    struct Mismatch: Error { let expected: String }

    /// Takes a URL apart.
    init(_ text: String) throws(Mismatch) {
        var rest = Array(text.utf8)[...]
        func fail(_ expected: String) -> Mismatch { Mismatch(expected: expected) }
        guard rest.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            throw fail("a URL of printable ASCII without spaces")
        }
        if rest.starts(with: "https://".utf8) {
            isSecure = true
            rest = rest.dropFirst(8)
        } else if rest.starts(with: "http://".utf8) {
            isSecure = false
            rest = rest.dropFirst(7)
        } else {
            throw fail("a URL that begins with https:// (or http://)")
        }
        guard !rest.contains(UInt8(ascii: "#")) else { throw fail("a URL without '#'") }
        let query = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = rest[..<query].firstIndex(of: UInt8(ascii: "/")) ?? query
        let authority = rest[..<path]
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw fail("a URL without user name and password (see database.credentials)")
        }
        guard let parts = splitHostAndPort(String(decoding: authority, as: UTF8.self)),
            parts.port != 0
        else { throw fail("a URL with a host and, where needed, a port") }
        host = parts.host
        rootDepth = rest[path..<query].split(separator: UInt8(ascii: "/")).count
        try Self.checkPath(rest[path..<query])
        try Self.checkQuery(rest[query...].dropFirst())
    }

    private static func checkPath(_ path: ArraySlice<UInt8>) throws(Mismatch) {
        guard !path.reversed().starts(with: ".json".utf8.reversed()) else {
            throw Mismatch(expected: "a URL without .json at its end")
        }
        guard !path.contains(where: { ".$[]".utf8.contains($0) }) else {
            throw Mismatch(expected: "a path in the URL without '.', '$', '[' and ']'")
        }
    }

    private static func checkQuery(_ query: ArraySlice<UInt8>) throws(Mismatch) {
        guard !query.isEmpty else { return }
        guard query.starts(with: "ns=".utf8), query.count > 3,
            query.dropFirst(3).allSatisfy({ isWordByte($0) || $0 == UInt8(ascii: "-") })
        else { throw Mismatch(expected: "a URL with no query but ns=NAME") }
    }
}
