import Glibc
import JSON
public import Oracle

/// What a test found on disk.
public struct ReadFailure: Error { var path: String }

/// The bytes of a file; of what it holds where it is compressed by gzip.
public func read(_ path: String) throws -> [UInt8] {
    let file = unsafe path.hasSuffix(".gz") ? popen("gzip -dc '\(path)'", "r") : fopen(path, "r")
    guard let file = unsafe file else { throw ReadFailure(path: path) }
    defer { _ = unsafe path.hasSuffix(".gz") ? pclose(file) : fclose(file) }
    var out: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = unsafe fread(&part, 1, part.count, file)
        guard count > 0 else { return out }
        out += part[..<count]
    }
}

/// The records of a file with one JSON object a line: `topic`, `key`, `value`, `timestamp_ms`.
public func records(_ path: String) throws -> [LogRecord] {
    let parser = JSONParser()
    return try read(path).split(separator: UInt8(ascii: "\n")).map { line in
        let tape = try parser.parse(Array(line))
        func member(_ name: String) -> Int? { tape.member(Array(name.utf8), of: 0) }
        guard let topic = member("topic"), let key = member("key"), let value = member("value")
        else { throw ReadFailure(path: path) }
        return LogRecord(
            topic: String(decoding: tape.text(topic), as: UTF8.self), key: tape.text(key),
            value: Array(tape.raw(value)), timestamp: member("timestamp_ms").flatMap(tape.int64))
    }
}

/// A file of the oracle's fixtures.
public func fixture(_ name: String) -> String { "\(repository)/Tests/OracleTests/Fixtures/\(name)" }
