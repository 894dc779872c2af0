/// Which librdkafka properties are not the operator's to set (contract section 3), and which are
/// not to be shown: for the configuration, which names the place, and for Kafka's clients, which
/// trust no caller.
public enum PropertyRules {
    /// Why a property cannot be set so.
    public struct Refusal: Equatable, Sendable {
        /// What could be there instead.
        public var expected = "a property that is not reserved"
        /// What was found, where that is the value; nil where the name is what is refused.
        public var found: String?
        /// What is wrong with it, and what to do.
        public var reason: String
    }

    /// Why a property is refused; nil where it may be set.
    public static func refusal(_ name: String, value: String = "") -> Refusal? {
        let name = name.lowercased()
        if kinitNames.contains(name), !value.utf8.allSatisfy(isPlain) {
            return Refusal(
                expected: "letters of ASCII, digits and any of . _ - / @ : + , =",
                found: "another character",
                reason: "Kafka's client puts it into a shell command, kinit, which would take the "
                    + "character for its own")
        }
        let value = value.lowercased()
        if mechanismNames.contains(name), value == "oauthbearer" {
            return Refusal(
                expected: mechanisms, found: "OAUTHBEARER",
                reason: "nothing here can fetch its tokens, and Kafka's client would wait for one "
                    + "for ever; have the brokers offer one of the others")
        }
        return reason(name, value).map { Refusal(reason: $0) }
    }

    /// Why a name is refused, or its value. Both in small letters.
    private static func reason(_ name: String, _ value: String) -> String? {
        if unguarded.contains(where: { $0 == (name, value) }) {
            return "Kafka's certificates are always checked; name yours in ssl.ca.location"
        }
        if name.utf8.starts(with: "test.mock.".utf8) {
            return "it would replace Kafka by a cluster inside this process"
        }
        if let key = replacements[name] { return "use \(key) instead" }
        if let reason = reserved[name] { return reason }
        guard !isCallback(name) else { return "callbacks and pointers cannot be configured" }
        return nil
    }

    /// The name, and the one that librdkafka began with.
    private static let mechanismNames: Set = ["sasl.mechanism", "sasl.mechanisms"]
    /// Those that need no callback.
    private static let mechanisms = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or GSSAPI"

    /// What librdkafka puts into `sasl.kerberos.kinit.cmd` as it is, now or in earlier versions.
    private static let kinitNames: Set = [
        "sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.kerberos.service.name",
    ]

    /// Whether a shell takes a byte for nothing but itself.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "._-/@:+,=".utf8.contains(byte)
        }
    }

    /// What another key says.
    private static let replacements = [
        "bootstrap.servers": "kafka.brokers",
        "metadata.broker.list": "kafka.brokers",
        "group.id": "kafka.group",
        "auto.offset.reset": "kafka.start and kafka.on_gap",
    ]

    /// What the bridge decides itself, and what would run somebody else's code.
    private static let reserved = [
        "enable.auto.commit": "the bridge commits what is acknowledged; there is no key for it",
        "auto.commit.enable": "the bridge commits what is acknowledged; there is no key for it",
        "enable.auto.offset.store":
            "the bridge commits what is acknowledged; there is no key for it",
        "partition.assignment.strategy":
            "the range assignor brings a conversation to one instance; there is no key for it",
        "enable.partition.eof": "the bridge asks for it itself; there is no key for it",
        "transactional.id":
            "dead letters are produced idempotently, in no transaction; there is no key for it",
        "enabled_events": "the bridge asks for them itself; there is no key for it",
        "log.queue": "the bridge asks for it itself; there is no key for it",
        "plugin.library.paths": "it would load code; link plugins at build time instead",
        "ssl.engine.location": "it would load code; use ssl.keystore.location instead",
        "ssl.providers": "it would load code",
        "sasl.kerberos.kinit.cmd":
            "it would run a shell command; refresh the ticket cache with k5start instead",
        "enable.sasl.oauthbearer.unsecure.jwt":
            "unsigned tokens are for OAUTHBEARER, which is refused; set sasl.mechanism to "
            + mechanisms,
    ]

    /// What would let anybody be the broker.
    private static let unguarded = [
        ("enable.ssl.certificate.verification", "false"),
        ("enable.ssl.certificate.verification", "f"),
        ("enable.ssl.certificate.verification", "0"),
        ("ssl.endpoint.identification.algorithm", "none"),
    ]

    private static let pointers: Set = [
        "opaque", "default_topic_conf", "interceptors", "ssl_key", "ssl_certificate", "ssl_ca",
        "ssl_engine_callback_data", "msg_order_cmp", "partitioner_cb",
    ]

    private static func isCallback(_ name: String) -> Bool {
        pointers.contains(name) || name.utf8.reversed().starts(with: "_cb".utf8.reversed())
    }

    private static let secretParts = [
        "password", "passwd", "secret", ".pem", "token", "sasl.jaas", "credential",
        "sasl.oauthbearer.config", "sasl.oauthbearer.extensions", "private",
    ]

    /// Whether a property's value is hidden: rather one too many than one too few.
    public static func isSecret(_ name: String, value: String = "") -> Bool {
        let name = name.lowercased()
        return secretParts.contains { find($0, in: name) } || find("PRIVATE KEY", in: value)
    }

    /// A value without the user name and password of URLs in it.
    public static func withoutUserInfo(_ value: String) -> String {
        let bytes = Array(value.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index...].starts(with: "://".utf8) else {
                out.append(bytes[index])
                index += 1
                continue
            }
            out += "://".utf8
            index += 3
            let end = bytes[index...].firstIndex { "/?# ,".utf8.contains($0) } ?? bytes.endIndex
            if let at = bytes[index..<end].lastIndex(of: UInt8(ascii: "@")) { index = at + 1 }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func find(_ part: String, in text: String) -> Bool {
        let text = Array(text.utf8)
        let part = Array(part.utf8)
        guard text.count >= part.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
    }
}
