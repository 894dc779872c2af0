internal import CLinux

extension Descriptor {
    /// A regular file of these bytes that has no name and is gone with its last descriptor, however
    /// the program ends. A child that gets it as its standard input opens it as `/proc/self/fd/0`.
    ///
    /// - Parameter label: how it is listed in `/proc/PID/fd`.
    public static func memoryFile(
        _ bytes: [UInt8], label: String
    ) throws(SystemError) -> Descriptor {
        let number = unsafe fb_memory_file(label)
        guard number >= 0 else { throw .last("memfd_create") }
        let file = Descriptor(owning: number)
        try writeAll(bytes, to: number)
        return file
    }
}
