internal import BridgeCore
internal import Kafka

/// The way of rejected records into the dead-letter topic. The producer begins with the first one:
/// a bridge that rejects nothing has no connections for it.
final class DeadLetterQueue {
    /// What became of a dead letter.
    struct Result {
        var id: Int
        /// nil: the broker has it.
        var failure: String?
    }

    private let topic: String
    private let brokers: [String]
    private let properties: [(name: String, value: String)]
    private var producer: Producer?
    private var pending: [Int: DeadLetter] = [:]
    private var done: [Result] = []
    private var texts: [String] = []

    init(topic: String, brokers: [String], properties: [(name: String, value: String)]) {
        self.topic = topic
        self.brokers = brokers
        self.properties = properties
    }

    var descriptor: Int32? { producer?.descriptor }

    func append(_ letter: DeadLetter) {
        pending[letter.id] = letter
        produce(letter, omitsValue: false)
    }

    /// What has become known since the last call.
    func results() -> [Result] {
        producer?.drainDescriptor()
        while let event = producer?.nextEvent() {
            switch event {
            case .delivered(let id, _, let error): delivered(id, error)
            case .error(let error):
                texts.append(error.description)
                if error.action == .fatal { bury(error) }
            case .log(let level, let text): if level <= 4 { texts.append(text) }
            }
        }
        defer { done = [] }
        return done
    }

    /// What went wrong apart from single records.
    func complaints() -> [String] {
        defer { texts = [] }
        return texts
    }

    func close(within limit: Duration) -> Bool { producer?.close(within: limit) ?? true }

    private func delivered(_ id: Int, _ error: KafkaError?) {
        guard let letter = pending[id] else { return }
        if let error, error.action == .fatal { return bury(error) }
        if error?.isTooLarge == true, letter.record.value != nil {
            pending[id]?.record.value = nil
            produce(letter, omitsValue: true)
            return
        }
        pending[id] = nil
        done.append(Result(id: id, failure: error?.description))
    }

    /// The producer will never produce again. What waits has failed, and the core sends it again, to
    /// another one.
    private func bury(_ error: KafkaError) {
        producer = nil
        for id in pending.keys.sorted() {
            done.append(Result(id: id, failure: error.description))
        }
        pending = [:]
    }

    private func produce(_ letter: DeadLetter, omitsValue: Bool) {
        do throws(KafkaError) {
            try started().produce(
                topic: topic, key: letter.record.key,
                value: omitsValue ? nil : letter.record.value,
                headers: Self.headers(of: letter, omitsValue: omitsValue),
                timestamp: letter.record.timestamp, token: letter.id)
        } catch {
            // Too large even for the client is what a broker would say as well.
            delivered(letter.id, error)
        }
    }

    private func started() throws(KafkaError) -> Producer {
        if let producer { return producer }
        let fresh = try Producer(brokers: brokers, properties: properties)
        producer = fresh
        return fresh
    }

    /// The record's own headers, then what the contract adds (section 6).
    private static func headers(of letter: DeadLetter, omitsValue: Bool) -> [Header] {
        func own(_ name: String, _ value: String) -> Header {
            Header(name: name, value: Array(value.utf8))
        }
        var headers = letter.record.headers
        headers.append(own(LetterHeader.reason, letter.rejection.reason.rawValue))
        headers.append(own(LetterHeader.message, letter.rejection.message))
        headers.append(own(LetterHeader.topic, letter.source.topic))
        headers.append(own(LetterHeader.partition, "\(letter.source.partition)"))
        headers.append(own(LetterHeader.offset, "\(letter.record.offset)"))
        let time = Timestamp.text(milliseconds: letter.time)
        headers.append(own(LetterHeader.time, String(decoding: time, as: UTF8.self)))
        if omitsValue { headers.append(own(LetterHeader.valueOmitted, "true")) }
        return headers
    }
}
