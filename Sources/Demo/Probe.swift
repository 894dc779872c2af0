internal import HTTPClient
internal import JSON

/// What the bridge says of itself, asked again and again over HTTP.
final class Probe {
    /// What `/status` said last.
    struct Status {
        /// Why it is not ready.
        var reasons: [String]
        /// Records behind the ends of the topics that it mirrors; nil while it has no partition.
        var lag: Int64?
        /// Records committed in them.
        var committed: Int64
    }

    /// Nil while the bridge does not answer.
    private(set) var status: Status?
    /// How long to wait between two questions, in nanoseconds.
    var interval: Int64 = 250_000_000

    private var requests: [(at: Int64, total: Double)] = []
    private var statusID: Int?
    private var metricsID: Int?
    private var dueAt: Int64 = 0
    private var base: String?
    private let parser = JSONParser()

    /// Asks, where it is time to. A bridge at another address is another bridge.
    func turn(_ address: String?, _ http: HTTPClient, at now: Int64) {
        if base != address {
            for id in [statusID, metricsID].compactMap(\.self) { http.cancel(id) }
            (statusID, metricsID, status, requests, dueAt) = (nil, nil, nil, [], 0)
            base = address
        }
        guard let base, now >= dueAt else { return }
        dueAt = now + interval
        if statusID == nil {
            statusID = http.start(HTTPRequest("GET", "\(base)/status", timeout: .seconds(2)))
        }
        if metricsID == nil {
            metricsID = http.start(HTTPRequest("GET", "\(base)/metrics", timeout: .seconds(2)))
        }
    }

    /// When it is time to ask again, by the monotonic clock.
    var deadline: Int64? { base == nil ? nil : dueAt }

    /// Takes an answer, where it is one to this.
    func take(_ event: HTTPEvent, at now: Int64) {
        if event.id == statusID {
            statusID = nil
            status = if case .response(_, let answer) = event { read(answer.body) } else { nil }
        } else if event.id == metricsID {
            metricsID = nil
            guard case .response(_, let answer) = event else { return }
            let total = Self.sum(of: "firebridge_requests_total", in: answer.body)
            requests.append((now, total))
            requests.removeAll { $0.at < now - Audience.window }
        }
    }

    /// Requests to the tree a second, over the last seconds.
    var requestRate: Double? {
        guard let first = requests.first, let last = requests.last, last.at > first.at else {
            return nil
        }
        return (last.total - first.total) / (Double(last.at - first.at) / 1e9)
    }

    private func read(_ body: [UInt8]) -> Status? {
        guard let tape = try? parser.parse(body),
            let reasons = tape.member(Array("not_ready".utf8), of: 0),
            let partitions = tape.member(Array("partitions".utf8), of: 0)
        else { return nil }
        var status = Status(
            reasons: tape.elements(of: reasons).map {
                String(decoding: tape.text($0), as: UTF8.self)
            }, lag: nil, committed: 0)
        for partition in tape.elements(of: partitions) {
            func number(_ name: String) -> Int64 {
                tape.member(Array(name.utf8), of: partition).flatMap(tape.int64) ?? 0
            }
            status.lag = (status.lag ?? 0) + number("lag")
            status.committed += max(0, number("committed"))
        }
        return status
    }

    /// The sum of a metric over its labels, of the Prometheus text format.
    static func sum(of name: String, in text: [UInt8]) -> Double {
        var sum = 0.0
        for line in text.split(separator: 0x0A) where line.starts(with: name.utf8) {
            guard
                [UInt8(ascii: "{"), UInt8(ascii: " ")].contains(
                    line.dropFirst(name.utf8.count).first),
                let space = line.lastIndex(of: UInt8(ascii: " "))
            else { continue }
            sum += Double(String(decoding: line[(space + 1)...], as: UTF8.self)) ?? 0
        }
        return sum
    }
}
