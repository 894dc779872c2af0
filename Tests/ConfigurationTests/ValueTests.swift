import BridgeCore
import EventLoop
import Oracle
import Testing

@testable import Configuration

@Suite struct ValueTests {
    @Test(arguments: ["", "# only comments\n", "kafka:\ndelivery:\n", "---\n", "{}"])
    func aFileThatSaysNothingIsTheDefaults(_ text: String) throws {
        #expect(try configuration(text) == Configuration())
    }

    @Test func theEffectiveSettingsReadBackAsTheSameConfiguration() throws {
        let text = """
            kafka:
              brokers: [a.example:9092, "[::1]:9093", SSL://c]
              group: "a: #b ${X}"
              start: 2026-04-23T22:43:44.7+02:00
              properties: {client.id: "é\\n\\"\\\\ 'x' $${y}", socket.timeout.ms: 1000, empty: ""}
            database: {url: "https://a.firebaseio.com/try/it"}
            mappings:
              - topic: t1
                as: value
                node: "conversations/{key}/info {header.a b}"
                value: /info
                write: merge
                guard: [/version, /a b]
                tombstone: reject
                when: {/type: [A, "true", "null", "", 7], "/a~1b": [x]}
              - {topic: t2, as: chunk, node: "s/{conversation_id}/{message_sequence}",
                 index: arrival, fields: {content: /delta/text, conversation_id: /c/id}}
              - {topic: t3, as: run, event_name: a b, marker: "e/{event_name}/{conversation_id}"}
              - {topic: t4, as: message, node: "m/{conversation_id}", event_name: null.x}
            streams: {stall_after: 0, keep: 90m}
            """
        let first = try configuration(text, environment: ["X": "va: lue"])
        #expect(try configuration(first.effective) == first)
        #expect(first.settings.group == "a: #b va: lue")
        #expect(first.kafka.brokers == ["a.example:9092", "[::1]:9093", "SSL://c"])
        #expect(first.kafka.properties[0].value == "é\n\"\\ 'x' ${y}")
        #expect(first.settings.start == .time(1_776_977_024_700))
        #expect(first.settings.stallAfter == .zero)
        #expect(first.settings.keep == .seconds(5400))
    }

    @Test(
        arguments: [
            ("0", 0), ("1ms", 1), ("200ms", 200), ("10s", 10_000), ("5m", 300_000),
            ("1h", 3_600_000),
            ("60m", 3_600_000), ("3600001ms", nil), ("61m", nil), ("10", nil), ("1.5s", nil),
            ("-1s", nil), ("+1s", nil), ("10S", nil), ("10 s", nil), ("1d", nil), ("s", nil),
            ("", nil),
            ("1h30m", nil), ("9223372036854775807h", nil), ("99999999999999999999s", nil),
            ("1_0s", nil),
        ] as [(String, Int64?)])
    func durationsAreWholeNumbersOfOneUnit(_ text: String, _ milliseconds: Int64?) throws {
        let drain = try? configuration("delivery: {drain: \(text)}").settings.drain
        #expect(drain == milliseconds.map { .milliseconds($0) })
    }

    @Test(
        arguments: [
            ("1024", 1024), ("1KiB", 1024), ("512KiB", 524_288), ("4MiB", 4_194_304),
            ("10MiB", 10_485_760), ("10485761", nil), ("1023", nil), ("1MB", nil), ("1 MiB", nil),
            ("1mib", nil), ("1.5MiB", nil), ("1GiB", nil), ("-1KiB", nil), ("KiB", nil),
            ("9223372036854775807GiB", nil), ("0x400", nil), ("1e6", nil),
        ] as [(String, Int?)])
    func sizesAreBytesOrBinaryUnits(_ text: String, _ bytes: Int?) throws {
        let size = try? configuration("delivery: {batch_bytes_max: \(text)}").settings.batchBytesMax
        #expect(size == bytes)
    }

    @Test(
        arguments: [
            ("1", 1), ("256", 256), ("0", nil), ("257", nil), ("\"8\"", nil), ("8.0", nil),
            ("+8", nil),
            ("[8]", nil), ("~", nil), ("", nil), ("eight", nil), ("99999999999999999999", nil),
        ] as [(String, Int?)])
    func numbersAreWholeWithoutQuotesAndInRange(_ text: String, _ lanes: Int?) throws {
        #expect((try? configuration("delivery: {lanes: \(text)}"))?.settings.lanes == lanes)
    }

