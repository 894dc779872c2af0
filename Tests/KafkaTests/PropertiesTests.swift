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
            ("plugin.library.paths", "code"), ("sasl.kerberos.kinit.cmd", "shell"),
            ("rebalance_cb", "callback"), ("opaque", "pointer"), ("enabled_events", "the bridge"),
            ("SASL.kerberos.kinit.cmd", "shell"), ("test.mock.num.brokers", "cluster"),
            ("ssl.providers", "code"),
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
                    ("security.protocol", "sasl_plaintext"), ("sasl.mechanisms", "OAUTHBEARER"),
                    ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
                    ("sasl.oauthbearer.config", canary), ("sasl.oauthbearer.method", "no"),
                ])
        }
        #expect(error.map { !"\($0)".contains(canary) } == true)
    }

    @Test("do not make a topic's name a pattern")
    func pattern() {
        let error = #expect(throws: KafkaError.self) {
            _ = try Consumer(brokers: ["127.0.0.1:1"], group: "g", topics: ["^t"])
        }
        #expect(error?.text.contains("pattern") == true)
    }
}
