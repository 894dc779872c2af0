internal import CLinux
import EventLoop
import Glibc
public import Kafka

/// librdkafka's mock cluster in a process of its own, with topics as `NAME:PARTITIONS`.
public func mock(brokers: Int = 1, _ topics: String...) throws -> MockClusterProcess {
    _ = signal(SIGPIPE, SIG_IGN)
    let program = try builtProgram("mock-broker")
    return try MockClusterProcess(executable: program, arguments: ["\(brokers)"] + topics)
}

/// A real Apache Kafka, started once for all tests and stopped when this process ends, however it
/// ends.
public struct RealKafka: Sendable {
    /// `host:port` of every broker.
    public let bootstrap: [String]
    let directory: String
    let script: String

    /// nil where there is none.
    public static let shared: RealKafka? = start()

    /// Its script, where it is.
    static let script = Optional("\(TestSupport.shared)/kafka/cluster").flatMap {
        TestSupport.isThere($0) ? $0 : nil
    }

    /// Whether there is one.
    public static var isThere: Bool { script != nil }

    private static func start() -> RealKafka? {
        guard let script else { return nil }
        _ = signal(SIGPIPE, SIG_IGN)
        let directory = "/tmp/firebridge-kafka-\(getpid())"
        // The second process waits for the end of its standard input, that is, of this process. It
        // has a session of its own, so that who ends this one's group does not end it too.
        var ends: [Int32] = [0, 0]
        guard unsafe fb_pipe(&ends) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFD, 0)
        let code = shell(
            """
            python3 '\(script)' start '\(directory)' --port 0 --set log.retention.ms=-1\
                > '\(directory).json' || exit 1
            setsid sh -c "cat; python3 '\(script)' stop '\(directory)'
                rm -rf '\(directory)' '\(directory).json'" <&\(ends[0]) >/dev/null 2>&1 &
            """)
        close(ends[0])
        guard code == 0, let json = try? File.read("\(directory).json", bytesMax: 1 << 16) else {
            return nil
        }
        let address = String(decoding: json, as: UTF8.self).split(separator: "\"")[3]
        return RealKafka(
            bootstrap: address.split(separator: ",").map(String.init), directory: directory,
            script: script)
    }

    /// Runs one of Kafka's own tools.
    public func tool(_ arguments: String) throws {
        let code = shell("python3 '\(script)' tool '\(directory)' \(arguments) >/dev/null")
        guard code == 0 else { throw SetupFailure("tool \(arguments)") }
    }

    /// Creates a topic.
    public func createTopic(_ name: String, partitions: Int, _ more: String = "") throws {
        try tool("topics --create --topic \(name) --partitions \(partitions) \(more)")
    }

    /// Creates topics at the same time: each costs the start of a Java virtual machine.
    public func createTopics(_ names: [String], partitions: Int) throws {
        let tool = "python3 '\(script)' tool '\(directory)' topics --create --partitions"
        let code = shell(
            """
            echo \(names.joined(separator: " ")) | tr ' ' '\\n' |
            xargs -P 3 -I NAME \(tool) \(partitions) --topic NAME >/dev/null
            """)
        guard code == 0 else { throw SetupFailure("could not create \(names)") }
    }
}
