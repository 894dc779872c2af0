import EventLoop
import Glibc
import Testing

@Suite struct DescriptorTests {
    @Test func `An event descriptor is ready from its signal to its clearing`() throws {
        let event = try EventDescriptor()
        #expect(Poll.wait(for: [event.number], timeout: .zero) == [false])
        event.signal()
        event.signal()
        #expect(Poll.wait(for: [event.number], timeout: nil) == [true])
        #expect(event.clear())
        #expect(!event.clear())
        #expect(Poll.wait(for: [event.number], timeout: .zero) == [false])
    }

    @Test func `A poll says which descriptors are ready and sleeps no longer than asked`() throws {
        let (quiet, loud) = (try EventDescriptor(), try EventDescriptor())
        loud.signal()
        #expect(
            Poll.wait(for: [quiet.number, loud.number], timeout: .seconds(60)) == [false, true])
        let before = Clock.now()
        #expect(Poll.wait(for: [quiet.number], timeout: .milliseconds(20)) == [false])
        let after = Clock.now()
        #expect(after.monotonic - before.monotonic >= 20_000_000)
        #expect(after.wall >= before.wall && before.wall > 1_700_000_000_000)
    }

    @Test func `Lines come whole however the bytes arrive, the last one without its end too`()
        throws
    {
        let pipe = try Pipe()
        try pipe.reading.setNonblocking()
        let reader = LineReader(pipe.reading.number, lineBytesMax: 8)
        #expect(try reader.next() == .wait)
        func write(_ text: String) throws {
            try Descriptor.writeAll(Array(text.utf8), to: pipe.writing.number)
        }
        try write("on")
        #expect(try reader.next() == .wait)
        try write("e\r\n\ntwo\n123456789abcdef01")
        #expect(try reader.next() == .line(Array("one".utf8)))
        #expect(try reader.next() == .line([]))
        #expect(try reader.next() == .line(Array("two".utf8)))
        #expect(try reader.next() == .line(Array("12345678".utf8)))
        #expect(try reader.next() == .line(Array("9abcdef0".utf8)))
        #expect(try reader.next() == .wait)
        try write("x")
        #expect(try reader.next() == .wait)
    }

    @Test func `A closed pipe ends the reader after its last line`() throws {
        var pipe: Pipe? = try Pipe()
        let reading = try #require(pipe).reading
        try Descriptor.writeAll(Array("last".utf8), to: try #require(pipe).writing.number)
        pipe = nil
        let reader = LineReader(reading.number)
        #expect(try reader.next() == .line(Array("last".utf8)))
        #expect(try reader.next() == .end)
        #expect(pipe == nil)
    }

    @Test func `A blocked signal arrives as something to poll for`() throws {
        let signals = try SignalDescriptor([.user1, .hangUp])
        #expect(signals.next() == nil)
        raise(SIGUSR1)
        raise(SIGHUP)
        #expect(Poll.wait(for: [signals.number], timeout: .seconds(10)) == [true])
        #expect([signals.next(), signals.next()] == [.hangUp, .user1])
        #expect(signals.next() == nil)
    }

    @Test func `Random bytes differ`() {
        #expect(randomBytes(16).count == 16)
        #expect(randomBytes(16) != randomBytes(16))
        #expect(randomBytes(0) == [])
    }

    @Test func `The environment is there, one by one and whole`() {
        #expect(Environment.value("PATH") == Environment.all()["PATH"])
        #expect(Environment.value("PATH") != nil)
        #expect(Environment.value("FIREBRIDGE_NO_SUCH_NAME") == nil)
    }
}
