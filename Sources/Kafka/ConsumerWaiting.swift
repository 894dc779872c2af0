internal import EventLoop

extension Consumer {
    /// Waits for the answer to a question: for tools that have nothing else to do. A question that
    /// failed throws what it failed by.
    ///
    /// - Parameter pick: gives the answer of an event; nil where it is another's.
    public func answer<Answer>(
        within limit: Duration, _ pick: (ConsumerEvent) -> Answer?
    ) throws(KafkaError) -> Answer {
        let deadline = ContinuousClock.now + limit
        var complaint = ""
        while ContinuousClock.now < deadline {
            _ = Poll.wait(for: [descriptor], timeout: .milliseconds(100))
            drainDescriptor()
            while let event = nextEvent() {
                if let answer = pick(event) { return answer }
                switch event {
                case .topicsFailed(let error), .positionsFailed(_, _, let error): throw error
                case .error(let error): complaint = "\(error)"
                default: continue
                }
            }
        }
        throw KafkaError(
            code: "_TIMED_OUT", text: "no answer within \(limit); \(complaint)", action: .note)
    }
}