    @Test(arguments: ["yes", "True", "on", "1", "\"true\"", "~"])
    func onlyTrueAndFalseAreBooleans(_ text: String) throws {
        #expect(
            errors("streams: {stall_status: \(text)}").first?.contains("expected true or false")
                == true)
        #expect(try configuration("streams: {stall_status: true}").settings.stallStatus)
        #expect(try !configuration("streams: {stall_status: false}").settings.stallStatus)
    }

    @Test func choicesAreTakenByTheirWords() throws {
        let text = """
            kafka: {start: latest, on_gap: halt}
            delivery: {reject: dead_letter}
            log: {level: debug, format: logfmt}
            """
        let configuration = try configuration(text)
        #expect(configuration.settings.start == .latest)
        #expect(configuration.settings.onGap == .halt)
        #expect(configuration.settings.reject == .deadLetter)
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.format == .logfmt)
        #expect(
            errors("log: {level: Info}") == [
                "firebridge.yaml:1:14: log.level: expected error, warn, info or debug, found 'Info'"
            ])
        #expect(
            errors("kafka: {start: 2026-04-23}") == [
                "firebridge.yaml:1:16: kafka.start: expected earliest, latest, error or an RFC 3339 "
                    + "time such as 2026-04-23T00:00:00Z, found '2026-04-23'"
            ])
    }

    @Test(arguments: [
        ("127.0.0.1:8085", true), ("0.0.0.0:0", true), ("[::1]:80", true), ("localhost:1", true),
        ("[::]:8085", true), ("127.0.0.1", false), (":8085", false), ("host.example:8085", false),
        ("256.0.0.1:80", false), ("127.0.0.1:65536", false), ("127.0.0.1:-1", false),
        ("::1:8085", false), ("127.0.0.1:80/x", false), ("1.2.3:80", false),
    ])
    func theListenAddressIsAnAddressAndAPort(_ text: String, _ isValid: Bool) {
        #expect(errors("server: {listen: \"\(text)\"}").isEmpty == isValid)
        #expect((ListenAddress(configured: text)?.description == text) == isValid)
    }

    @Test(arguments: [
        ("a:1", true), ("a", true), ("10.0.0.1:9092", true), ("[::1]:9092", true),
        ("SASL_SSL://a:9092", true), ("a:0", false), ("a:65536", false), ("a:b", false),
        ("a b:1", false), ("://a:1", false), ("http:/a", false), ("", false), ("user@a:1", false),
    ])
    func brokersAreHostAndPort(_ text: String, _ isValid: Bool) {
        #expect(errors("kafka: {brokers: [\"\(text)\"]}").isEmpty == isValid)
    }

    @Test func brokersOfOneVariableAreTakenApart() throws {
        let environment = ["BROKERS": "a:9092, b:9092"]
        let configuration = try configuration(
            "kafka: {brokers: [\"${BROKERS}\"]}", environment: environment)
        #expect(configuration.kafka.brokers == ["a:9092", "b:9092"])
        #expect(errors("kafka: {brokers: []}").count == 1)
    }

    @Test func anyTextReadsBackFromTheEffectiveSettings() throws {
        var random = SplitMix64(seed: 11)
        let marks = Array(
            "${}$:#-?&*!|>'\"%@`,[] \n\t\\a0é\u{FFFE}\u{2028}\u{FEFF}🙂~".unicodeScalars)
        for _ in 0..<300 {
            var first = Configuration()
            for index in 0..<5 {
                var text = ""
                for _ in 0..<Int.random(in: 0...12, using: &random) {
                    text.unicodeScalars.append(marks.randomElement(using: &random) ?? "x")
                }
                first.kafka.properties.append(.init(name: "p\(index)", value: text))
            }
            #expect(try configuration(first.effective) == first)
        }
    }

    @Test func aHashNamesTheSettingsAndNotTheirSecretsOrTheirForm() throws {
        let hash = try configuration("delivery: {lanes: 8, drain: 60s}").hash
        #expect(hash.utf8.count == 16)
        #expect(try configuration("delivery:\n  drain: 1m\n  lanes: 8 # x\n").hash == hash)
        #expect(try configuration("delivery: {lanes: 9, drain: 60s}").hash != hash)
        #expect(Configuration().hash == Configuration().hash)
        let one = try configuration("kafka: {properties: {sasl.password: one}}")
        let two = try configuration("kafka: {properties: {sasl.password: two}}")
        #expect(one.hash == two.hash)
    }
}
