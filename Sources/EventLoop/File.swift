internal import CLinux

/// Whole files, bounded: what a daemon reads at start and again when it changes.
public enum File {
    /// Tells whether a file has been replaced or changed: compare two stamps.
    ///
    /// Symbolic links are followed, as Kubernetes swaps secrets by them.
    public struct Stamp: Equatable, Sendable {
        let device: UInt64
        let inode: UInt64
        let size: UInt64
        let modified: Int64
    }

    /// The stamp of a file, nil where there is none.
    public static func stamp(_ path: String) -> Stamp? {
        var file = fb_file()
        guard unsafe fb_stat(-1, path, &file) == 0 else { return nil }
        return Stamp(
            device: file.device, inode: file.inode, size: file.size, modified: file.mtime_ns)
    }

    /// The bytes of a regular file. Devices, pipes and directories are refused without blocking on
    /// them.
    ///
    /// - Parameter bytesMax: the largest file that is accepted.
    public static func read(_ path: String, bytesMax: Int) throws(SystemError) -> [UInt8] {
        try open(path, bytesMax: bytesMax).bytes
    }

    /// The bytes of a file that holds a secret.
    ///
    /// - Parameters:
    ///   - credentials: the directory of the credentials that systemd hands over.
    ///   - user: whose files these may be, beside root's.
    /// - Returns: the bytes, and a warning where others may use the file.
    public static func readSecret(
        _ path: String, bytesMax: Int = 65_536,
        credentials: String? = Environment.value("CREDENTIALS_DIRECTORY"),
        user: UInt32 = ThisProcess.user
    ) throws(SystemError) -> (bytes: [UInt8], warning: String?) {
        let (bytes, file) = try open(path, bytesMax: bytesMax)
        var warnings: [String] = []
        // Under newer ones the service's user may read by an access list, which shows as the
        // group's rights.
        let isHandedOver = credentials.map { !$0.isEmpty && path.hasPrefix($0 + "/") } ?? false
        if file.mode & (isHandedOver ? 0o037 : 0o077) != 0 {
            let octal = String(file.mode & 0o777, radix: 8)
            let found = String(repeating: "0", count: max(0, 4 - octal.count)) + octal
            warnings.append(
                "\(path) has mode \(found): others than its owner may use it; chmod 0600 \(path)")
        }
        if file.owner != 0, file.owner != user {
            warnings.append(
                "\(path) belongs to user \(file.owner), neither root nor this process's user "
                    + "\(user): that one may use and replace it; chown \(user) \(path)")
        }
        return (bytes, warnings.isEmpty ? nil : warnings.joined(separator: "; "))
    }

    /// Replaces a file: the bytes are on disk under the name at once or not at all.
    ///
    /// - Parameter mode: its permissions.
    public static func write(
        _ path: String, _ bytes: [UInt8], mode: UInt32 = 0o644
    ) throws(SystemError) {
        let temporary = "\(path).\(getpid()).tmp"
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
        let number = unsafe fb_open(temporary, flags, mode)
        guard number >= 0 else { throw .last("create \(temporary)") }
        let descriptor = Descriptor(owning: number)
        do throws(SystemError) {
            try Descriptor.writeAll(bytes, to: descriptor.number)
            guard fsync(descriptor.number) == 0 else { throw .last("fsync \(temporary)") }
            guard unsafe rename(temporary, path) == 0 else { throw .last("rename to \(path)") }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
    }

    /// Makes a directory; one that is there already is left as it is.
    public static func makeDirectory(_ path: String, mode: UInt32) throws(SystemError) {
        guard unsafe mkdir(path, mode) == 0 || fb_errno() == EEXIST else {
            throw .last("make the directory \(path)")
        }
    }

    /// Makes an empty file; one that is there already is left as it is.
    public static func make(_ path: String, mode: UInt32) throws(SystemError) {
        let number = unsafe fb_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode)
        guard number >= 0 else { throw .last("create \(path)") }
        _ = Descriptor(owning: number)
    }

    private static func open(
        _ path: String, bytesMax: Int
    ) throws(SystemError) -> (bytes: [UInt8], file: fb_file) {
        // O_NONBLOCK: a FIFO must not hang the program before fstat finds out what it is.
        let number = unsafe fb_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
        guard number >= 0 else { throw .last("open \(path)") }
        let descriptor = Descriptor(owning: number)
        var file = fb_file()
        guard unsafe fb_stat(number, nil, &file) == 0 else { throw .last("fstat \(path)") }
        guard file.is_regular != 0 else {
            throw SystemError("read \(path)", reason: "expected a regular file")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(Int(clamping: file.size), bytesMax))
        // Until it ends, not by its size: the files of /proc and /sys say 0.
        while let more = try descriptor.read(max: 65_536), !more.isEmpty {
            bytes.append(contentsOf: more)
            guard bytes.count <= bytesMax else {
                throw SystemError("read \(path)", reason: "expected at most \(bytesMax) bytes")
            }
        }
        return (bytes, file)
    }
}
