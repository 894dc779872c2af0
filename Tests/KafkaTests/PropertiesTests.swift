import Kafka
import TestSupport
import Testing

@Suite("librdkafka's properties")
struct PropertiesTests {
    @Test(
        "that the bridge needs for itself are refused with what to use instead",
        arguments: [
            ("bootstrap.servers", "kafka.brokers"), ("metadata.broker.list", "kafka.brokers"),
            ("group.id", "kafka.group"), ("auto.offset.reset", "kafka.start"),
            ("enable.auto.commit", "acknowledged"), ("auto.commit.enable", "acknowledged"),
            ("enable.auto.offset.store", "acknowledged"),
            ("partition.assignment.strategy", "range"), ("enable.partition.eof", "the bridge"),
            ("plugin.library.paths", "code"), ("sasl.kerberos.kinit.cmd", "kinit"),
            ("rebalance_cb", "callback"), ("opaque", "pointer"), ("enabled_events", "the bridge"),
            ("SASL.kerberos.kinit.cmd", "shell"), ("test.mock.num.brokers", "cluster"),
            ("ssl.providers", "code"), ("transactional.id", "idempotently"),
            ("sasl.kerberos.kinit.cmd", "shell"),
            ("enable.sasl.oauthbearer.unsecure.jwt", "SCRAM-SHA-512"),
        ])
    func reserved(name: String, hint: String) {
        let error = #expect(throws: KafkaError.self) {
            try Properties.check([(name, "x")])
        }
        #expect(error?.text.contains(name) == true)
        #expect(error?.text.contains(hint) == true)
        #expect(throws: KafkaError.self) {
            _ = try Consumer(
                brokers: ["127.0.0.1:1"], group: "g", topics: ["t"], properties: [(name, "x")])
        }
    }

    @Test(
        "that would wait for a token for ever are refused, with the mechanisms that do not",
        arguments: ["sasl.mechanism", "sasl.mechanisms", "SASL.Mechanisms"],
        ["OAUTHBEARER", "oauthbearer", "OAuthBearer"])
    func tokens(name: String, value: String) {
        let properties = [("security.protocol", "sasl_ssl"), (name, value)]
        let error = #expect(throws: KafkaError.self) { try Properties.check(properties) }
        let expected = "expected PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or GSSAPI, found OAUTHBEARER"
        #expect(error?.text.hasPrefix("property \"\(name)\": \(expected): ") == true)
        #expect(throws: KafkaError.self) {
            _ = try Consumer(
                brokers: ["127.0.0.1:1"], group: "g", topics: ["t"], properties: properties)
        }
        #expect(throws: KafkaError.self) {
            _ = try Producer(brokers: ["127.0.0.1:1"], properties: properties)
        }
    }

    @Test(
        "that a shell would read are refused where it would take them for its own",
        arguments: [
            "sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.kerberos.service.name",
        ])
    func shell(name: String) throws {
        try Properties.check([(name, "A-z_0.9/x@Y:z")])
        let error = #expect(throws: KafkaError.self) { try Properties.check([(name, "a$(id)")]) }
        #expect(error?.text.contains("\"\(name)\": expected letters") == true)
        #expect(error?.text.contains("shell") == true)
    }

    @Test("that are unknown or wrong are refused in librdkafka's words")
    func wrong() {
        let unknown = #expect(throws: KafkaError.self) { try Properties.check([("no.such", "1")]) }
        #expect(unknown?.text == "No such configuration property: \"no.such\"")
        let wrong = #expect(throws: KafkaError.self) {
            try Properties.check([("session.timeout.ms", "soon")])
        }
        #expect(wrong?.text.contains("session.timeout.ms") == true)
        let range = #expect(throws: KafkaError.self) {
            try Properties.check([("session.timeout.ms", "0")])
        }
        #expect(range?.text.contains("outside allowed range") == true)
    }

    @Test("that are good pass, also together")
    func good() throws {
        try Properties.check([
            ("security.protocol", "sasl_ssl"), ("sasl.mechanisms", "SCRAM-SHA-512"),
            ("sasl.username", "u"), ("sasl.password", "p"), ("group.instance.id", "a"),
            ("fetch.wait.max.ms", "20"), ("session.timeout.ms", "6000"),
        ])
    }

    @Test("that contradict each other are refused when the consumer is made")
    func contradiction() {
        let error = #expect(throws: KafkaError.self) {
            _ = try Consumer(
                brokers: ["127.0.0.1:1"], group: "g", topics: ["t"],
                properties: [("session.timeout.ms", "400000"), ("max.poll.interval.ms", "1000")])
        }
        #expect(error?.text.contains("max.poll.interval.ms") == true)
    }

    @Test("that a producer cannot keep its promise with are refused when it is made")
    func producers() {
        for (name, value) in [
            ("max.in.flight", "10"), ("retries", "0"), ("queuing.strategy", "lifo"),
        ] {
            let error = #expect(throws: KafkaError.self) {
                _ = try Producer(brokers: ["127.0.0.1:1"], properties: [(name, value)])
            }
            #expect(error?.text.contains(name) == true)
        }
    }

    @Test("that name the client are its name, and it has one without")
    func clientID() throws {
        func name(_ properties: [(name: String, value: String)]) throws -> [String] {
            let properties = properties + [("debug", "conf")]
            let consumer = try Consumer(
                brokers: ["127.0.0.1:1"], group: "g", topics: [], properties: properties)
            let producer = try Producer(brokers: ["127.0.0.1:1"], properties: properties)
            var names: [String] = []
            func look(_ text: String) {
                guard let range = text.firstRange(of: "client.id = ") else { return }
                names.append(String(text[range.upperBound...]))
            }
            while let event = consumer.nextEvent() {
                if case .log(_, let text) = event { look(text) }
            }
            while let event = producer.nextEvent() {
                if case .log(_, let text) = event { look(text) }
            }
            return names
        }
        #expect(try name([]) == ["firebridge", "firebridge"])
        #expect(try name([("client.id", "mine")]) == ["mine", "mine"])
    }

    @Test("that are secret are in no error's text")
    func secrets() {
        let canary = "canary-7c1f"
        for name in ["ssl.key.pem", "ssl.certificate.pem", "ssl.ca.pem", "sasl.oauthbearer.config"]
        {
            do {
                let consumer = try Consumer(
                    brokers: ["127.0.0.1:1"], group: "g", topics: [],
                    properties: [("security.protocol", "ssl"), (name, canary)])
                consumer.close(within: .seconds(1))
                while let event = consumer.nextEvent() { #expect(!"\(event)".contains(canary)) }
            } catch {
                #expect(!"\(error)".contains(canary))
                #expect(error.text != "")
            }
        }
        let error = #expect(throws: KafkaError.self) {
            _ = try Consumer(
                brokers: ["127.0.0.1:1"], group: "g", topics: [],
                properties: [
                    ("security.protocol", "sasl_plaintext"), ("sasl.oauthbearer.config", canary),
                    ("sasl.oauthbearer.method", "no"),
                ])
        }
        #expect(error.map { !"\($0)".contains(canary) } == true)
    }

    @Test("that are secret are in no line of librdkafka's log, however much it tells")
    func debug() throws {
        let canary = "canary-7c1f"
        let properties = [
            ("debug", "all"), ("security.protocol", "sasl_plaintext"),
            ("sasl.mechanism", "SCRAM-SHA-256"), ("sasl.username", "u"), ("sasl.password", canary),
            ("ssl.key.password", canary), ("ssl.keystore.password", canary),
            ("sasl.oauthbearer.config", canary),
        ]
        let consumer = try Consumer(
            brokers: ["127.0.0.1:1"], group: "g", topics: [], properties: properties)
        var lines: [String] = []
        func look() {
            while let event = consumer.nextEvent() {
                if case .log(_, let text) = event { lines.append(text) }
            }
        }
        look()
        consumer.close(within: .seconds(1))
        look()
        #expect(lines.contains { $0.contains("sasl.password = ") }, "\(lines)")
        #expect(!lines.contains { $0.contains(canary) })
    }

    @Test("do not make a topic's name a pattern")
    func pattern() {
        let error = #expect(throws: KafkaError.self) {
            _ = try Consumer(brokers: ["127.0.0.1:1"], group: "g", topics: ["^t"])
        }
        #expect(error?.text.contains("pattern") == true)
    }
}
