import EventLoop
import ScriptedServer
import Testing

@testable import TreeClient

@Suite("RS256") struct RS256Tests {
    @Test("What openssl signed is verified by the key's numbers, and nothing else is")
    func verifies() throws {
        let directory = try TemporaryDirectory()
        _ = try directory.write("key.pem", ServiceAccountTests.key.get())
        let text = "header.claims"
        _ = try directory.write("text", text)
        let file = { (name: String) -> String in "\(directory.path)/\(name)" }
        try directory.run(
            "openssl", "dgst", "-sha256", "-sign", file("key.pem"), "-out", file("signature"),
            file("text"))
        try directory.run(
            "openssl", "rsa", "-in", file("key.pem"), "-noout", "-modulus", "-out", file("modulus"))
        let hex = Array(try directory.read("modulus").drop { $0 != "=" }.dropFirst())
        let modulus = stride(from: 0, to: hex.count - 1, by: 2).compactMap {
            UInt8(String(hex[$0...$0 + 1]), radix: 16)
        }
        try #require(modulus.count == 256)
        let signature = try File.read(file("signature"), bytesMax: 4096)
        func verifies(
            _ signature: [UInt8], over text: String = text, _ modulus: [UInt8] = modulus,
            _ exponent: [UInt8] = [1, 0, 1]
        ) -> Bool {
            RS256.verifies(
                signature, over: Array(text.utf8), modulus: modulus, exponent: exponent)
        }
        #expect(verifies(signature))
        #expect(!verifies(signature, over: "header.claimz"))
        #expect(!verifies(signature, over: ""))
        #expect(!verifies(Array(signature.dropLast())))
        #expect(!verifies([]))
        #expect(!verifies(Array(repeating: 0, count: 256)))
        #expect(!verifies([signature[0] ^ 1] + signature.dropFirst()))
        #expect(!verifies(signature, modulus.reversed()))
        #expect(!verifies(signature, [], []))
        #expect(!verifies(signature, modulus, [3]))
    }
}
