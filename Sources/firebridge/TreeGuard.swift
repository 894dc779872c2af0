internal import EventLoop
internal import TreeAuth
internal import TreeClient
internal import TreeRules

/// What guards a tree: the files of `--rules` and `--jwks`.
enum TreeGuard {
    /// What is wrong with a file, line by line.
    struct Failure: Error {
        var lines: [String]
        var code = ExitCode.configuration

        /// Tells all of it, and gives the exit code back.
        @discardableResult
        func tell() -> Int32 {
            for line in lines { _ = Output.fail("tree: \(line)", code: 0) }
            return code
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
    private(set) var authority: Authority
    private var stamp: File.Stamp?
    private var checkedAt: Int64

    /// How often it is looked at, in milliseconds.
    private static let interval: Int64 = 5000

    init(_ path: String) throws(TreeGuard.Failure) {
        self.path = path
        // Taken before reading: a change in between is seen the next time.
        stamp = File.stamp(path)
        checkedAt = Clock.now().wall
        authority = try TreeGuard.authority(path)
    }

    /// When to look again, in milliseconds since 1970.
    var due: Int64 { checkedAt + Self.interval }

    /// Whether there are other keys than before. A file that cannot be used is told once, and the
    /// last keys count on.
    mutating func haveChanged(at now: Int64) -> Bool {
        guard now >= due || now < checkedAt else { return false }
        checkedAt = now
        guard let found = File.stamp(path), found != stamp else { return false }
        stamp = found
        do {
            authority = try TreeGuard.authority(path)
            return true
        } catch {
            error.tell()
            return false
        }
    }
}
