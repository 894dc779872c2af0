import CMicroHTTPD
internal import EventLoop

/// The connections whose request has not come whole, where there is a time for that.
///
/// microhttpd only knows how long nothing has moved: a client that sends a byte now and then would
/// keep its connection for ever.
struct Arrivals {
    /// In nanoseconds; nil: nobody is waited for with a clock.
    private let timeMax: Int64?
    /// By their sockets, the longest first, and since when by the monotonic clock.
    private var expected: [(descriptor: Int32, since: Int64)] = []

    init(timeMax: Duration?) { self.timeMax = timeMax.map { Int64($0 / .nanoseconds(1)) } }

    /// A request is to come from now on.
    mutating func expect(from descriptor: Int32) {
        guard timeMax != nil else { return }
        end(descriptor)
        expected.append((descriptor, Clock.monotonic()))
    }

    /// The request has come, or the connection ends.
    mutating func end(_ descriptor: Int32) {
        expected.removeAll { $0.descriptor == descriptor }
    }

    /// How long until the next one's time is over; nil where nobody is expected.
    var nextTimeout: Duration? {
        guard let timeMax, let first = expected.first else { return nil }
        return .nanoseconds(max(0, first.since + timeMax - Clock.monotonic()))
    }

    /// Hangs up on those whose time is over, and on the one that has taken longest where the server
    /// is full. Whoever came after `start` has not been read from yet.
    ///
    /// - Returns: whether to run again.
    mutating func hurry(isFull: Bool, since start: Int64) -> Bool {
        guard let timeMax, !expected.isEmpty else { return false }
        let due = Clock.monotonic() - timeMax
        var count = expected.prefix { $0.since <= due }.count
        if isFull, count == 0, expected[0].since < start { count = 1 }
        for (descriptor, _) in expected.prefix(count) { fb_http_hang_up(descriptor) }
        expected.removeFirst(count)
        return isFull || count > 0
    }
}
