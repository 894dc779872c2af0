import BridgeCore
import Testing

@Suite struct OutcomeTests {
    /// 2026-04-23T22:43:44Z.
    let now: Int64 = 1_776_984_224_000

    func classify(
        _ status: Int, _ body: String = "", retryAfter: String? = nil, date: String? = nil
    ) -> Outcome {
        Outcome.classify(
            status: status, body: Array(body.utf8), retryAfter: retryAfter, date: date, now: now)
    }

    @Test(arguments: ["text/html", "Text/HTML; charset=utf-8"])
    func `a web page is no acknowledgement`(type: String) {
        let outcome = Outcome.classify(
            status: 200, body: Array("<html>".utf8), contentType: type, now: now)
        guard case .unavailable(let reason, nil) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.contains("web page"))
        for other in ["application/json; charset=utf-8", "text/plain", nil] {
            let outcome = Outcome.classify(status: 200, body: [], contentType: other, now: now)
            #expect(outcome == .done(body: [], date: nil))
        }
    }

    @Test(arguments: [200, 201, 204, 206, 299]) func `2xx is done`(status: Int) {
        #expect(classify(status, "7") == .done(body: Array("7".utf8), date: nil))
        #expect(
            classify(status, date: "Thu, 23 Apr 2026 22:43:44 GMT") == .done(body: [], date: now))
    }

    @Test(arguments: ["Could not parse auth token.", "Auth token is expired", ""])
    func `401 is unauthorized`(text: String) {
        let message = text.isEmpty ? "HTTP 401" : "HTTP 401: \(text)"
        #expect(classify(401, "{\"error\" : \"\(text)\"}") == .unauthorized(message))
    }

    @Test func `401 with the rules' word is refused`() {
        #expect(
            classify(401, "{\n  \"error\" : \"Permission denied\"\n}\n")
                == .refused(status: 401, "HTTP 401: Permission denied"))
        #expect(
            classify(401, #"{"error":"Permission denied."}"#)
                == .refused(status: 401, "HTTP 401: Permission denied."))
    }

    @Test(arguments: [402, 421, 423, 425, 429, 500, 501, 502, 503] + Array(505...599))
    func `What passes is unavailable`(status: Int) {
        #expect(classify(status) == .unavailable("HTTP \(status)", retryAfter: nil))
    }

    @Test(arguments: [408, 504])
    func `Where somebody on the way did not wait the write may have landed`(status: Int) {
        #expect(
            classify(status, retryAfter: "3")
                == .unanswered("HTTP \(status)", retryAfter: .seconds(3)))
    }

    @Test(arguments: [
        0, 100, 101, 300, 301, 302, 303, 304, 305, 307, 308, 399, 406, 407, 410, 416, 417, 418,
        420, 424, 426, 428, 431, 451, 499, 600, 999,
    ])
    func `Anything not listed is unavailable`(status: Int) {
        #expect(classify(status) == .unavailable("HTTP \(status)", retryAfter: nil))
    }

    @Test func `400 because of the size is too big`() {
        let text =
            "Data to write exceeds the maximum size that can be modified with a single request."
        #expect(classify(400, "{\"error\" : \"\(text)\"}") == .tooBig("HTTP 400: \(text)"))
        #expect(classify(413, "{\"error\" : \"\(text)\"}") != .tooBig("HTTP 413: \(text)"))
    }

    @Test(arguments: [400, 403, 404, 405, 409, 411, 412, 413, 414, 415, 422])
    func `What the database will not have is refused`(status: Int) {
        #expect(
            classify(status, #"{"error":"no"}"#)
                == .refused(status: status, "HTTP \(status): no"))
    }

    @Test(arguments: [
        ("120", Duration.seconds(120)), ("0", .zero), ("99999999999", .seconds(86_400)),
        ("Thu, 23 Apr 2026 22:44:14 GMT", .seconds(30)),
        ("Thu, 23 Apr 2026 22:43:00 GMT", .zero),
    ])
    func `Retry-After is honoured, as seconds and as a date`(header: String, wait: Duration) {
        #expect(classify(503, retryAfter: header) == .unavailable("HTTP 503", retryAfter: wait))
    }

    @Test(arguments: ["-1", "soon", "1.5", "", "Thursday, 23-Apr-26 22:44:14 GMT"])
    func `A Retry-After that is neither is ignored`(header: String) {
        #expect(classify(429, retryAfter: header) == .unavailable("HTTP 429", retryAfter: nil))
    }

    @Test func `A Retry-After date counts from the server's clock where it is known`() {
        let outcome = classify(
            503, retryAfter: "Fri, 01 Jan 2027 00:00:10 GMT",
            date: "Fri, 01 Jan 2027 00:00:00 GMT")
        #expect(outcome == .unavailable("HTTP 503", retryAfter: .seconds(10)))
    }

    @Test func `A foreign error page becomes one short line`() {
        let page = "<html>\r\n\u{1B}[31m" + String(repeating: "x", count: 5000)
        guard case .unavailable(let text, _) = classify(502, page) else {
            Issue.record("expected unavailable")
            return
        }
        #expect(text.hasPrefix("HTTP 502: <html> [31mxxx") && text.count <= 320)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Sat, 01 Mar 2036 00:00:00 GMT", 2_087_942_400),
    ])
    func `The Date header is read`(text: String, seconds: Int64) {
        #expect(classify(204, date: text) == .done(body: [], date: seconds * 1000))
    }

    @Test(arguments: [
        "Sun Nov  6 08:49:37 1994", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "x", "", "Sun, 06 Nov 1994 08:49:37 CET",
    ])
    func `A Date header in another form is none`(text: String) {
        #expect(classify(204, date: text) == .done(body: [], date: nil))
    }
}
