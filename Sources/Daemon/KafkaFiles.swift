internal import BridgeCore
internal import EventLoop

/// The files that Kafka's properties name: certificates and keys.
///
/// librdkafka reads them when a client is made: one that was renewed wants another client.
struct KafkaFiles {
    private let paths: [String]
    /// What the client has read.
    private var read: [File.Stamp?]
    /// What was found last.
    private var found: [File.Stamp?]
    private var nextLook: Int64 = 0

    private static let pause = Duration.seconds(2)

    init(_ properties: [(name: String, value: String)]) {
        paths = properties.filter { name, _ in
            let name = name.lowercased()
            return name.hasPrefix("ssl.") && name.hasSuffix(".location")
        }.map(\.value)
        read = paths.map(File.stamp)
        found = read
    }

    /// Whether they have changed, and not since the last look: a certificate and its key are
    /// replaced one after the other. Says so once a change.
    mutating func haveChanged(at now: Moment) -> Bool {
        guard !paths.isEmpty, now.monotonic >= nextLook else { return false }
        nextLook = now.after(Self.pause)
        let before = found
        found = paths.map(File.stamp)
        guard found == before, found != read, !found.contains(nil) else { return false }
        read = found
        return true
    }
}
