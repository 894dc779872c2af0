import EventLoop
import Testing

@testable import HTTPServer

@Suite("WebSocket connections") struct SocketTests {
    let wire: Wire

    init() throws { wire = try Wire() }

    /// A client's frame: masked, whole unless told otherwise.
    private func frame(
        _ payload: [UInt8], opcode: UInt8 = 1, final: Bool = true, length: UInt64? = nil
    ) -> [UInt8] {
        var out: [UInt8] = [(final ? 0x80 : 0) | opcode]
        let count = length ?? UInt64(payload.count)
        if count < 126 {
            out.append(0x80 | UInt8(count))
        } else if count < 65_536 {
            out += [0x80 | 126, UInt8(count >> 8), UInt8(count & 255)]
        } else {
            out.append(0x80 | 127)
            out += (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        }
        let mask: [UInt8] = [1, 2, 3, 4]
        return out + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    private func text(_ text: String) -> [UInt8] { frame(Array(text.utf8)) }

    /// A connection that has become a socket; what came with the head is not forgotten.
    private func connect(early: [UInt8] = []) throws -> Client {
        let client = try Client(wire.server.address)
        client.send(
            bytes: Array(
                "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                    .utf8) + early)
        let before = wire.sockets.count
        wire.wait(for: "upgrade", clients: [client]) {
            wire.sockets.count > before && client.text.contains("\r\n\r\n")
        }
        #expect(client.text.hasPrefix("HTTP/1.1 101 "))
        if early.isEmpty { client.forget() }
        return client
    }

    @Test("What is sent comes back whole, in pieces of any size")
    func echo() throws {
        let client = try connect()
        for byte in text("héllo 🙂") + text("x") {
            client.send(bytes: [byte])
            wire.server.run()
        }
        let expected = [0x81, 11] + Array("héllo 🙂".utf8) + [0x81, 1, 0x78]
        wire.wait(for: "echo", clients: [client]) { client.received.count >= expected.count }
        #expect(client.received == expected)
        #expect(wire.said == ["0: héllo 🙂", "0: x"])
    }

    @Test("A frame that comes with the head is heard")
    func early() throws {
        let client = try connect(early: text("early"))
        wire.wait(for: "echo", clients: [client]) { client.text.hasSuffix("early") }
        #expect(wire.said == ["0: early"])
    }

    @Test("Frames of one message are joined; a ping between them is answered")
    func fragments() throws {
        let client = try connect()
        client.send(
            bytes: frame(Array("a".utf8), final: false) + frame([7], opcode: 9)
                + frame(Array("b".utf8), opcode: 0))
        wire.wait(for: "echo", clients: [client]) { client.received.count >= 7 }
        #expect(client.received == [0x8A, 1, 7, 0x81, 2, 0x61, 0x62])
    }

    @Test("A goodbye is answered and ends the connection, whoever says it first")
    func goodbye() throws {
        let client = try connect()
        client.send(bytes: frame([0x03, 0xE8], opcode: 8))
        wire.wait(for: "end", clients: [client]) { client.isAtEnd }
        #expect(client.received.starts(with: [0x88]))
        #expect(wire.closed == 1)
        let other = try connect()
        other.send(bytes: text("close"))
        wire.wait(for: "goodbye", clients: [other]) { other.received.starts(with: [0x88]) }
        other.send(bytes: frame([0x03, 0xE8], opcode: 8))
        wire.wait(for: "end", clients: [other]) { other.isAtEnd }
        #expect(wire.closed == 2)
        wire.wait(for: "connections to be gone") { wire.server.connectionCount == 0 }
    }

    @Test("A client that vanishes is noticed at once")
    func vanished() throws {
        var client: Client? = try connect()
        #expect(client != nil)
        client = nil
        wire.wait(for: "end") { wire.closed == 1 }
        #expect(wire.sockets[0].send([0x78]) == false)
    }

    @Test(
        "Frames that cannot be end their connection and no other",
        arguments: [
            [0x81, 0x01, 0x78],  // not masked
            [0xC1, 0x81, 0, 0, 0, 0, 0],  // a reserved bit
            [0x83, 0x80, 0, 0, 0, 0],  // an opcode that is none
            [0x80, 0x81, 0, 0, 0, 0, 0x78],  // goes on with nothing
            [0x81, 0x82, 0, 0, 0, 0, 0xC3, 0x28],  // not UTF-8
            [0x89, 0xFE, 0x01, 0x00, 0, 0, 0, 0],  // a ping that is too long
            [0x81, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0x78],
            [0x81, 0xFE, 0x04, 0, 0, 0, 0, 0, 0x78],  // longer than is kept
            [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0],  // a length written too long
            [0x82, 0x81, 0, 0, 0, 0, 0x78],  // binary
        ] as [[UInt8]])
    func nonsense(bytes: [UInt8]) throws {
        let good = try connect()
        let bad = try connect()
        bad.send(bytes: bytes)
        wire.wait(for: "goodbye", clients: [good, bad]) {
            bad.isAtEnd || bad.received.starts(with: [0x88])
        }
        good.send(bytes: text("still here"))
        wire.wait(for: "echo", clients: [good, bad]) { good.text.hasSuffix("still here") }
        #expect(wire.said == ["0: still here"])
    }

    @Test("A frame that is cut anywhere harms nobody", arguments: 0..<17)
    func cut(count: Int) throws {
        var bad: Client? = try connect()
        let good = try connect()
        bad?.send(bytes: Array(text("0123456789").prefix(count)))
        wire.server.run()
        bad = nil
        wire.wait(for: "end", clients: [good]) { wire.closed == 1 }
        good.send(bytes: text("x"))
        wire.wait(for: "echo", clients: [good]) { good.received == [0x81, 1, 0x78] }
    }

    @Test("A client that does not read is cut off, and the others get theirs")
    func slow() throws {
        let slow = try connect()
        let good = try connect()
        let message = [UInt8](repeating: 0x78, count: 50_000)
        var sent = 0
        while wire.sockets[0].send(message), sent < 1000 {
            sent += 1
            wire.server.flush()
        }
        #expect(sent < 1000, "so much does no kernel hold")
        #expect(wire.closed == 1)
        #expect(wire.sockets[0].bytesWaiting == 0)
        good.send(bytes: text("x"))
        wire.wait(for: "echo", clients: [good]) { good.received == [0x81, 1, 0x78] }
        wire.wait(for: "end", clients: [slow]) { slow.isAtEnd }
    }

    @Test(
        "Who asks for much, stops reading and sends more after his end, does not keep the others",
        arguments: [[0x88, 0x80, 0, 0, 0, 0], [0x81, 0x01, 0x78]] as [[UInt8]])
    func stuck(last: [UInt8]) throws {
        let good = try connect()
        let bad = try Client(wire.server.address)
        bad.send(
            bytes: Array(
                "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                    .utf8) + text("big") + last + [UInt8](repeating: 0x78, count: 9000))
        wire.wait(for: "request") { wire.sockets.count == 2 && wire.said == ["1: big"] }
        #expect(wire.sockets[1].bytesWaiting > 0, "so much does no kernel hold")
        good.send(bytes: text("x"))
        wire.wait(for: "echo", clients: [good]) { good.received == [0x81, 1, 0x78] }
        wire.server.run()
        let idle = Poll.wait(for: [wire.server.descriptor], timeout: .zero)
        #expect(idle == [false], "what nobody reads is not waited for")
        wire.wait(for: "end", clients: [bad]) { bad.isAtEnd }
        #expect(wire.closed == 1)
    }

    @Test("A message of any length gets through, in as many frames as it has, and one after it")
    func long() throws {
        let client = try connect()
        let frames = [[UInt8]](
            repeating: [UInt8](repeating: 0x78, count: 16_384), count: 20 * 64)
        #expect(wire.sockets[0].send(messages: frames))
        #expect(wire.sockets[0].bytesWaiting > 20 << 20)
        #expect(wire.sockets[0].send(Array("last".utf8)))
        let length = frames.count * (4 + 16_384) + 6
        wire.wait(for: "all of it", clients: [client], seconds: 60) {
            client.received.count >= length
        }
        #expect(client.received.count == length && client.text.hasSuffix("last"))
        #expect(wire.closed == 0)
        // What does not wait any longer leaves no room for more.
        #expect(wire.sockets[0].send([UInt8](repeating: 0x78, count: 16 << 20)))
        #expect(!wire.sockets[0].send([UInt8](repeating: 0x78, count: 17 << 20)))
    }

    @Test("A slow client lives as long as it takes what waits, also after the goodbye")
    func slowButAlive() throws {
        let client = try connect()
        let socket = wire.sockets[0]
        socket.send([UInt8](repeating: 0x78, count: 40_000_000))
        wire.server.run()
        func takesSome() {
            let before = socket.bytesWaiting
            wire.wait(for: "taking", clients: [client]) { socket.bytesWaiting < before }
        }
        let heard = socket.heard
        takesSome()
        #expect(socket.heard > heard)
        socket.check(at: heard + OpenSockets.silenceMax + 1)
        #expect(socket.isOpen)
        socket.close()
        let said = try #require(socket.closingSince)
        #expect(said > socket.heard)
        wire.server.run()
        takesSome()
        socket.check(at: said + OpenSockets.goodbyeMax + 1)
        #expect(socket.isOpen)
        socket.check(at: try #require(socket.closingSince) + OpenSockets.goodbyeMax + 1)
        #expect(!socket.isOpen)
    }

    @Test("A client that was silent for long has time to answer a goodbye")
    func goodbyeAfterSilence() throws {
        let client = try connect()
        let socket = wire.sockets[0]
        socket.close()
        #expect(try #require(socket.closingSince) > socket.heard)
        socket.check(at: socket.heard + OpenSockets.goodbyeMax + 1)
        #expect(socket.isOpen)
        socket.check(at: try #require(socket.closingSince) + OpenSockets.goodbyeMax + 1)
        wire.wait(for: "end", clients: [client]) { client.isAtEnd }
    }

    @Test("Who floods without reading the answers is no longer read from, and is bounded")
    func flood() throws {
        let client = try connect()
        let good = try connect()
        let ping = frame([UInt8](repeating: 7, count: 100), opcode: 9)
        let burst = Array(repeatElement(ping, count: 500).joined())
        var rest = Array(repeatElement(burst, count: 400).joined())[...]
        for _ in 0..<2000 where wire.sockets[0].isOpen && !rest.isEmpty {
            client.send(rest: &rest)
            wire.server.run()
            #expect(wire.sockets[0].bytesWaiting < 4 * 1024 * 1024)
        }
        good.send(bytes: text("x"))
        wire.wait(for: "echo", clients: [good]) { good.received == [0x81, 1, 0x78] }
    }

    @Test("A server that ends hangs up")
    func end() throws {
        var own: Wire? = try Wire()
        let address = try #require(own).server.address
        let client = try Client(address)
        client.send(
            bytes: Array(
                "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                    .utf8))
        own?.wait(for: "upgrade", clients: [client]) { client.text.contains("101") }
        own = nil
        client.read()
        #expect(client.isAtEnd)
    }
}

@Suite("News before answers") struct NewsTests {
    @Test("Who has the answer of a request can rely on it that the streams have its news")
    func order() throws {
        let wire = try Wire()
        let listeners = try (0..<20).map { _ in try Client(wire.server.address) }
        for client in listeners { try client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n") }
        wire.wait(for: "streams", clients: listeners) {
            listeners.allSatisfy { $0.text.contains("first;") }
        }
        let writer = try Client(wire.server.address)
        for round in 1...20 {
            try writer.send("POST /news HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
            wire.wait(for: "answer") {
                writer.read()
                return writer.text.contains("told")
            }
            writer.forget()
            for client in listeners {
                client.read()
                let news = client.text.split(separator: "news;", omittingEmptySubsequences: false)
                #expect(news.count == round + 1)
            }
        }
    }
}
