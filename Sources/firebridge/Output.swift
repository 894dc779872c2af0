internal import EventLoop

/// Exit codes of contract section 4.
enum ExitCode {
    static let ok: Int32 = 0
    static let usage: Int32 = 64
    static let unreachable: Int32 = 69
    static let internalError: Int32 = 70
    static let undelivered: Int32 = 75
    static let configuration: Int32 = 78
}

/// Standard output and standard error.
enum Output {
    /// Writes to standard output.
    ///
    /// - Returns: the exit code.
    static func print(_ text: String) -> Int32 { print(Array(text.utf8)) }

    static func print(_ bytes: [UInt8]) -> Int32 {
        do throws(SystemError) {
            try Descriptor.writeAll(bytes, to: 1)
            return ExitCode.ok
        } catch {
            return code(of: error)
        }
    }

    /// Says what kept standard output from being written, and gives the exit code. A reader that
    /// has had enough is no error; to a file that was cut off nobody looks a second time.
    static func code(of error: SystemError) -> Int32 {
        guard !error.isBrokenPipe else { return ExitCode.ok }
        return fail("standard output: \(error.reason)", code: ExitCode.internalError)
    }

    /// A line that may hold what others wrote, without what would move a terminal's cursor.
    static func printable(_ line: String) -> String {
        var out = ""
        for scalar in line.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                out += "\\u{\(String(scalar.value, radix: 16))}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// Says on standard error what is done all the same.
    static func warn(_ message: String) {
        try? Descriptor.writeAll(Array("firebridge: \(message)\n".utf8), to: 2)
    }

    /// Says on standard error what went wrong, and gives the exit code back.
    static func fail(_ message: String, code: Int32, prefix: String = "firebridge: ") -> Int32 {
        try? Descriptor.writeAll(Array("\(prefix)\(message)\n".utf8), to: 2)
        return code
    }
}
