import EventLoop
import HTTPClient
import ScriptedServer

/// A client that speaks to the scripted server.
func plainClient(_ change: (inout HTTPClient.Options) -> Void = { _ in }) -> HTTPClient {
    var options = HTTPClient.Options()
    options.allowPlainHTTP = true
    change(&options)
    return HTTPClient(options)
}

extension HTTPClient {
    /// The next event, at most so long from now.
    func event(within limit: Duration = .seconds(20)) -> HTTPEvent? {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if let event = nextEvent() { return event }
            _ = wait(timeout: .milliseconds(100))
        }
        return nil
    }

    /// Sends a request and waits for its answer.
    func send(_ request: HTTPRequest) -> Result<HTTPResponse, HTTPError> {
        let id = start(request)
        while let event = event() {
            switch event {
            case .response(id, let response): return .success(response)
            case .failed(id, let error): return .failure(error)
            default: continue
            }
        }
        return .failure(HTTPError(.other, "no event within the test's limit"))
    }
}

extension Result where Success == HTTPResponse, Failure == HTTPError {
    var status: Int? { if case .success(let response) = self { response.status } else { nil } }
    var body: String? {
        guard case .success(let response) = self else { return nil }
        return String(decoding: response.body, as: UTF8.self)
    }
    var error: HTTPError? { if case .failure(let error) = self { error } else { nil } }
}
