/// An absolute URL, taken apart as far as trust decisions need it. Anything that two parsers could
/// read differently (user info, backslashes, blanks, percent signs in the host) is no URL here.
struct URLParts: Equatable {
    /// In lower case.
    var scheme: String
    /// In lower case; an IPv6 address with its brackets.
    var host: String
    /// Nil for the scheme's default.
    var port: Int?
    /// Path with its query, as they stand, without fragment; begins with `/`.
    var target: String

    /// - Parameter allowsFragment: whether a `#…` is cut off instead of being a defect.
    init(_ text: String, allowsFragment: Bool = false) throws(TreeClientError) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw TreeClientError("expected a URL of visible ASCII")
        }
        guard let mark = text.firstRange(of: "://") else {
            throw TreeClientError("expected https://HOST/, found no scheme")
        }
        scheme = text[..<mark.lowerBound].lowercased()
        var rest = text[mark.upperBound...]
        if let fragment = rest.firstIndex(of: "#") {
            guard allowsFragment else { throw TreeClientError("expected no fragment (#…)") }
            rest = rest[..<fragment]
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        target = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
        guard !authority.contains("@") else {
            throw TreeClientError("expected no user name or password before the host")
        }
        (host, port) = try Self.split(authority)
    }

    private static func split(_ authority: Substring) throws(TreeClientError) -> (String, Int?) {
        var host = authority
        var port: Int?
        let afterAddress = authority.lastIndex(of: "]") ?? authority.startIndex
        if let colon = authority[afterAddress...].firstIndex(of: ":") {
            host = authority[..<colon]
            let digits = authority[authority.index(after: colon)...]
            guard digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(digits),
                (1...65_535).contains(number)
            else { throw TreeClientError("expected a port of 1...65535, found \(digits)") }
            port = number
        }
        guard isHost(host) else {
            throw TreeClientError("expected a host name or address, found \"\(host)\"")
        }
        return (host.lowercased(), port)
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = host.dropFirst().dropLast()
            return !address.isEmpty
                && address.utf8.allSatisfy { isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }
        }
        return !host.isEmpty
            && host.utf8.allSatisfy {
                isUnreserved($0) && $0 != UInt8(ascii: "~")
            }
    }

    /// `https://host:port`.
    var origin: String { "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "") }

    /// The port, the scheme's default included.
    var effectivePort: Int { port ?? (scheme == "http" ? 80 : 443) }

    /// Whether the host is this machine.
    var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || host == "0.0.0.0" || ipv4.map { $0[0] == 127 } == true
    }

    /// Whether the host is one of a private network: an address of RFC 1918, or a name without dots
    /// or in a domain that no public name can have (containers, Kubernetes services).
    var isPrivate: Bool {
        if let ipv4 {
            return ipv4[0] == 10 || ipv4[0] == 192 && ipv4[1] == 168
                || ipv4[0] == 172 && (16...31).contains(ipv4[1])
        }
        return !host.contains(".") && !host.hasPrefix("[")
            || [".local", ".internal", ".test"].contains(where: host.hasSuffix)
    }

    private var ipv4: [Int]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 4 else { return nil }
        let numbers = parts.compactMap { $0 }.filter { (0...255).contains($0) }
        return numbers.count == 4 ? numbers : nil
    }
}

func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
}

/// RFC 3986's unreserved characters.
func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        true
    default: false
    }
}

/// The bytes for a URL, everything but unreserved characters percent-encoded.
///
/// - Parameter keepsSlash: whether `/` stays, as between the keys of a path.
func percentEncoded(_ bytes: some Sequence<UInt8>, keepsSlash: Bool = false) -> String {
    var out: [UInt8] = []
    for byte in bytes {
        if isUnreserved(byte) || keepsSlash && byte == UInt8(ascii: "/") {
            out.append(byte)
        } else {
            out.append(UInt8(ascii: "%"))
            out.append(contentsOf: hexDigits[Int(byte >> 4)])
            out.append(contentsOf: hexDigits[Int(byte & 15)])
        }
    }
    return String(decoding: out, as: UTF8.self)
}

/// The bytes of a percent-encoded text, nil where a `%` is followed by anything but two digits.
func percentDecoded(_ text: some StringProtocol) -> [UInt8]? {
    let bytes = Array(text.utf8)
    var out: [UInt8] = []
    var index = 0
    while index < bytes.count {
        guard bytes[index] == UInt8(ascii: "%") else {
            out.append(bytes[index])
            index += 1
            continue
        }
        guard index + 2 < bytes.count, isHexDigit(bytes[index + 1]), isHexDigit(bytes[index + 2]),
            let byte = UInt8(
                String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
        else { return nil }
        out.append(byte)
        index += 3
    }
    return out
}

private let hexDigits = "0123456789ABCDEF".utf8.map { [$0] }
