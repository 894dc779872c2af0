internal import Tree
internal import TreeServerCore

/// The tree alone: requests in, answers out, no socket. Run it under callgrind for instructions a
/// leaf, which no noise touches.
enum TreeBenchmark {
    static func run(leaves count: Int, isKept: Bool) {
        let server = TreeServer()
        if isKept { server.keepChanges() }
        let requests = (0..<count / TreeWorkload.leavesOfPatch).map { number in
            TreeRequest(
                method: "PATCH", target: Array(TreeWorkload.patchTarget.utf8),
                headers: TreeRequest.Headers { _ in nil },
                body: TreeWorkload.patchBody(number))
        }
        let before = Output.cpuSeconds
        feed(requests, to: server)
        let seconds = Output.cpuSeconds - before
        let leaves = max(requests.count * TreeWorkload.leavesOfPatch, 1)
        Output.say(
            #"{"leaves": \#(leaves), "ns_per_leaf": \#(seconds * 1e9 / Double(leaves))}"#)
    }

    /// A function of its own, so that callgrind can be told to count nothing else.
    @inline(never)
    static func feed(_ requests: [TreeRequest], to server: TreeServer) {
        var random = SystemRandomNumberGenerator()
        for request in requests {
            guard case .response(let answer) = server.answer(request, at: 1, using: &random),
                answer.status == 204
            else { Options.fail("a PATCH was refused") }
            if server.hasChanges { _ = server.takeChanges() }
        }
    }
}

/// What the tree is asked to write: chunks of twenty streams side by side.
enum TreeWorkload {
    static let leavesOfPatch = 500
    static let patchTarget = "/.json?ns=demo&print=silent"
    private static let streams = 20
    /// A stream of an answer ends after so many chunks, and another begins.
    private static let chunksOfStream = 2000

    /// The body of the PATCH of that number.
    static func patchBody(_ number: Int) -> [UInt8] {
        var body = Array("{".utf8)
        for leaf in 0..<leavesOfPatch {
            if leaf > 0 { body.append(UInt8(ascii: ",")) }
            let stream = leaf % streams
            let index = number * (leavesOfPatch / streams) + leaf / streams
            let conversation = stream + streams * (index / chunksOfStream)
            body += Array("\"streaming/thread_\(100_000 + conversation)/8/chunks/".utf8)
            body += Array("\(index % chunksOfStream)\":".utf8)
            body += chunk(index)
        }
        return body + [UInt8(ascii: "}")]
    }

    /// One leaf of the tree: a chunk with its four values.
    static func chunk(_ index: Int) -> [UInt8] {
        let second = index / 1000 % 60
        let thousandth = String(1000 + index % 1000).dropFirst()
        return Array(
            """
            {"content":" word\(index % 97)","type":"STREAM_CHUNK_TYPE_TEXT",\
            "timestamp":"2026-04-23T22:43:\(second < 10 ? "0" : "")\(second).\(thousandth)Z",\
            "is_final":false}
            """.utf8)
    }
}
