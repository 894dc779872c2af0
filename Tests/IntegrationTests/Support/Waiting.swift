import EventLoop

/// A condition did not come true in time.
struct TimedOut: Error, CustomStringConvertible {
    var description: String
}

/// Waits until a condition holds, looking every few milliseconds.
///
/// - Parameter details: what is told beside `what` when it does not.
func eventually(
    _ what: String, within limit: Duration = .seconds(90), details: () -> String = { "" },
    _ condition: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            throw TimedOut(description: "not within \(limit): \(what)\n\(details())")
        }
        pause()
    }
}

/// A few milliseconds between two looks.
func pause(_ length: Duration = .milliseconds(20)) { _ = Poll.wait(for: [], timeout: length) }
