internal import EventLoop
internal import TreeAuth
internal import TreeClient
internal import TreeRules

/// What guards a tree: the files of `--rules` and `--jwks`.
enum TreeGuard {
    /// What is wrong with a file, line by line.
    struct Failure: Error {
        var lines: [String]

        /// Tells all of it, and gives the exit code back.
        @discardableResult
        func tell() -> Int32 {
            for line in lines { _ = Output.fail("tree: \(line)", code: 0) }
            return ExitCode.configuration
        }
    }

    private static let bytesMax = 16 * 1024 * 1024

    /// The rules in a file.
    static func rules(_ path: String) throws(Failure) -> Rules {
        let text = try read(path, "--rules")
        do {
            return try Rules(text)
        } catch {
            throw Failure(
                lines: error.issues.map { "\(path):\($0.line):\($0.column): \($0.message)" })
        }
    }

    /// Tokens count that the keys in a file have signed.
    static func authority(_ path: String) throws(Failure) -> Authority {
        let text = try read(path, "--jwks")
        do throws(KeySetError) {
            let keys = try KeySet(parsing: text)
            return .keys(keys) { key, text, signature in
                RS256.verifies(
                    signature, over: text, modulus: key.modulus, exponent: key.exponent)
            }
        } catch {
            throw Failure(lines: ["--jwks: \(path): \(error)"])
        }
    }

    private static func read(_ path: String, _ flag: String) throws(Failure) -> [UInt8] {
        do {
            return try File.read(path, bytesMax: bytesMax)
        } catch {
            throw Failure(lines: ["\(flag): \(error)"])
        }
    }
}

/// The file of `--jwks`, read again when it has changed: Google's keys change every day or so.
struct WatchedKeys {
    private let path: String
    private var stamp: File.Stamp?
    private var checkedAt: Int64

    /// How often it is looked at, in milliseconds.
    private static let interval: Int64 = 5000

    init(_ path: String, at now: Int64) {
        self.path = path
        stamp = File.stamp(path)
        checkedAt = now
    }

    /// When to look again, in milliseconds since 1970.
    var due: Int64 { checkedAt + Self.interval }

    /// The new keys, where the file has changed. One that cannot be used is told once, and the
    /// keys before it count on.
    mutating func changed(at now: Int64) -> Authority? {
        guard now >= due || now < checkedAt else { return nil }
        checkedAt = now
        guard let found = File.stamp(path), found != stamp else { return nil }
        stamp = found
        do {
            return try TreeGuard.authority(path)
        } catch {
            error.tell()
            return nil
        }
    }
}
