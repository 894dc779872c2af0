internal import Tree

// Long polls: a session is asked for, and spoken to by whole and odd polls.
extension VisitMaker {
    mutating func polls() -> Visit {
        var visit = Visit()
        let start = "/.lp?start=t&ser=1&cb=\(int(0..<100))&v=5&ns=\(pick(Self.databases))"
        var opening = poll(chance(0.9) ? start : target())
        if chance(0.1) { opening = damaged(opening) }
        visit.pieces = [opening]
        visit.asksForSession = true
        var piece = 0
        for _ in 0..<int(0..<8) {
            var asked = "/.lp?\(pick(Self.credentials))&ser=2&ns=a" + said(&piece)
            asked += pick(["", "", "", "", "&dframe=t", "&disconn=t", "&start=t"])
            let request = poll(asked)
            visit.pieces += cut(chance(0.1) ? damaged(request) : request)
        }
        return visit
    }

    private func poll(_ target: String) -> [UInt8] {
        Array("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
    }

    /// Messages in numbered pieces, most of them in order.
    private mutating func said(_ piece: inout Int) -> String {
        var out = ""
        for index in 0..<pick([0, 1, 1, 3]) {
            let text = base64URL(message())
            let parts = pick([1, 1, 1, 2, 3])
            let size = text.count / parts + 1
            for part in 0..<parts {
                let here = String(decoding: text.dropFirst(part * size).prefix(size), as: UTF8.self)
                let number = chance(0.95) ? "\(piece)" : pick(["-1", "0", "9999999", "x"])
                let count = chance(0.95) ? "\(parts)" : pick(["0", "-1", "20001", "x"])
                out += "&seg\(index)=\(number)&ts\(index)=\(count)&d\(index)=\(here)"
                piece += 1
            }
        }
        return out
    }

    private func base64URL(_ bytes: [UInt8]) -> [UInt8] {
        base64(bytes).map {
            switch $0 {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): UInt8(ascii: ".")
            default: $0
            }
        }
    }

    private static let credentials = [
        "{session}", "{session}", "{session}", "{session}", "{session}", "id=1&pw=x", "id=-1&pw=",
        "id=99999999999999999999&pw=0", "pw=x",
    ]
}
