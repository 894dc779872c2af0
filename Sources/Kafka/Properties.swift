import CRdKafka
import KafkaRules

/// librdkafka's properties, and how they are set; what users may set says `PropertyRules`.
public enum Properties {
    /// Says whether users may pass these on: no reserved name, no unknown one, no bad value.
    ///
    /// Nothing is connected and no file is opened. The text of the error is librdkafka's own,
    /// without the values of secrets.
    public static func check(_ properties: [(name: String, value: String)]) throws(KafkaError) {
        let list = try PropertyList(user: properties, over: [], under: [])
        withExtendedLifetime(list) {}
    }

    /// The text with the values of secrets replaced.
    static func redact(_ text: String, _ properties: [(name: String, value: String)]) -> String {
        var text = Array(text.utf8)
        for (name, value) in properties
        where PropertyRules.isSecret(name, value: value) && !value.isEmpty {
            text = replacing(Array(value.utf8), in: text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func replacing(_ secret: [UInt8], in text: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index...].starts(with: secret) {
                out += Array("<secret>".utf8)
                index += secret.count
            } else {
                out.append(text[index])
                index += 1
            }
        }
        return out
    }
}

/// One `rd_kafka_conf_t`, which belongs to this until a handle takes it.
@safe
final class PropertyList {
    private var pointer: OpaquePointer?

    /// Sets the defaults, then what the user wants, then what must be so.
    init(
        user: [(name: String, value: String)], over defaults: [(String, String)],
        under fixed: [(String, String)]
    ) throws(KafkaError) {
        unsafe pointer = rd_kafka_conf_new()
        for (name, value) in defaults { try set(name, value) }
        for (name, value) in user {
            if let refusal = PropertyRules.refusal(name, value: value) {
                let what =
                    refusal.found.map { ": expected \(refusal.expected), found \($0)" }
                    ?? " is reserved"
                throw KafkaError(
                    code: "_INVALID_ARG", text: "property \"\(name)\"\(what): \(refusal.reason)",
                    action: .fatal)
            }
            try set(name, value)
        }
        for (name, value) in fixed { try set(name, value) }
    }

    /// Which events come by the queue, beside those that always do.
    func setEvents(_ events: Int32) { unsafe rd_kafka_conf_set_events(pointer, events) }

    /// Makes the handle that these describe; the error's text has no secrets.
    func makeHandle(
        _ type: rd_kafka_type_t, user: [(name: String, value: String)]
    ) throws(KafkaError) -> OpaquePointer {
        let text = CText()
        guard let handle = unsafe rd_kafka_new(type, pointer, text.pointer, text.size) else {
            throw KafkaError(
                code: "_INVALID_ARG", text: Properties.redact(text.string, user),
                action: .fatal)
        }
        unsafe pointer = nil
        return unsafe handle
    }

    private func set(_ name: String, _ value: String) throws(KafkaError) {
        let text = CText()
        let result = unsafe rd_kafka_conf_set(pointer, name, value, text.pointer, text.size)
        guard result == RD_KAFKA_CONF_OK else {
            throw KafkaError(
                code: result == RD_KAFKA_CONF_UNKNOWN ? "_UNKNOWN_PROPERTY" : "_INVALID_ARG",
                text: Properties.redact(text.string, [(name, value)]), action: .fatal)
        }
    }

    deinit { if let pointer = unsafe pointer { unsafe rd_kafka_conf_destroy(pointer) } }
}
