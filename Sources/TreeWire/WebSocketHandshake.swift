internal import Tree

/// The opening of a WebSocket connection (RFC 6455, section 4.2).
public enum WebSocketHandshake {
    /// `Sec-WebSocket-Accept` for a client's `Sec-WebSocket-Key`; nil where that is not the base64
    /// of 16 bytes.
    public static func accept(_ key: String) -> String? {
        let bytes = Array(key.utf8)
        guard bytes.count == 24, bytes.suffix(2).elementsEqual("==".utf8),
            bytes.dropLast(2).allSatisfy(isBase64)
        else { return nil }
        let text = bytes + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        return String(decoding: base64(SHA1.digest(text)), as: UTF8.self)
    }
}

private func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        true
    default: false
    }
}
