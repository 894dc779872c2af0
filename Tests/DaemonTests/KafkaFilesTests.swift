import BridgeCore
import EventLoop
import Glibc
import Testing

@testable import Daemon

@Suite("The files that Kafka's properties name") struct KafkaFilesTests {
    private func at(_ seconds: Int64) -> Moment {
        Moment(monotonic: seconds * 1_000_000_000, wall: 0)
    }

    /// Looks once a second, and when it says that they have changed.
    private func changes(_ files: inout KafkaFiles, _ seconds: Range<Int64>) -> [Int64] {
        seconds.filter { files.haveChanged(at: at($0)) }
    }

    /// Calls with the path of a file that is there and holds something.
    private func withFile(_ body: (String) throws -> Void) throws {
        let path = "/tmp/firebridge-kafka-files-\(UInt64.random(in: 0 ... .max))"
        try File.write(path, Array("one".utf8))
        defer { unsafe unlink(path) }
        try body(path)
    }

    @Test("A change is told when it has lasted for a look, and again each minute until it is read")
    func changed() throws {
        try withFile { path in
            var files = KafkaFiles([("ssl.ca.location", path)])
            #expect(changes(&files, 0..<10) == [])
            try File.write(path, Array("another".utf8))
            #expect(changes(&files, 10..<140) == [12, 72, 132])
            // The next client has read it.
            files = KafkaFiles([("ssl.ca.location", path)])
            #expect(changes(&files, 140..<300) == [])
        }
    }

    @Test("What changes again after it was told is told again without that minute")
    func changedAgain() throws {
        try withFile { path in
            var files = KafkaFiles([("ssl.ca.location", path)])
            try File.write(path, Array("a new certificate beside an old key".utf8))
            #expect(changes(&files, 0..<15) == [2])
            try File.write(path, Array("a pair".utf8))
            #expect(changes(&files, 15..<80) == [18, 78])
        }
    }

    @Test("A file that is away is waited for")
    func away() throws {
        try withFile { path in
            var files = KafkaFiles([("ssl.key.location", path)])
            #expect(unsafe unlink(path) == 0)
            #expect(changes(&files, 0..<10) == [])
            try File.write(path, Array("another".utf8))
            #expect(changes(&files, 10..<20) == [12])
        }
    }

    @Test("A word in place of a path hides no change of the others")
    func word() throws {
        try withFile { path in
            var files = KafkaFiles([
                ("ssl.ca.location", "probe"), ("SSL.certificate.location", path),
            ])
            try File.write(path, Array("another".utf8))
            #expect(changes(&files, 0..<10) == [2])
        }
    }

    @Test("The loop wakes for the next look, and for none where there is nothing to look at")
    func deadline() throws {
        #expect(KafkaFiles([("ssl.ca.location", "probe"), ("x", "y")]).deadline == nil)
        try withFile { path in
            var files = KafkaFiles([("ssl.ca.location", path)])
            #expect(files.deadline != nil)
            _ = files.haveChanged(at: at(10))
            #expect(files.deadline == at(12).monotonic)
        }
    }
}
