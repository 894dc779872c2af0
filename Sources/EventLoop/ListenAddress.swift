/// Where a server listens: `127.0.0.1:9000`, `localhost:9000`, `[::1]:9000`. Port 0 lets the system
/// choose.
public struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A numeric address, or a name that resolves to one; without brackets.
    public var host: String
    /// The port.
    public var port: UInt16

    /// Makes an address of its parts.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`; nil where the text is not that.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        var host = text[..<colon]
        let digits = text[text.index(after: colon)...]
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(digits) else {
            return nil
        }
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// As `init` reads it.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
