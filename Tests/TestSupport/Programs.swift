import EventLoop
import Glibc

/// Why a test could not begin.
public struct SetupFailure: Error, CustomStringConvertible {
    /// What is missing.
    public var description: String

    /// Makes a failure.
    public init(_ description: String) { self.description = description }
}

/// The repository's directory.
public let repository = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

/// The shared folder: beside the repository, or where the environment says.
public let shared =
    Environment.value("FIREBRIDGE_SHARED")
    ?? repository.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/shared"

/// Whether there is something to read at a path.
public func isThere(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

/// A program of this package: beside the tests, or where the build puts it.
public func builtProgram(_ name: String) throws -> String {
    var here = [UInt8](repeating: 0, count: 4096)
    let count = unsafe here.withUnsafeMutableBytes {
        unsafe readlink("/proc/self/exe", $0.baseAddress!, $0.count)
    }
    let tests = String(decoding: here.prefix(max(count, 0)), as: UTF8.self)
    let beside = tests.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    let candidates = [beside, repository + "/.build/debug", repository + "/.build/release"]
        .map { "\($0)/\(name)" }
    guard let found = candidates.first(where: { unsafe access($0, X_OK) == 0 }) else {
        throw SetupFailure("\(name) is not built; looked for \(candidates)")
    }
    return found
}

/// Runs a command to its end and returns its exit status.
public func shell(_ command: String) -> Int32 {
    let words = ["sh", "-c", command]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var pid: Int32 = 0
    var status: Int32 = 0
    guard unsafe posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, environ) == 0 else { return -1 }
    _ = unsafe waitpid(pid, &status, 0)
    return status
}

/// A name that no other test uses.
public func uniqueName(_ base: String) -> String {
    "\(base)-\(getpid())-\(UInt32.random(in: 0 ... .max))"
}

/// Whether a process is there and not a zombie.
public func isAlive(_ pid: Int32) -> Bool {
    guard let stat = try? File.read("/proc/\(pid)/stat", bytesMax: 4096) else { return false }
    let text = String(decoding: stat, as: UTF8.self)
    return text.split(separator: ")").last.map { !$0.hasPrefix(" Z") } ?? false
}
