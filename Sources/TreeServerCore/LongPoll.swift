internal import TreeAuth
internal import TreeWire

/// The polls of a client without WebSocket: what is to be said at the next one, and the pieces of
/// what it says.
///
/// A client says something in `seg`, `ts` and `d` of its polls: a piece's number, of how many its
/// message is made, and base64. The pieces are numbered from 0; polls may overtake one another.
struct LongPoll {
    let password: String
    /// What is to be said, and how many bytes that is.
    private(set) var messages: [[UInt8]] = []
    private(set) var bytes = 0
    private(set) var isOverfull = false
    /// The poll that waits for something to be said, and until when.
    var waiting: StreamID?
    var due = Int64.max
    /// When the client last asked.
    var heard: Int64
    /// The client has polled since it began.
    var isAsked = false
    /// The client has dropped the poll that waited.
    var isCut = false
    private var answers = 0
    private var nextPiece = 0
    private var pieces: [Int: (count: Int, text: [UInt8])] = [:]
    private var pieceBytes = 0

    init(password: String, at now: Int64) {
        self.password = password
        heard = now
    }

    /// Adds something to say; of one who leaves too much waiting, no more is kept.
    mutating func say(_ message: [UInt8], bytesMax: Int = .max) {
        guard bytes <= bytesMax else {
            isOverfull = true
            return
        }
        messages.append(message)
        bytes += message.count
    }

    /// What a poll is answered with: all that is to be said, as a call of the client's function.
    mutating func answer(closing: Bool) -> [UInt8] {
        var out = Array("pRTLPCB(\(answers),[".utf8)
        out.append(contentsOf: messages.joined(separator: [UInt8(ascii: ",")]))
        out.append(contentsOf: "]);".utf8)
        if closing { out.append(contentsOf: "pLPCommand('close',\(answers));".utf8) }
        answers += 1
        messages = []
        bytes = 0
        return out
    }

    /// Takes the pieces of a poll.
    ///
    /// - Returns: the messages that are complete now; nil where the pieces are nonsense or too much.
    mutating func take(_ target: RESTTarget, bytesMax: Int) -> [[UInt8]]? {
        var index = 0
        while let number = integer(target, "seg\(index)") {
            guard let count = integer(target, "ts\(index)"), count > 0,
                let text = target.parameter("d\(index)"), number < nextPiece + piecesMax
            else { return nil }
            index += 1
            guard number >= nextPiece, pieces[number] == nil else { continue }
            pieces[number] = (count, text)
            pieceBytes += text.count
            guard pieceBytes <= bytesMax / 3 * 4 else { return nil }
        }
        return complete()
    }

    private mutating func complete() -> [[UInt8]]? {
        var found: [[UInt8]] = []
        while let first = pieces[nextPiece] {
            var text: [UInt8] = []
            for number in nextPiece..<nextPiece + min(first.count, piecesMax) {
                guard let piece = pieces[number] else { return found }
                text.append(contentsOf: piece.text)
            }
            for number in nextPiece..<nextPiece + min(first.count, piecesMax) {
                pieces[number] = nil
            }
            nextPiece += first.count
            pieceBytes -= text.count
            while text.last == UInt8(ascii: ".") { text.removeLast() }
            guard let message = base64URLDecoded(text[...]) else { return nil }
            found.append(message)
        }
        return found
    }

    private func integer(_ target: RESTTarget, _ name: String) -> Int? {
        target.parameter(name).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            .flatMap { 0..<1_000_000_000 ~= $0 ? $0 : nil }
    }
}

/// The most pieces that are kept: those of a message of 16 MiB.
private let piecesMax = 20_000

/// A polling client's change to a socket.
struct Upgrade {
    var socket: SessionID
    var assembler: MessageAssembler
    /// What came over the socket before the last that came by a poll.
    var held: [[UInt8]] = []
    var heldBytes = 0
}
