internal import Arguments
internal import EventLoop
internal import HTTPClient

/// `firebridge health`: asks a running bridge, for container health checks and scripts.
enum HealthCommand {
    static func run(_ arguments: Arguments) -> Int32 {
        let base = arguments.value("url") ?? "http://127.0.0.1:8085"
        let path = arguments.has("ready") ? "/readyz" : "/healthz"
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        let client = HTTPClient(options)
        _ = client.start(
            HTTPRequest(
                "GET", base.hasSuffix("/") ? base + path.dropFirst() : base + path,
                timeout: .seconds(5)))
        while true {
            switch client.nextEvent() {
            case .response(_, let response):
                let code = Output.print(response.body)
                return response.status == 200 ? code : ExitCode.unreachable
            case .failed(_, let error):
                return Output.fail("\(base): \(error)", code: ExitCode.unreachable)
            default: _ = client.wait(timeout: .seconds(1))
            }
        }
    }
}
