// WebSockets: a client's messages, some damaged, in frames, some of which cannot be.
extension VisitMaker {
    mutating func socket() -> Visit {
        var visit = Visit()
        var sent = upgrade(chance(0.9) ? "/.ws?v=5&ns=\(pick(Self.databases))" : target())
        if chance(0.1) { sent = damaged(sent) }
        for _ in 0..<pick([0, 1, 3, 8, 20]) { sent += frames(message()) }
        if chance(0.2) { sent = Array(sent.prefix(int(0..<sent.count + 1))) }
        if chance(0.2) {
            sent += frame(8, pick([[], [3], [3, 0xE8], [0xFF, 0xFF] + bytes(0..<130)]))
        }
        visit.pieces = cut(sent)
        return visit
    }

    private mutating func upgrade(_ target: String) -> [UInt8] {
        var head =
            "GET \(target) HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Version: \(chance(0.97) ? "13" : pick(["8", ""]))\r\n"
        head += "Sec-WebSocket-Key: \(chance(0.97) ? "dGhlIHNhbXBsZSBub25jZQ==" : "x")\r\n\r\n"
        return Array(head.utf8)
    }

    /// What a client of Firebase's says, or nearly so.
    mutating func message() -> [UInt8] {
        let text = Array(pick(Self.messages).utf8)
        return chance(0.6) ? text : chance(0.7) ? mutator.mutated(text) : damaged(text)
    }

    /// A message in one frame or several, by the framing of WebSockets or by Firebase's own; or
    /// something else between.
    private mutating func frames(_ message: [UInt8]) -> [UInt8] {
        switch int(0..<16) {
        case 0:  // Firebase's: how many parts, and then these
            let middle = int(0..<message.count + 1)
            let count = pick(["2", "2", "3", "1", "0", "-1", "99999999", "02"])
            return frame(1, Array(count.utf8)) + frame(1, Array(message[..<middle]))
                + frame(1, Array(message[middle...]))
        case 1:
            let middle = int(0..<message.count + 1)
            return frame(1, Array(message[..<middle]), isLast: false)
                + (chance(0.3) ? frame(9, bytes(0..<4)) : [])
                + frame(0, Array(message[middle...]), isLast: chance(0.9))
        case 2: return frame(pick([2, 3, 7, 9, 10, 11, 15]), bytes(0..<pick([5, 130])))
        case 3:
            return frame(1, message, announced: pick([0, 1, 125, 126, 65_535, 1 << 24, 1 << 62]))
        case 4: return frame(1, [0xC3, 0x28] + message)
        case 5: return frame(1, Array("0".utf8))
        case 6 where chance(0.2): return frame(1, [UInt8](repeating: 0x20, count: 20_000) + message)
        case 7 where chance(0.2): return bytes(1..<200)
        default: return frame(1, message)
        }
    }

    private mutating func frame(
        _ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true, announced: Int? = nil
    ) -> [UInt8] {
        let reserved: UInt8 = chance(0.01) ? 0x40 : 0
        let mask: UInt8 = chance(0.01) ? 0 : 0x80
        var out = [(isLast ? 0x80 : 0) | reserved | opcode]
        let count = announced ?? payload.count
        let width = count < 126 ? 0 : count < 65_536 ? 2 : 8
        out.append(mask | (width == 0 ? UInt8(count) : width == 2 ? 126 : 127))
        for place in (0..<width).reversed() {
            out.append(UInt8(truncatingIfNeeded: count >> (8 * place)))
        }
        guard mask != 0 else { return out + payload }
        let key = bytes(4..<5)
        return out + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    private static let messages = [
        #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a/b","h":""}}}"#,
        #"{"t":"d","d":{"r":2,"a":"q","b":{"p":"/a","q":{"sp":1,"sn":"k","sin":true,"ep":"z","en":"[MAX_NAME]","ein":false,"l":3,"vf":"l","i":"n/m"},"t":1,"h":"x"}}}"#,
        #"{"t":"d","d":{"r":2,"a":"q","b":{"p":"/","q":{"l":2,"vf":"r","i":".key"},"t":2,"h":""}}}"#,
        #"{"t":"d","d":{"r":3,"a":"n","b":{"p":"/a/b"}}}"#,
        #"{"t":"d","d":{"r":3,"a":"n","b":{"p":"/a","q":{"l":3},"t":1}}}"#,
        #"{"t":"d","d":{"r":4,"a":"p","b":{"p":"/a/b","d":{".priority":1,"c":[1,{".sv":"timestamp"}]},"h":"x"}}}"#,
        #"{"t":"d","d":{"r":4,"a":"p","b":{"p":"/a","d":{"k1":{"n":{"m":1}},"k2":{"n":{"m":2}}}}}}"#,
        #"{"t":"d","d":{"r":5,"a":"m","b":{"p":"/a","d":{"b/c":{".sv":{"increment":2}},"d/.priority":"p"}}}}"#,
        #"{"t":"d","d":{"r":6,"a":"om","b":{"p":"/a","d":{"x/y":{".value":1,".priority":2},"z":null}}}}"#,
        #"{"t":"d","d":{"r":7,"a":"o","b":{"p":"/a/.priority","d":1}}}"#,
        #"{"t":"d","d":{"r":8,"a":"oc","b":{"p":"/a","d":null}}}"#,
        #"{"t":"d","d":{"r":9,"a":"g","b":{"p":"/","q":{"l":1}}}}"#,
        #"{"t":"d","d":{"r":10,"a":"auth","b":{"cred":"a.b.c","authvar":{"uid":"x"}}}}"#,
        #"{"t":"d","d":{"r":10,"a":"gauth","b":{"cred":"owner"}}}"#,
        #"{"t":"d","d":{"r":10,"a":"unauth","b":{}}}"#,
        #"{"t":"d","d":{"r":11,"a":"s","b":{"c":{"sdk":1}}}}"#,
        #"{"t":"c","d":{"t":"p","d":{}}}"#, "0", "3", "17",
    ]
}
