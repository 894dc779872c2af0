internal import JSON

extension Outcome {
    /// What an answer of the database means: the table of contract section 6. Redirects that are
    /// followed, and the one fresh token after a 401, are the client's and come before.
    ///
    /// - Parameter body: the answer's body: a GET's JSON, or `{"error": "text"}`.
    /// - Parameter retryAfter: the header of that name: seconds or a date.
    /// - Parameter date: the header of that name.
    /// - Parameter contentType: the header of that name: a database answers no web pages, so a 200
    ///   with one is a proxy's or a login page's, and nothing was written.
    /// - Parameter now: our own wall clock in milliseconds, for a `Retry-After` date where the
    ///   answer has no `Date` to compare it with.
    public static func classify(
        status: Int, body: [UInt8], retryAfter: String? = nil, date: String? = nil,
        contentType: String? = nil, now: Int64
    ) -> Outcome {
        let date = date.flatMap(parseHTTPDate)
        if (200..<300).contains(status) {
            guard contentType?.lowercased().hasPrefix("text/html") != true else {
                return .unavailable(
                    "HTTP \(status) with a web page: something else answers at the database's address",
                    retryAfter: nil)
            }
            return .done(body: body, date: date)
        }
        let text = errorText(body)
        let wait = retryAfter.flatMap { waitingTime($0, now: date ?? now) }
        let message = text.isEmpty ? "HTTP \(status)" : "HTTP \(status): \(text)"
        switch status {
        case 401:
            // The rules' word comes with the status of a bad token.
            return text.lowercased().contains("permission denied")
                ? .refused(status: status, message) : .unauthorized(message)
        case 400 where text.contains("exceeds the maximum size that can be modified"):
            return .tooBig(message)
        case 400, 403, 404, 405, 409, 411...415, 422:
            return .refused(status: status, message)
        case 408, 504:
            // Somebody on the way did not wait for the whole request, or for its answer.
            return .unanswered(message, retryAfter: wait)
        default: return .unavailable(message, retryAfter: wait)
        }
    }

    /// What is wrong with a read that was answered, and not by a database.
    static let withoutJSON = "2xx without JSON: something else answers at the database's address"

    /// How long a `Retry-After` header asks to wait: at most a day, never less than nothing.
    private static func waitingTime(_ header: String, now: Int64) -> Duration? {
        let dayMilliseconds: Int64 = 86_400_000
        if let seconds = plainDecimal(Array(header.utf8)[...], negative: false) {
            return .milliseconds(min(seconds, 86_400) * 1000)
        }
        guard let date = parseHTTPDate(header) else { return nil }
        return .milliseconds(min(max(date - now, 0), dayMilliseconds))
    }

    /// What the database says went wrong, on one line of at most 300 characters: the `error` of its
    /// JSON, or the beginning of whatever else came.
    private static func errorText(_ body: [UInt8]) -> String {
        var text = body
        if let tape = try? JSONParser().parse(body),
            let error = tape.member(Array("error".utf8), of: 0),
            tape.kind(error) == .string
        {
            text = tape.text(error)
        }
        let line = String(decoding: text.prefix(1200), as: UTF8.self).unicodeScalars.map {
            $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? " " : Character($0)
        }
        let words = String(line).split(separator: " ").joined(separator: " ")
        return words.count > 300 ? words.prefix(300) + "…" : words
    }
}
