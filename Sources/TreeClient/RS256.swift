internal import CCrypto

/// Signatures by RS256 (RFC 7518 section 3.3).
public enum RS256 {
    /// Whether a signature over a text is the key's.
    ///
    /// - Parameters:
    ///   - modulus: `n` of the public key, big-endian.
    ///   - exponent: `e`, big-endian.
    public static func verifies(
        _ signature: [UInt8], over text: [UInt8], modulus: [UInt8], exponent: [UInt8]
    ) -> Bool {
        unsafe fb_rs256_verify(
            modulus, modulus.count, exponent, exponent.count, text, text.count, signature,
            signature.count) == 1
    }
}
