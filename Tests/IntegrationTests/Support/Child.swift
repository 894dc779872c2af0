import EventLoop
import Glibc
import TestSupport

/// A process under test. What it says goes to a file, so that it is never held up by us.
final class Child {
    let name: String
    let process: Subprocess
    private let log: String

    /// Starts `firebridge` with these arguments.
    ///
    /// - Parameter tracer: a program with its arguments that starts it.
    init(
        _ name: String, _ arguments: [String], in directory: String,
        environment: [String: String]? = nil, under tracer: [String] = []
    ) throws {
        self.name = name
        log = "\(directory)/\(uniqueName(name)).log"
        let number = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SetupFailure("cannot write \(log)") }
        defer { close(number) }
        process = try Subprocess(
            tracer + [builtProgram("firebridge")] + arguments, environment: environment,
            output: .descriptor(number),
            error: .descriptor(number))
    }

    var pid: Int32 { process.pid }

    /// Everything that it has said so far.
    var lines: [String] {
        let bytes = (try? File.read(log, bytesMax: 1 << 28)) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The last of what it said, for a failure's message.
    var tail: String {
        "\(name) (pid \(pid)) said:\n  " + lines.suffix(25).joined(separator: "\n  ")
    }

    func says(_ text: String) -> Bool { lines.contains { $0.contains(text) } }

    /// Whether it has blocked SIGTERM, to take care of it by itself.
    var takesSignals: Bool {
        let status = (try? File.read("/proc/\(pid)/status", bytesMax: 1 << 16)) ?? []
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("SigBlk:")
        }
        let mask = line.flatMap { UInt64($0.dropFirst(7).drop { $0 == "\t" }, radix: 16) } ?? 0
        return mask >> UInt64(SIGTERM - 1) & 1 == 1
    }

    /// Waits for its end.
    func exit(within limit: Duration) throws -> Subprocess.Exit {
        guard let exit = process.wait(timeout: limit) else {
            throw TimedOut(description: "\(name) has not ended within \(limit)\n\(tail)")
        }
        return exit
    }

    func kill() throws {
        process.send(.kill)
        _ = try exit(within: .seconds(10))
    }

    /// Stops it where it stands: its sockets stay open and silent.
    func freeze() { Glibc.kill(pid, SIGSTOP) }

    /// Lets it go on after `freeze`.
    func thaw() { Glibc.kill(pid, SIGCONT) }

    /// The most memory that it has had, in bytes.
    var peakBytes: Int {
        Self.figure("VmHWM", in: "/proc/\(pid)/status") * 1024
    }

    /// What it does while nobody asks it for anything: the share of one processor that it takes,
    /// and how often a second one of its threads goes to sleep, which a busy machine does not
    /// change.
    func restlessness(over length: Duration) throws -> (processor: Double, sleeps: Double) {
        let (before, slept, began) = (processorSeconds, sleeps, ContinuousClock.now)
        guard before > 0, slept > 0 else { throw SetupFailure("no account of \(name)") }
        pause(length)
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        return ((processorSeconds - before) / seconds, Double(sleeps - slept) / seconds)
    }

    /// How often its threads have waited for something.
    private var sleeps: Int {
        let tasks = "/proc/\(pid)/task"
        return Self.names(in: tasks).reduce(0) { sum, task in
            sum + Self.figure("voluntary_ctxt_switches", in: "\(tasks)/\(task)/status")
        }
    }

    /// What the kernel says under that name; 0 where it says nothing.
    private static func figure(_ name: String, in file: String) -> Int {
        let status = (try? File.read(file, bytesMax: 1 << 16)) ?? []
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix(name + ":") }
        return (line?.split(whereSeparator: \.isWhitespace)[1]).flatMap { Int($0) } ?? 0
    }

    private static func names(in directory: String) -> [String] {
        guard let listing = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(listing) }
        var names: [String] = []
        while let entry = unsafe readdir(listing) {
            unsafe names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) {
                    unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.filter { !$0.hasPrefix(".") }
    }

    /// Processor time that it has used, in seconds.
    private var processorSeconds: Double {
        let stat = (try? File.read("/proc/\(pid)/stat", bytesMax: 4096)) ?? []
        let fields =
            String(decoding: stat, as: UTF8.self).split(separator: ")").last?
            .split(separator: " ") ?? []
        // utime and stime are the 14th and 15th, the name in brackets being the second.
        guard fields.count > 12 else { return 0 }
        let ticks = (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
