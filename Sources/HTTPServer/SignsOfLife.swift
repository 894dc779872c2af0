internal import EventLoop

/// When the client of a WebSocket was last heard of, and what its silence means: it said something,
/// or took some of what the kernel had no more room for.
struct SignsOfLife {
    /// When it last gave a sign of life.
    private(set) var heard = Clock.monotonic()
    /// When the goodbye was sent, or the client last took some of what had to wait before it.
    private(set) var closingSince: Int64?
    private var isAsked = false

    enum Verdict {
        case alive
        /// It is to be asked whether it lives.
        case doubtful
        case gone
    }

    mutating func show() {
        heard = Clock.monotonic()
        isAsked = false
    }

    mutating func tookWhatWaited() {
        show()
        if closingSince != nil { closingSince = heard }
    }

    mutating func beginClosing() { closingSince = closingSince ?? Clock.monotonic() }

    mutating func verdict(at now: Int64) -> Verdict {
        let silent = now - heard
        let closing = closingSince.map { now - $0 } ?? 0
        if silent > OpenSockets.silenceMax || closing > OpenSockets.goodbyeMax { return .gone }
        guard silent > OpenSockets.askAfter, !isAsked, closingSince == nil else { return .alive }
        isAsked = true
        return .doubtful
    }
}
