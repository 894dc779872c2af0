internal import JSON

/// An RSA public key, its numbers as big-endian bytes.
public struct RSAPublicKey: Hashable, Sendable {
    /// `n`.
    public var modulus: [UInt8]
    /// `e`.
    public var exponent: [UInt8]

    /// Makes a key of its numbers.
    public init(modulus: [UInt8], exponent: [UInt8]) {
        self.modulus = modulus
        self.exponent = exponent
    }
}

/// Why a file is not a key set.
public struct KeySetError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public var description: String
}

/// The keys that may sign tokens: a JSON Web Key Set (RFC 7517), as Google publishes it for
/// Firebase's ID tokens. Keys that are not for RS256 are passed over.
///
/// A member `aud` beside `keys`, a text or a list, names the Firebase projects whose users count.
/// Google's own keys sign for every project: without it, every project's users do.
///
/// A key with a member `"firebridge:owner": true` may sign access tokens that make an owner; no
/// other does.
public struct KeySet: Equatable, Sendable {
    /// One key.
    struct Key: Equatable, Sendable {
        var id: [UInt8]?
        var key: RSAPublicKey
        /// Whether what it signs may make an owner.
        var isOwners = false
    }

    var keys: [Key] = []
    var audiences: [[UInt8]]?

    /// Reads a key set.
    public init(parsing json: [UInt8]) throws(KeySetError) {
        guard let tape = try? JSONParser().parse(json, depthMax: 16) else {
            throw KeySetError(description: "expected JSON")
        }
        guard let list = tape.member(Array("keys".utf8), of: 0), tape.kind(list) == .array else {
            throw KeySetError(description: "expected an object with a list \"keys\"")
        }
        for (index, element) in tape.elements(of: list).enumerated() {
            if let key = try Self.key(tape, element, index) { keys.append(key) }
        }
        guard !keys.isEmpty else {
            throw KeySetError(description: "expected at least one RSA key for RS256, found none")
        }
        audiences = try Self.audiences(tape)
    }

    private static func key(
        _ tape: JSONTape, _ element: Int, _ index: Int
    ) throws(KeySetError) -> Key? {
        func text(_ name: String) -> [UInt8]? {
            guard let value = tape.member(Array(name.utf8), of: element),
                tape.kind(value) == .string
            else { return nil }
            return tape.text(value)
        }
        guard tape.kind(element) == .object, let type = text("kty") else {
            throw KeySetError(description: "keys[\(index)]: expected an object with \"kty\"")
        }
        guard type == Array("RSA".utf8), text("use").map({ $0 == Array("sig".utf8) }) ?? true,
            text("alg").map({ $0 == Array("RS256".utf8) }) ?? true
        else { return nil }
        guard let n = text("n").flatMap({ base64URLDecoded($0[...]) }),
            let e = text("e").flatMap({ base64URLDecoded($0[...]) })
        else {
            throw KeySetError(
                description: "keys[\(index)]: expected \"n\" and \"e\" in base64url")
        }
        let modulus = Array(n.drop { $0 == 0 })
        let exponent = e.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard modulus.count >= 256, modulus.count <= 2048, e.count <= 8, exponent >= 3,
            exponent & 1 == 1
        else {
            throw KeySetError(
                description:
                    "keys[\(index)]: expected an RSA key of at least 2048 bits with an odd "
                    + "exponent, found \(modulus.count * 8) bits")
        }
        return Key(
            id: text("kid"), key: RSAPublicKey(modulus: modulus, exponent: e),
            isOwners: try isOwners(tape, element, index))
    }

    private static func isOwners(
        _ tape: JSONTape, _ element: Int, _ index: Int
    ) throws(KeySetError) -> Bool {
        guard let value = tape.member(Array(ownerMark.utf8), of: element) else { return false }
        switch tape.kind(value) {
        case .true: return true
        case .false: return false
        default:
            throw KeySetError(
                description: "keys[\(index)]: \(ownerMark): expected true or false")
        }
    }

    private static func audiences(_ tape: JSONTape) throws(KeySetError) -> [[UInt8]]? {
        guard let value = tape.member(Array("aud".utf8), of: 0) else { return nil }
        let elements = tape.kind(value) == .array ? Array(tape.elements(of: value)) : [value]
        guard !elements.isEmpty, elements.allSatisfy({ tape.kind($0) == .string }) else {
            throw KeySetError(description: "aud: expected a text or a list of texts")
        }
        return elements.map { tape.text($0) }
    }

    /// The keys that a token may be signed by: the one that it names, else all.
    func candidates(for id: [UInt8]?) -> [Key] {
        keys.filter { id == nil || $0.id == id }
    }

    /// The member of a key that may make owners.
    static let ownerMark = "firebridge:owner"
}
