internal import EventLoop
internal import HTTPClient
internal import JSON
internal import Oracle

/// What the demo says at its end.
struct Verdict {
    var lines: [String]
    var failure: DemoFailure?
}

extension Demonstration {
    private static let differencesMax = 10
    private static let treeBytesMax = 1 << 30

    /// Compares the tree with what the log demands.
    ///
    /// - Parameter isDrained: whether the bridge has committed everything.
    func judge(
        _ storyteller: Storyteller, isDrained: Bool
    ) throws(DemoFailure) -> Verdict {
        var lines: [String] = []
        if let median = percentile(50, of: audience.latencies),
            let tail = percentile(99, of: audience.latencies)
        {
            lines.append(
                "\(grouped(audience.latencies.count)) tokens, visible after p50 \(milliseconds(median)), "
                    + "p99 \(milliseconds(tail))")
        }
        if parts.restarts > 0 { lines.append("the bridge was started again \(times)") }
        let produced =
            "\(grouped(storyteller.records)) records of "
            + "\(grouped(storyteller.conversations)) conversations"
        if let refusal = storyteller.refusal {
            return Verdict(
                lines: lines, failure: DemoFailure(.wrong, "the broker took not all: \(refusal)"))
        }
        guard isDrained else {
            let words = "\(produced) produced; the bridge had not committed all of them"
            guard !isInterrupted else {
                return Verdict(lines: lines + [words + ", so nothing was compared"])
            }
            return Verdict(lines: lines, failure: DemoFailure(.wrong, words + " after 30 s"))
        }
        let found = try differences(from: storyteller)
        guard found.isEmpty else {
            let shown = found.prefix(Self.differencesMax).map { "\n  \($0)" }.joined()
            let more =
                found.count > Self.differencesMax
                ? "\n  and \(grouped(found.count - Self.differencesMax)) more" : ""
            return Verdict(
                lines: lines,
                failure: DemoFailure(
                    .wrong, "\(produced) mirrored; the tree differs from the log:\(shown)\(more)"))
        }
        return Verdict(lines: lines + ["\(produced) mirrored; the tree equals the log"])
    }

    private var times: String { parts.restarts == 1 ? "once" : "\(parts.restarts) times" }

    private func differences(
        from storyteller: Storyteller
    ) throws(DemoFailure) -> [Difference] {
        let found = try wholeTree()
        do throws(JSONError) {
            return try Oracle.differences(expected: expectedTree(of: storyteller.log), found: found)
        } catch {
            throw DemoFailure(.wrong, "the tree's answer is not JSON: \(error)")
        }
    }

    private func wholeTree() throws(DemoFailure) -> [UInt8] {
        guard let tree = parts.tree else { throw DemoFailure(.wrong, "there is no tree") }
        let request = HTTPRequest(
            "GET", "\(tree)/.json?ns=demo", timeout: .seconds(30),
            responseBytesMax: Self.treeBytesMax)
        switch try ask(request) {
        case .response(_, let answer) where answer.status == 200: return answer.body
        case .response(_, let answer):
            throw DemoFailure(.wrong, "the tree answers \(answer.status) to GET /")
        case .failed(_, let error): throw DemoFailure(.wrong, "the tree does not answer: \(error)")
        case .head, .data: preconditionFailure("a stream was not asked for")
        }
    }
}
