// Requests as clients make them, with odd places, parameters, headers and bodies; some of them are
// damaged after that, and some visits are no requests at all.
extension VisitMaker {
    mutating func requests() -> Visit {
        var visit = Visit()
        if chance(0.03) {
            visit.pieces = cut(bytes(1..<4000))
            return visit
        }
        var isAnswered = true
        for _ in 0..<pick([1, 1, 1, 2, 4]) where !visit.isHead {
            isAnswered = request(&visit) && isAnswered
            if isAnswered { visit.answersDue += 1 }
        }
        // A damaged HEAD is another method, whose answers have bodies.
        if !visit.isHead, chance(0.3) {
            let whole = Array(visit.pieces.joined())
            visit.pieces = cut(
                chance(0.3) ? Array(whole.prefix(int(0..<whole.count))) : damaged(whole))
            visit.answersDue = 0
        }
        return visit
    }

    /// - Returns: whether its answer has an end, or is one at all.
    private mutating func request(_ visit: inout Visit) -> Bool {
        // Where others come before it, nobody could tell where its answer ends.
        let odd = visit.pieces.isEmpty ? Self.oddMethods : Array(Self.oddMethods.dropFirst())
        let method = pick(chance(0.9) ? Self.methods : odd)
        var head =
            "\(method) \(target(isRead: method == "GET")) HTTP/1.1\r\nHost: \(chance(0.95) ? "x" : pick(Self.hosts))\r\n"
        // Rules come and go: who owns the database gets through.
        if chance(0.5) { head += "Authorization: Bearer owner\r\n" }
        var isAnswered = true
        for _ in 0..<pick([0, 0, 1, 1, 2, 4]) {
            let header = pick(chance(0.9) ? Self.headers : Self.oddHeaders)
            // A stream's answer has no end. With a folded header, which HTTP has given up,
            // microhttpd 0.9.75 may leave a long request after it lying: its connection falls
            // silent and is closed after a minute.
            let isOdd = ["event-stream", "Upgrade", "Folded"].contains { header.contains($0) }
            if isOdd { isAnswered = false }
            head += header + "\r\n"
        }
        if chance(0.02) {
            head += "X-Giant: \(String(repeating: "g", count: pick([8_000, 40_000, 300_000])))\r\n"
            isAnswered = false
        }
        if chance(0.02) {
            head += String(repeating: "X-Many: 1\r\n", count: pick([100, 3000]))
            isAnswered = false
        }
        visit.isHead = method == "HEAD"
        let body = ["GET", "HEAD", "OPTIONS"].contains(method) && chance(0.95) ? [] : self.body()
        let framed = framed(body, isWhole: &isAnswered)
        visit.pieces += cut(Array((head + framed.head + "\r\n").utf8) + framed.body)
        return isAnswered
    }

    /// The body as the head announces it: by its length, in chunks, or wrongly.
    private mutating func framed(
        _ body: [UInt8], isWhole: inout Bool
    ) -> (head: String, body: [UInt8]) {
        switch int(0..<20) {
        case 0:
            isWhole = false
            let odd = pick([
                "-1", "1e9", "+5", "0x10", "5, 5", "99999999999999999999", "", "200000000",
            ])
            return ("Content-Length: \(odd)\r\n", body)
        case 1:
            isWhole = false
            return ("Content-Length: \(body.count)\r\nTransfer-Encoding: chunked\r\n", body)
        case 2:
            isWhole = false
            return ("Content-Length: \(max(0, body.count + pick([-3, -1, 1, 100])))\r\n", body)
        case 3..<6:
            var out: [UInt8] = []
            var rest = body[...]
            while !rest.isEmpty {
                let count = int(1..<rest.count + 1)
                out +=
                    Array("\(String(count, radix: 16))\r\n".utf8) + rest.prefix(count) + [13, 10]
                rest = rest.dropFirst(count)
            }
            return ("Transfer-Encoding: chunked\r\n", out + Array("0\r\n\r\n".utf8))
        default: return body.isEmpty ? ("", []) : ("Content-Length: \(body.count)\r\n", body)
        }
    }

    /// A path with its parameters.
    mutating func target(isRead: Bool = true) -> String {
        var target = ""
        for _ in 0..<pick([0, 1, 1, 2, 3]) {
            target += "/" + pick(chance(0.9) ? Self.plainSegments : Self.segments)
        }
        if target.isEmpty || chance(0.05) { target += "/" }
        if chance(0.95) { target += ".json" }
        var separator = "?"
        for _ in 0..<pick([0, 1, 1, 1, 2, 3, 6]) {
            let plain = isRead ? Self.readParameters : Self.parameters
            target += separator + pick(chance(0.85) ? plain : Self.oddParameters)
            separator = "&"
        }
        return target
    }

    private mutating func body() -> [UInt8] {
        switch int(0..<20) {
        case 0: bytes(0..<300)
        case 1: []
        case 2: Array("[".utf8) + Array(repeating: UInt8(ascii: "["), count: int(1..<5000))
        case 3: Array("\"\(String(repeating: "x", count: pick([100, 70_000])))\"".utf8)
        case 4: rules()
        case 5..<10: Array(pick(Self.bodies).utf8)
        default: mutator.mutated(Array(pick(Self.bodies).utf8))
        }
    }

