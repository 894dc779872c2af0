internal import Fuzzing

/// A client that writes and reads a node of its own, and must always be answered.
struct Probe {
    private let port: UInt16
    private var connection: Connection
    private var answers = Answers(isHead: false)
    private var asked = 0
    private var askedAt = 0.0
    private var text: [UInt8] = []
    /// How long the slowest answer took.
    private(set) var slowest = 0.0
    private(set) var breaches: [String] = []

    /// The machine is busy with the fuzzer itself.
    private static let secondsMax = 10.0

    init(port: UInt16) {
        self.port = port
        connection = Connection(port: port)
    }

    var number: Int32 { connection.number }

    /// Takes the answer that is due, and asks for the next one.
    mutating func turn(at now: Double) {
        let came = connection.turn()
        answers.take(came)
        text += came
        if answers.count == asked {
            if asked > 0 {
                slowest = max(slowest, now - askedAt)
                if !String(decoding: text, as: UTF8.self).hasSuffix("\r\n\r\n\(asked)") {
                    breaches.append("the probe's write \(asked) is answered by \(text)")
                }
            }
            ask(at: now)
        } else if now - askedAt > Self.secondsMax || connection.isOver {
            breaches.append("the probe has no answer after \(Int(now - askedAt)) s")
            connection = Connection(port: port)
            answers = Answers(isHead: false)
            asked = 0
            ask(at: now)
        }
    }

    private mutating func ask(at now: Double) {
        asked += 1
        askedAt = now
        text = []
        let body = "\(asked)"
        connection.send(
            Array(
                ("PUT /probe.json?ns=probe HTTP/1.1\r\nHost: x\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8))
    }
}
