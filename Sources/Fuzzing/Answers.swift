internal import JSON

/// What a tree says over one connection, judged as it comes: answers that are whole, errors in the
/// database's own form, and after a 101 frames as Firebase's clients take them.
public struct Answers {
    /// What was wrong; empty where all went well.
    public private(set) var breaches: [String] = []
    /// How many answers were whole.
    public private(set) var count = 0
    /// How many of them were errors.
    public private(set) var errors = 0
    /// How many messages came over a WebSocket.
    public private(set) var messages = 0
    /// The name and password of the polling session that was given, as parameters.
    public private(set) var session: [UInt8]?

    private let isHead: Bool
    private var bytes: [UInt8] = []
    private var isSocket = false
    private var partsLeft = 0
    private var message: [UInt8] = []
    private let parser = JSONParser()

    /// - Parameter isHead: whether answers have no bodies.
    public init(isHead: Bool) { self.isHead = isHead }

    /// Takes what has come.
    public mutating func take(_ more: [UInt8]) {
        bytes += more
        while isSocket ? takeFrame() : takeAnswer() {}
    }

    // MARK: Answers

    private mutating func takeAnswer() -> Bool {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let lines = head.split(separator: "\r\n")
        guard head.hasPrefix("HTTP/1."),
            let status = lines[0].split(separator: " ").dropFirst().first
                .flatMap({ Int($0) }), 100..<600 ~= status
        else {
            breaches.append("no answer: \(shown(bytes))")
            bytes = []
            return false
        }
        isSocket = status == 101
        guard status >= 200 else {
            bytes.removeFirst(end.upperBound)
            return true
        }
        guard let body = body(from: end.upperBound, status, lines.dropFirst()) else { return false }
        count += 1
        judge(status, body.content, closes: head.lowercased().contains("\r\nconnection: close"))
        bytes.removeFirst(body.end)
        return true
    }

    /// An answer's body; nil where it is not all there.
    private func body(
        from start: Int, _ status: Int, _ headers: ArraySlice<Substring>
    ) -> (content: [UInt8], end: Int)? {
        if isHead || status == 204 || status == 304 { return ([], start) }
        let headers = headers.map { $0.lowercased() }
        if headers.contains("transfer-encoding: chunked") { return chunks(from: start) }
        let length = headers.first { $0.hasPrefix("content-length:") }?.dropFirst(16)
        guard let count = length.flatMap({ Int($0) }), start + count <= bytes.count else {
            return nil
        }
        return (Array(bytes[start..<start + count]), start + count)
    }

    private func chunks(from start: Int) -> (content: [UInt8], end: Int)? {
        var content: [UInt8] = []
        var start = start
        while let line = bytes[start...].firstIndex(of: 13), line + 2 <= bytes.count {
            let digits = String(decoding: bytes[start..<line], as: UTF8.self)
            guard let count = Int(digits, radix: 16), line + 4 + count <= bytes.count else {
                return nil
            }
            content += bytes[line + 2..<line + 2 + count]
            start = line + 4 + count
            if count == 0 { return (content, start) }
        }
        return nil
    }

    private mutating func judge(_ status: Int, _ body: [UInt8], closes: Bool) {
        let text = String(decoding: body, as: UTF8.self)
        if let call = text.firstMatch(of: /'start','(\d+)','([0-9a-f]+)'/) {
            session = Array("id=\(call.1)&pw=\(call.2)".utf8)
        }
        if status >= 500, status != 501, status != 505 {
            breaches.append("\(status): \(shown(body))")
        }
        guard status >= 400, !isHead else { return }
        errors += 1
        // For JSONP it is the argument of a call; 412 shows the value; without `.json` there is a
        // hint; what is no HTTP, the HTTP layer answers by a page of its own, and hangs up.
        let isOther =
            status == 412 || text.contains("(") && text.contains("\"error\"")
            || status == 404 && text.hasPrefix("append .json") || closes && text.contains("<html>")
        if isOther { return }
        guard let tape = try? parser.parse(body), tape.kind(0) == .object,
            tape.member(Array("error".utf8), of: 0).map({ tape.kind($0) == .string }) == true
        else { return breaches.append("\(status) in a form of its own: \(shown(body))") }
    }

    // MARK: Frames

    private mutating func takeFrame() -> Bool {
        guard bytes.count >= 2 else { return false }
        let width = [126: 2, 127: 8][bytes[1] & 0x7F] ?? 0
        guard bytes.count >= 2 + width else { return false }
        let count =
            width == 0 ? Int(bytes[1] & 0x7F) : bytes[2..<2 + width].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= 2 + width + count else { return false }
        let payload = Array(bytes[2 + width..<2 + width + count])
        switch (bytes[0], bytes[1] & 0x80) {
        case (0x81, 0): hear(payload)
        case (0x88, 0), (0x89, 0), (0x8A, 0): break
        default: breaches.append("a frame that cannot be: \(shown(bytes))")
        }
        bytes.removeFirst(2 + width + count)
        return true
    }

    /// A message, or how many parts the next one has, or one of these.
    private mutating func hear(_ text: [UInt8]) {
        if partsLeft == 0, let parts = Int(String(decoding: text, as: UTF8.self)) {
            if parts < 2 { breaches.append("a message of \(parts) parts") }
            partsLeft = parts
            message = []
            return
        }
        message = partsLeft > 0 ? message + text : text
        partsLeft = max(0, partsLeft - 1)
        guard partsLeft == 0 else { return }
        messages += 1
        guard let tape = try? parser.parse(message), tape.kind(0) == .object,
            tape.member(Array("t".utf8), of: 0) != nil
        else { return breaches.append("no message: \(shown(message))") }
    }

    private func shown(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix(300), as: UTF8.self).debugDescription
    }
}
