import HTTPClient
import JSON
import Oracle
import Tree
import TreeWire

/// Listens to `conversations` as a reader does, and notes every status that falls behind one that
/// was seen before.
final class StatusListener {
    /// Every fall of a conversation's `(seq, since)`, in words.
    private(set) var falls: [String] = []
    /// How many statuses were seen to change.
    private(set) var changes = 0
    /// How often the stream was begun.
    private(set) var connections = 0

    private let http: HTTPClient
    private let url: String
    private var stream = EventStreamParser()
    private let parser = JSONParser()
    private var decoder = ValueDecoder()
    private var replica = Value.null
    private var seen: [[UInt8]: (seq: Int64, since: Instant)] = [:]

    init(_ tree: TreeProcess) {
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        http = HTTPClient(options)
        url = tree.url(of: "conversations")
        connect()
    }

    /// Takes in what has come.
    func step() throws {
        _ = http.wait(timeout: .zero)
        while let event = http.nextEvent() {
            switch event {
            case .head(_, let status, _): if status != 200 { falls.append("status \(status)") }
            case .data(_, let piece):
                for event in try stream.feed(piece) { try take(event) }
            case .response, .failed: connect()
            }
        }
    }

    private func connect() {
        connections += 1
        stream = EventStreamParser()
        _ = http.start(
            HTTPRequest(
                "GET", url, headers: [("Accept", "text/event-stream")], timeout: nil,
                isStream: true))
    }

    private func take(_ event: ServerSentEvent) throws {
        guard let event = try TreeEvent(event, parser: parser, decoder: &decoder) else { return }
        event.apply(to: &replica)
        for (key, conversation) in replica.children {
            let status = conversation[Array("status".utf8)]
            guard case .string(let seq) = status[Array("seq".utf8)],
                let number = Int64(String(decoding: seq, as: UTF8.self))
            else { continue }
            var since = Instant.oldest
            if case .string(let text) = status[Array("since".utf8)] {
                since = Instant(text) ?? .oldest
            }
            note(key.bytes, number, since)
        }
    }

    private func note(_ key: [UInt8], _ seq: Int64, _ since: Instant) {
        if let last = seen[key] {
            guard last != (seq, since) else { return }
            if (seq, since) < (last.seq, last.since) {
                let name = String(decoding: key, as: UTF8.self)
                falls.append("\(name): from \(last) to \((seq, since))")
            }
        }
        changes += 1
        seen[key] = (seq, since)
    }
}
