import EventLoop
import Testing

/// A directory that goes with the test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        let name = randomBytes(8).map { String($0, radix: 16) }.joined()
        path = "/tmp/firebridge-test-\(name)"
        _ = try Subprocess(["mkdir", path]).wait(timeout: .seconds(10))
    }

    deinit { _ = try? Subprocess(["rm", "-rf", path]).wait(timeout: .seconds(10)) }

    func run(_ arguments: String...) throws {
        let process = try Subprocess(arguments, directory: path)
        #expect(process.wait(timeout: .seconds(10)) == .code(0))
    }
}

@Suite struct FileTests {
    let directory: TemporaryDirectory
    var path: String { directory.path + "/file" }

    init() throws { directory = try TemporaryDirectory() }

    @Test func `A file that was written is read back, with the mode asked for`() throws {
        try File.write(path, Array("hello".utf8), mode: 0o600)
        #expect(try File.read(path, bytesMax: 5) == Array("hello".utf8))
        #expect(try File.readSecret(path).warning == nil)
        try File.write(path, [], mode: 0o600)
        #expect(try File.read(path, bytesMax: 5) == [])
    }

    @Test func `A file larger than allowed is refused, with the limit in the error`() throws {
        try File.write(path, [UInt8](repeating: 65, count: 100_001))
        let error = #expect(throws: SystemError.self) { try File.read(path, bytesMax: 100_000) }
        #expect(error?.description == "read \(path): expected at most 100000 bytes")
    }

    @Test func `A FIFO or a directory is refused and does not block`() throws {
        try directory.run("mkfifo", "fifo")
        #expect(throws: SystemError.self) { try File.read(directory.path + "/fifo", bytesMax: 9) }
        #expect(throws: SystemError.self) { try File.read(directory.path, bytesMax: 9) }
    }

    @Test func `A missing file is told from others`() {
        let error = #expect(throws: SystemError.self) { try File.read(path, bytesMax: 9) }
        #expect(error?.isNotFound == true)
        #expect(error?.description == "open \(path): No such file or directory")
        #expect(File.stamp(path) == nil)
    }

    @Test(arguments: [("640", "0640"), ("604", "0604"), ("777", "0777")])
    func `A secret that others may use gives a warning`(mode: String, shown: String) throws {
        try File.write(path, [1])
        try directory.run("chmod", mode, "file")
        let secret = try File.readSecret(path)
        #expect(secret.bytes == [1])
        #expect(secret.warning?.contains("mode \(shown)") == true)
    }

    /// Newer ones give the service's user access by an ACL, whose mask shows as the group's rights.
    @Test(arguments: [("440", true), ("400", true), ("460", false), ("444", false)])
    func `A credential of systemd's may have a group that reads`(
        mode: String, isFine: Bool
    ) throws {
        try File.write(path, [1])
        try directory.run("chmod", mode, "file")
        #expect(
            try (File.readSecret(path, credentials: directory.path).warning == nil) == isFine)
        // Elsewhere the same mode lets somebody read.
        let other = directory.path + "/other"
        #expect(try (File.readSecret(path, credentials: other).warning == nil) == (mode == "400"))
    }

    @Test func `A secret that belongs to neither root nor this process's user gives a warning`()
        throws
    {
        try File.write(path, [1], mode: 0o600)
        let own = ThisProcess.user
        #expect(try File.readSecret(path).warning == nil)
        // Where root tests, the file must go to another; else it is enough to be another.
        let (owner, reader) = own == 0 ? (65_534, own) : (own, own + 1)
        if own == 0 { try directory.run("chown", "\(owner)", "file") }
        let secret = try File.readSecret(path, user: reader)
        #expect(secret.bytes == [1])
        #expect(secret.warning?.contains("belongs to user \(owner), neither root nor") == true)
        #expect(secret.warning?.contains("has mode") == false)
        #expect(try File.readSecret(path, user: owner).warning == nil)
        try directory.run("chmod", "604", "file")
        let both = try File.readSecret(path, user: reader).warning
        #expect(both?.contains("mode 0604") == true && both?.contains("belongs to") == true)
    }

    @Test(.enabled(if: ThisProcess.user == 0, "skipped: only root can have root's files"))
    func `A secret of root's gives no warning to whoever reads it`() throws {
        try File.write(path, [1], mode: 0o600)
        #expect(try File.readSecret(path, user: 65_534).warning == nil)
    }

    @Test func `A stamp changes with the content and with a swapped symbolic link`() throws {
        try File.write(path, [1])
        let first = try #require(File.stamp(path))
        #expect(File.stamp(path) == first)
        try File.write(path, [2])
        #expect(File.stamp(path) != first)

        try directory.run("ln", "-s", "file", "link")
        #expect(File.stamp(directory.path + "/link") == File.stamp(path))
        try File.write(directory.path + "/other", [1])
        try directory.run("ln", "-sfn", "other", "link")
        #expect(File.stamp(directory.path + "/link") != File.stamp(path))
        #expect(try File.read(directory.path + "/link", bytesMax: 9) == [1])
    }

    @Test func `A file of proc, whose size is said to be 0, is read whole`() throws {
        #expect(try !File.read("/proc/self/status", bytesMax: 1 << 20).isEmpty)
    }
}
