internal import BridgeCore
internal import EventLoop

/// The files that Kafka's properties name: certificates and keys.
///
/// librdkafka reads them when a client is made: one that was renewed wants another client.
struct KafkaFiles {
    private let paths: [String]
    /// What the client has read.
    private let read: [File.Stamp?]
    /// What was found last.
    private var found: [File.Stamp?]
    private var nextLook: Int64 = 0
    /// What was said to have changed, and when it is said again.
    private var told: (files: [File.Stamp?], again: Int64) = ([], 0)

    private static let pause = Duration.seconds(2)
    /// How long what could not be read yet, as the configuration was refused, is left alone while
    /// it stays as it is.
    private static let retryPause = Duration.seconds(60)

    /// What is there now is what the client reads.
    init(_ properties: [(name: String, value: String)]) {
        // Without its files no client can be made: what is none is a word, such as `probe`.
        paths = properties.filter { name, value in
            let name = name.lowercased()
            return name.hasPrefix("ssl.") && name.hasSuffix(".location")
                && File.stamp(value) != nil
        }.map(\.value)
        read = paths.map(File.stamp)
        found = read
    }

    /// When to look again, by the monotonic clock; nil where there is nothing to look at.
    var deadline: Int64? { paths.isEmpty ? nil : nextLook }

    /// Whether they have changed, and not since the last look: a certificate and its key are
    /// replaced one after the other. Says so again, more rarely, until another client has read them.
    mutating func haveChanged(at now: Moment) -> Bool {
        guard !paths.isEmpty, now.monotonic >= nextLook else { return false }
        nextLook = now.after(Self.pause)
        let before = found
        found = paths.map(File.stamp)
        guard found == before, found != read, !found.contains(nil),
            found != told.files || now.monotonic >= told.again
        else { return false }
        told = (found, now.after(Self.retryPause))
        return true
    }
}
