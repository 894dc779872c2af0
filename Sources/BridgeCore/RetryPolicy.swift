/// How long to wait before the next attempt: exponential, with jitter, the server's wish honoured.
struct RetryPolicy {
    var initial: Duration
    var max: Duration

    /// - Parameter attempt: how many attempts have failed, from 1.
    /// - Parameter jitter: 0 up to 1; the wait is half to all of the exponential one.
    func delay(afterAttempt attempt: Int, jitter: Double, retryAfter: Duration? = nil) -> Duration {
        let exponential = initial * Double(1 << min(attempt - 1, 20))
        let capped = min(exponential, max)
        let own = capped * (0.5 + jitter / 2)
        guard let retryAfter else { return own }
        return Swift.max(own, retryAfter)
    }
}

/// One breaker for the database: when requests fail one after the other, all wait and one probes;
/// for a batch its own small probe (`Bridge.replaceByProbe`).
struct Breaker {
    /// So many failures in a row, with no success between, open it.
    static let failuresMax = 3

    private(set) var failures = 0
    private(set) var openUntil: Int64?
    private var probe: Int?

    /// When the next probe may go; nil while one is out, and while nothing is held back.
    var nextProbe: Int64? { probe == nil ? openUntil : nil }

    /// Whether a request may go now.
    mutating func admits(_ request: Int, at now: Int64) -> Bool {
        guard let openUntil else { return true }
        guard now >= openUntil, probe == nil else { return false }
        probe = request
        return true
    }

    /// Whether this request is the probe.
    func isProbe(_ request: Int) -> Bool { probe == request }

    /// Another request goes as the probe instead.
    mutating func replaceProbe(with request: Int) { probe = request }

    mutating func succeed() {
        failures = 0
        openUntil = nil
        probe = nil
    }

    mutating func fail(_ request: Int, until: Int64) {
        failures += 1
        guard failures >= Self.failuresMax || probe == request else { return }
        openUntil = max(openUntil ?? until, until)
        if probe == request { probe = nil }
    }

    mutating func forget() { self = Breaker() }
}
