import Oracle
import Testing
import Tree
import TreeServerCore

/// A conversation with a server in memory, at times and with chance of the test's choosing.
final class Session {
    let server: TreeServer
    var now: Int64 = 1_700_000_000_000
    var random = SplitMix64(seed: 1)

    init(_ change: (inout TreeServer.Options) -> Void = { _ in }) {
        var options = TreeServer.Options()
        change(&options)
        server = TreeServer(options: options)
    }

    func answer(
        _ method: String, _ target: String, _ body: [UInt8] = [], _ headers: [String: String] = [:]
    ) -> TreeAnswer {
        let request = TreeRequest(
            method: method, target: Array(target.utf8),
            headers: TreeRequest.Headers { name in
                headers.first { $0.key.lowercased() == name.lowercased() }?.value
            }, body: body)
        return server.answer(request, at: now, using: &random)
    }

    func response(
        _ method: String, _ target: String, _ body: [UInt8], _ headers: [String: String] = [:]
    ) -> TreeResponse {
        guard case .response(let response) = answer(method, target, body, headers) else {
            fatalError("\(method) \(target) opened a stream")
        }
        return response
    }

    /// Status and body in one line; where the test asks for it, with the named header between.
    @discardableResult
    func send(
        _ method: String, _ target: String, _ body: String = "", _ headers: [String: String] = [:],
        showing name: String? = nil
    ) -> String {
        let response = response(method, target, Array(body.utf8), headers)
        let shown = name.map { " [\(response.header($0) ?? "none")]" } ?? ""
        let text = String(decoding: response.body, as: UTF8.self)
        let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
        return "\(response.status)\(shown)" + (line.isEmpty ? "" : " " + line)
    }

    /// Opens a stream: its name and first event.
    func listen(_ target: String) -> (id: StreamID, first: String) {
        guard
            case .stream(let id, let head) = answer(
                "GET", target, [], ["Accept": "text/event-stream"])
        else { fatalError("GET \(target) opened no stream") }
        #expect(head.status == 200)
        #expect(head.header("Content-Type") == "text/event-stream; charset=utf-8")
        return (id, String(decoding: head.body, as: UTF8.self))
    }

    /// The events since the last call, each in one line, by stream.
    func events() -> [StreamID: [String]] {
        var found: [StreamID: [String]] = [:]
        while let output = server.nextOutput() {
            guard case .send(let id, let bytes) = output else { continue }
            found[id, default: []].append(line(String(decoding: bytes, as: UTF8.self)))
        }
        return found
    }
}

/// `event: put\ndata: X\n\n` as `put X`.
func line(_ event: String) -> String {
    event.dropFirst("event: ".count).replacing("\ndata: ", with: " ").trimmingSuffix("\n\n")
}

extension String {
    func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}

extension StringProtocol {
    func replacing(_ old: String, with new: String) -> String {
        String(self).split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}
