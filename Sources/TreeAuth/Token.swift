internal import Tree

/// A JSON Web Token (RFC 7519) in its compact form, taken apart and not yet believed.
struct Token {
    /// The longest that is looked at, in bytes.
    static let bytesMax = 65_536

    var algorithm: [UInt8]
    var keyID: [UInt8]?
    var claims: Value
    /// What the signature is over.
    var signed: [UInt8]
    var signature: [UInt8]

    init?(_ text: [UInt8]) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.count <= Self.bytesMax, parts.count == 3,
            let header = base64URLDecoded(parts[0]).flatMap(TreeAuth.claims(parsing:)),
            let claims = base64URLDecoded(parts[1]).flatMap(TreeAuth.claims(parsing:)),
            let signature = base64URLDecoded(parts[2]), let algorithm = header.text("alg")
        else { return nil }
        // What must be understood, and is not: RFC 7515, section 4.1.11.
        guard case .null = header[Array("crit".utf8)] else { return nil }
        self.algorithm = algorithm
        keyID = header.text("kid")
        self.claims = claims
        signed = Array(text[..<parts[1].endIndex])
        self.signature = signature
    }
}
