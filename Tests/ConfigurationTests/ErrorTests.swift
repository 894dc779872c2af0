import BridgeCore
import Configuration
import Oracle
import Testing

/// Errors name file, line, column and key, what was expected and what was found, and all come at
/// once.
@Suite struct ErrorTests {
    @Test func severalErrorsOfOneFileAreToldAtOnceInItsOrder() {
        let text = """
            kafka:
              brokers: 127.0.0.1:9092
              group: ""
              properties:
                group.id: other
                sasl.password: [hunter2]
            delivery:
              lanes: 0
              batch_bytes_max: 1MB
              drain: 20
              rejct: skip
            streams: true
            lanes: 8
            mappings:
              - topic: a b
                as: chunk
                node: x//y
              - as: valeu
              - topic: t
                as: run
                tombstone: delete
            """
        #expect(
            errors(text) == [
                "firebridge.yaml:2:12: kafka.brokers: expected a list of brokers, each host:port, "
                    + "found '127.0.0.1:9092'",
                "firebridge.yaml:3:10: kafka.group: expected a consumer group's name of 1 to 255 "
                    + "bytes, found the text ''",
                "firebridge.yaml:5:5: kafka.properties.group.id: expected a property that is not "
                    + "reserved, found 'group.id': use kafka.group instead",
                "firebridge.yaml:6:5: kafka.properties.sasl.password: expected a property and its "
                    + "text, found a list",
                "firebridge.yaml:8:10: delivery.lanes: expected a whole number from 1 to 256, found "
                    + "'0'",
                "firebridge.yaml:9:20: delivery.batch_bytes_max: expected a size from 1KiB to 10MiB, "
                    + "such as 512KiB or 4MiB, found '1MB'",
                "firebridge.yaml:10:10: delivery.drain: expected a duration from 0 to 1h, such as "
                    + "200ms, 10s, 5m or 1h, found '20'",
                "firebridge.yaml:11:3: delivery.rejct: expected lanes, batch_writes_max, "
                    + "batch_bytes_max, in_flight_bytes_max, request_timeout, retry_initial, "
                    + "retry_max, drain, reject or dead_letter_topic, found 'rejct' (did you mean "
                    + "reject?)",
                "firebridge.yaml:12:10: streams: expected a mapping of keys, found 'true'",
                "firebridge.yaml:13:1: lanes: expected kafka, database, mappings, delivery, "
                    + "streams, server or log, found 'lanes' (did you mean delivery.lanes?)",
                "firebridge.yaml:15:12: mappings[0].topic: expected a topic's name (letters, "
                    + "digits, '.', '_', '-', at most 249), found 'a b'",
                "firebridge.yaml:17:11: mappings[0].node: expected a node's path, found 'x//y': "
                    + "expected a path without empty segments",
                "firebridge.yaml:18:5: mappings[1].topic: expected a text, found nothing",
                "firebridge.yaml:18:9: mappings[1].as: expected chunk, run, message or value, found "
                    + "'valeu'",
                "firebridge.yaml:19:5: mappings[2]: expected at least one of status, marker and "
                    + "stream, found none",
                "firebridge.yaml:21:5: mappings[2].tombstone: expected it only with as: value, "
                    + "found it with as: run",
            ])
    }

    @Test(arguments: [
        ("a: b: c", "firebridge.yaml:1:5: mapping values are not allowed in this context"),
        (
            "kafka:\n\tgroup: x",
            "firebridge.yaml:2:1: found character that cannot start any token, while scanning for "
                + "the next token (a tab: YAML indents by spaces)"
        ),
        (
            "kafka: {group: x",
            "firebridge.yaml:2:1: did not find expected ',' or '}', while parsing a flow mapping"
        ),
        (
            "kafka:\n  group: 'x",
            "firebridge.yaml:2:12: found unexpected end of stream, while scanning a quoted scalar"
        ),
        ("kafka: {}\n---\nlog: {}", "firebridge.yaml:2:1: expected one document, found another"),
        ("kafka: !secret x", "firebridge.yaml:1:8: expected a value without tag, found '!secret'"),
        ("kafka: *x", "firebridge.yaml:1:8: expected a known anchor, found '*x'"),
        ("? [a]\n: b", "firebridge.yaml:1:3: expected a text as key"),
        ("just text", "firebridge.yaml:1:1: expected a mapping of keys, found 'just text'"),
        (
            "log:\n  level: info\n  level: warn",
            "firebridge.yaml:3:3: log.level: expected each key once, found it again after line 2"
        ),
        (
            "log:\n  level: info\nlog:\n  format: json",
            "firebridge.yaml:3:1: log: expected each key once, found it again after line 1"
        ),
    ])
    func whatIsNoYAMLIsToldInTheLibrarysWordsWithItsPosition(_ text: String, _ error: String) {
        #expect(errors(text) == [error])
    }

    @Test func invalidUTF8IsToldWithItsLine() throws {
        let text = Array("kafka:\n  group: ".utf8) + [0xFF, 0x0A]
        #expect {
            try Configuration(text, file: "f")
        } throws: {
            ($0 as? ConfigurationError)?.lines == ["f:2:10: invalid leading UTF-8 octet"]
        }
    }

    @Test func deepNestingIsRefused() {
        let text = "kafka: " + String(repeating: "[", count: 100_000)
        #expect(errors(text) == ["firebridge.yaml:1:39: expected at most 32 levels"])
    }

    @Test func aliasesAreBoundedAsIfWrittenOut() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...12 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let lines = errors(text)
        #expect(lines.count == 1)
        #expect(lines[0].hasSuffix("expected at most 20000 values, aliases written out"))
    }

    @Test func aFileThatIsTooLargeIsRefused() {
        let text = "# " + String(repeating: "x", count: 1 << 20)
        #expect(
            errors(text) == ["firebridge.yaml:1:1: expected at most 1048576 bytes, found 1048578"])
    }

    @Test func anAliasStandsForItsAnchor() throws {
        let text = "delivery: {retry_initial: &wait 7s, retry_max: *wait}"
        let settings = try configuration(text).settings
        #expect(settings.retryInitial == .seconds(7))
        #expect(settings.retryMax == .seconds(7))
    }

    @Test func everyTruncationAndEveryFlippedByteOfAFileIsReadOrRefusedWithoutHarm() throws {
        let text = Array(Configuration().effective.utf8)
        var random = SplitMix64(seed: 7)
        for length in stride(from: 0, to: text.count, by: 7) {
            _ = try? Configuration(Array(text[..<length]), file: "f")
        }
        for _ in 0..<500 {
            var mutated = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                mutated[Int.random(in: 0..<text.count, using: &random)] = .random(
                    in: 0...255, using: &random)
            }
            do throws(ConfigurationError) {
                _ = try Configuration(mutated, file: "f")
            } catch {
                #expect(!error.findings.isEmpty)
                #expect(error.lines.allSatisfy { $0.hasPrefix("f:") })
            }
        }
    }
}
