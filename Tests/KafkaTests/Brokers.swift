import Glibc
import Kafka
import Testing

/// The repository's directory.
private let repository = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

/// Timeouts short enough for a test; the mock cluster wants more than three seconds of session.
let quick: [(name: String, value: String)] = [
    ("session.timeout.ms", "3500"), ("heartbeat.interval.ms", "500"), ("fetch.wait.max.ms", "10"),
    ("topic.metadata.refresh.interval.ms", "500"),
]

func mock(brokers: Int = 1, _ topics: String...) throws -> MockClusterProcess {
    _ = signal(SIGPIPE, SIG_IGN)
    var path = [UInt8](repeating: 0, count: 4096)
    let count = unsafe path.withUnsafeMutableBytes {
        unsafe readlink("/proc/self/exe", $0.baseAddress!, $0.count)
    }
    let here = String(decoding: path.prefix(count), as: UTF8.self)
    let candidates = [
        here.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/mock-broker",
        repository + "/.build/debug/mock-broker", repository + "/.build/release/mock-broker",
    ]
    let found = candidates.first { isThere($0) }
    let program = try #require(found, "mock-broker is not built")
    return try MockClusterProcess(executable: program, arguments: ["\(brokers)"] + topics)
}

func isThere(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

/// A real Apache Kafka, started once for all tests and stopped when this process ends, however it ends.
struct RealKafka {
    let bootstrap: [String]
    let directory: String
    let script: String

    /// nil where there is none.
    static let shared: RealKafka? = start()

    /// Where it is: beside the repository, or where the environment says.
    static let script: String? = {
        let environment = unsafe getenv("FIREBRIDGE_SHARED").map { unsafe String(cString: $0) }
        let above = repository.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        return ["\(environment ?? above + "/shared")/kafka/cluster"].first {
            KafkaTests.isThere($0)
        }
    }()

    static var isThere: Bool { script != nil }

    private static func start() -> RealKafka? {
        guard let script else { return nil }
        _ = signal(SIGPIPE, SIG_IGN)
        let directory = "/tmp/firebridge-kafka-\(getpid())"
        // The second process waits for the end of its standard input, that is, of this process.
        var ends: [Int32] = [0, 0]
        _ = unsafe pipe(&ends)
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        let code = shell(
            """
            python3 '\(script)' start '\(directory)' --port 0 > '\(directory).json' || exit 1
            (cat <&\(ends[0]) >/dev/null; python3 '\(script)' stop '\(directory)'
             rm -rf '\(directory)' '\(directory).json') >/dev/null 2>&1 &
            """)
        close(ends[0])
        guard code == 0, let json = try? readFile("\(directory).json") else { return nil }
        let address = json.split(separator: "\"")[3]
        return RealKafka(
            bootstrap: address.split(separator: ",").map(String.init), directory: directory,
            script: script)
    }

    /// Runs one of Kafka's own tools.
    func tool(_ arguments: String) throws {
        let code = shell("python3 '\(script)' tool '\(directory)' \(arguments) >/dev/null")
        try #require(code == 0, "tool \(arguments)")
    }

    func createTopic(_ name: String, partitions: Int, _ more: String = "") throws {
        try tool("topics --create --topic \(name) --partitions \(partitions) \(more)")
    }
}

/// Runs a command to its end and returns its exit code.
func shell(_ command: String) -> Int32 {
    let words = ["sh", "-c", command]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var pid: Int32 = 0
    var status: Int32 = 0
    guard unsafe posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, environ) == 0 else { return -1 }
    _ = unsafe waitpid(pid, &status, 0)
    return status
}