    private mutating func rules() -> [UInt8] {
        var grammar = RulesGrammar(seed: mutator.random.next())
        return Array(grammar.document(2).utf8)
    }

    private static let methods = [
        "GET", "GET", "GET", "PUT", "PUT", "PATCH", "PATCH", "POST", "DELETE", "OPTIONS",
    ]
    private static let oddMethods = ["HEAD", "TRACE", "get", "PROPFIND"]
    static let databases = ["a", "b", "c", "d"]
    private static let hosts = ["a", "b.firebaseio.com", "127.0.0.1:9000", "[::1]", "x y", ""]
    private static let plainSegments = ["a", "b", "c", "users", "0", "1", "2", "a%20b"]
    private static let segments = [
        "%C3%A9", "e%CC%81", "%ff", "%00", "%2F", "%2",
        "%zz",
        "a%20b", "..", ".", "", ".priority", ".value", ".sv", ".settings/rules", ".info/connected",
        ".inspect/databases", ".lp", ".ws", ".faults", "a.b", "$x", "%5B", "-Nx",
        String(repeating: "k", count: 768), String(repeating: "k", count: 769),
        "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/33",
    ]
    private static let parameters = [
        "ns=a", "ns=b", "ns=c", "ns=d", "auth=owner", "access_token=owner", "print=silent",
    ]
    private static let readParameters =
        parameters + [
            "print=pretty", "shallow=true", "format=export", "orderBy=%22$key%22&limitToFirst=2",
            "orderBy=%22b/c%22&startAt=1", "orderBy=%22$value%22&limitToLast=1",
        ]
    private static let oddParameters = [
        "ns=a", "ns=b", "ns=c", "ns=d", "ns=", "ns=%00", "ns=a&ns=b", "print=pretty",
        "print=silent", "print=x", "shallow=true", "shallow=1", "format=export", "format=strict",
        "orderBy=%22$key%22", "orderBy=%22$value%22", "orderBy=%22$priority%22",
        "orderBy=%22a/b%22", "orderBy=a", "orderBy=%22%22", "orderBy=%22$x%22", "startAt=1",
        "startAt=%22a%22", "startAt=null", "startAt=%7B%7D", "endAt=true", "endAt=%22%EF%A3%BF%22",
        "startAfter=1", "endBefore=%22b%22", "equalTo=2", "equalTo=%22", "equalTo=1e999",
        "limitToFirst=2", "limitToLast=1", "limitToFirst=0", "limitToFirst=-1", "limitToLast=x",
        "limitToFirst=99999999999999999999", "callback=f", "callback=f%28", "download=x",
        "download=%0d%0aX:1", "timeout=1s", "timeout=3ms", "timeout=1h", "writeSizeLimit=tiny",
        "writeSizeLimit=x", "auth=owner", "auth=x", "auth=a.b.c", "auth=", "access_token=owner",
        "auth=eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1IiwiaWF0IjowLCJhdWQiOiJ4In0.",
        "auth_variable_override=null", "auth_variable_override=%7B%22uid%22:%22u%22%7D",
        "auth_variable_override=%7B", "x-http-method-override=DELETE", "disableTriggers=true", "&",
        "=", "%", "a=%ff", "start=t", "v=5", "id=1", "pw=x",
    ]
    private static let headers = [
        "Accept: text/event-stream", "Accept: text/html", "Accept: */*",
        "Authorization: Bearer owner",
        "Authorization: Bearer owner", "Authorization: Bearer x.y.z", "Authorization: Basic eA==",
        "If-Match: null_etag", "If-Match: *", "If-None-Match: x",
        "X-Firebase-ETag: true",
        "Origin: http://x", "Access-Control-Request-Method: PUT",
        "Content-Type: text/plain", "Expect: 100-continue",
        "Connection: keep-alive", "Range: bytes=0-1", "X-HTTP-Method-Override: PATCH",
        "X-HTTP-Method-Override: DELETE", "Cookie: a=b; c=d",
        "Upgrade: websocket", "Content-Encoding: gzip",
        "Accept-Encoding: gzip", "TE: trailers",
    ]
    private static let oddHeaders = [
        "Authorization:", "if-match: \"\u{fe}\"", "Access-Control-Request-Headers: a\tb",
        "X-HTTP-Method-Override: \u{1}", "X-Odd: \u{7f}\u{1}", "No colon", " Folded: line",
        ": empty", "Host: other",
    ]
    static let bodies = [
        "null", "1", "\"é🙂\"", "{\"a\":1,\"b\":{\"c\":[1,2,null,\"x\"]}}", "{\"a/b\":1,\"c\":null}",
        "{\"a\":{\".sv\":\"timestamp\"},\"b\":{\".sv\":{\"increment\":1.5}}}",
        "{\".value\":1,\".priority\":\"p\"}", "{\"a\":{\".priority\":3,\"x\":true}}", "[1,[2,[3]]]",
        "{\"0\":1,\"1\":2,\"5\":3}", "{\"a\":1,\"a/b\":2}", "{\"a\":1,\"a\":2}", "{\"\":1}",
        "{\"rules\":{\".read\":true,\".write\":true}}",
        "{\"rules\":{\".read\":\"auth != null\",\"a\":{\".write\":\"newData.val() > 1\","
            + "\".indexOn\":[\"a/b\",\".value\"]}}}",
        "{\"k\":9223372036854775807,\"l\":-0.0,\"m\":1e308}",
    ]
}
