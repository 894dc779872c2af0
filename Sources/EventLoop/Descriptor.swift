internal import CLinux

/// An open file descriptor and its only owner: closed when the object goes.
public final class Descriptor {
    /// The number, for `poll` and for C.
    public let number: Int32

    /// Takes a descriptor over.
    public init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    deinit { close(number) }

    /// Makes reads and writes return at once.
    public func setNonblocking() throws(SystemError) {
        guard fb_set_nonblocking(number) == 0 else { throw .last("fcntl") }
    }

    /// What there is to read, at most so many bytes; empty at the end, nil when there is nothing
    /// yet.
    public func read(max: Int) throws(SystemError) -> [UInt8]? {
        try Self.read(number, max: max)
    }

    /// Writes the beginning of `bytes`.
    ///
    /// - Returns: how many bytes went out; 0 where a non-blocking descriptor takes none now.
    public func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        try Self.write(bytes, to: number)
    }

    /// How many descriptors the process may have open, raised as far as it may raise that itself.
    public static func raiseLimit() -> Int { Int(fb_descriptors_max()) }

    /// As the method, on a descriptor that someone else owns.
    public static func read(_ number: Int32, max: Int) throws(SystemError) -> [UInt8]? {
        var got = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max) { buffer, count in
            repeat {
                got = unsafe CLinux.read(number, buffer.baseAddress, max)
            } while got < 0 && fb_errno() == EINTR
            count = Swift.max(got, 0)
        }
        if got >= 0 { return bytes }
        guard fb_errno() == EAGAIN else { throw .last("read") }
        return nil
    }

    /// As the method, on a descriptor that someone else owns: standard error, for one.
    public static func write(_ bytes: ArraySlice<UInt8>, to number: Int32) throws(SystemError)
        -> Int
    {
        var sent = 0
        repeat {
            sent = unsafe bytes.withUnsafeBytes { buffer in
                unsafe CLinux.write(number, buffer.baseAddress, buffer.count)
            }
        } while sent < 0 && fb_errno() == EINTR
        if sent >= 0 { return sent }
        guard fb_errno() == EAGAIN else { throw .last("write") }
        return 0
    }

    /// Writes all of it, waiting where the descriptor is non-blocking and full.
    public static func writeAll(_ bytes: [UInt8], to number: Int32) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = try write(rest, to: number)
            if sent == 0 { _ = Poll.wait(forWriting: number, timeout: nil) }
            rest = rest.dropFirst(sent)
        }
    }
}

/// Both ends of a pipe, close-on-exec.
public struct Pipe {
    /// The end to read from.
    public let reading: Descriptor
    /// The end to write to.
    public let writing: Descriptor

    /// Makes a pipe.
    public init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        let code = unsafe ends.withUnsafeMutableBufferPointer {
            unsafe fb_pipe($0.baseAddress)
        }
        guard code == 0 else { throw .last("pipe") }
        reading = Descriptor(owning: ends[0])
        writing = Descriptor(owning: ends[1])
    }
}
