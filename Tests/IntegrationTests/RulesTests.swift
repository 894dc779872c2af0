import EventLoop
import Glibc
import HTTPClient
import Oracle
import TestSupport
import Testing

@Suite("Security rules, end to end", .serialized, .ownThreads)
struct RulesTests {
    private let web = Web()

    private func answer(_ method: String, _ url: String, _ body: String? = nil) -> String {
        guard let answer = web.send(method, url, body) else { return "no answer" }
        let text = String(decoding: answer.body, as: UTF8.self)
        return "\(answer.status) \(text.hasSuffix("\n") ? String(text.dropLast()) : text)"
    }

    private static let denied = #"401 {"error" : "Permission denied"}"#
    private static let bridge = "auth=owner&auth_variable_override=%7B%22uid%22:%22firebridge%22%7D"

    @Test("Under the shipped rules a bridge mirrors all, and one that was overtaken is refused")
    func mirrors() throws {
        let world = try World(guardedBy: .shippedRules)
        var streams = HardStreams(seed: 40)
        let records = streams.interleaved(streams.records(conversations: 60))
        let settings = world.statically(world.settings(), "only")
        for part in records.split(every: records.count / 2 + 1) {
            try world.log.append(part)
            try world.log.flush()
            let bridge = try world.startBridge(settings)
            try world.waitUntilDrained()
            if part.endIndex == records.endIndex {
                #expect(try bridge.stop() == .code(0))
            } else {
                try bridge.child.kill()
            }
        }
        expectNone(try world.tree.differences(from: records))
        for bridge in world.bridges { #expect(!bridge.child.says("refused")) }

        // What the first bridge had sent comes late.
        let fences = try #require(try world.tree.node("_firebridge/fences"))
        let group = try #require(fences.children.first)
        let set = try #require(group.node.children.first)
        let part = try #require(set.node.children.first)
        let path =
            "_firebridge/fences/"
            + [group.key, set.key, part.key].map {
                String(decoding: $0, as: UTF8.self)
            }.joined(separator: "/")
        let late = #"{"\#(path)":{"epoch":1,"owner":"late","serial":9},"late":1}"#
        let url = world.tree.url(of: "", as: Self.bridge)
        #expect(answer("PATCH", url, late) == Self.denied)
        #expect(answer("GET", world.tree.url(of: "late")) == "200 null")
        let newer = #"{"\#(path)":{"epoch":9,"owner":"late","serial":0},"late":1}"#
        #expect(answer("PATCH", url, newer).hasPrefix("200 "))
    }

    @Test("With keys, users are known by their signed tokens, and nothing else counts")
    func keys() throws {
        let directory = "/tmp/firebridge-\(uniqueName("rules"))"
        guard unsafe mkdir(directory, 0o700) == 0 else { throw SetupFailure("no \(directory)") }
        defer { _ = shell("rm -rf '\(directory)'") }
        let key = try SigningKey(in: directory, name: "k1")
        let file = "\(directory)/jwks.json"
        try File.write(file, Array(key.keySet.utf8))
        let tree = try TreeProcess(in: directory, guardedBy: .keys(file))
        defer { tree.child.process.send(.kill) }
        let place = { (credential: String?) in tree.url(of: "conversations/c1/info", as: credential)
        }
        let owner = "access_token=" + (try key.owner())
        let ann = "auth=" + (try key.user("ann"))
        let body = #"{"members":{"ann":true}}"#
        for credential in ["auth=owner", "access_token=owner", "access_token=ya29.x"] {
            #expect(answer("PUT", place(credential), body).hasPrefix("401 "))
        }
        #expect(answer("PUT", place(nil), body) == Self.denied)
        #expect(answer("PUT", place(owner), body) == "200 " + body)
        #expect(answer("PUT", place(ann), body) == Self.denied)
        #expect(answer("GET", place(ann)) == "200 " + body)
        #expect(answer("GET", place("auth=" + (try key.user("bob")))) == Self.denied)
        // As a user sees it from the shell.
        let token = "\(directory)/token"
        for (credential, code, says) in [(ann, 0, body), (owner, 0, body), ("=x", 69, "401")] {
            let text = credential.split(separator: "=", maxSplits: 1).last ?? ""
            try File.write(token, Array(text.utf8), mode: 0o600)
            let url = tree.url(of: "").replacing(".json", with: "")
            let get = try Child(
                "get", ["get", "conversations/c1/info", "--url", url, "--token-file", token],
                in: directory)
            #expect(try get.exit(within: .seconds(30)) == .code(Int32(code)), "\(get.lines)")
            #expect(get.says(says), "\(get.lines)")
        }
        let other = try SigningKey(in: directory, name: "k2")
        let stranger = "auth=" + (try other.user("ann"))
        #expect(answer("GET", place(stranger)).hasPrefix("401 "))

        // The key is changed: what the old one signed does not count any longer.
        try File.write(file, Array(other.keySet.utf8))
        try eventually("the new key counts", within: .seconds(30)) {
            pause(.milliseconds(200))
            return answer("GET", place(stranger)) == "200 " + body
        }
        #expect(
            answer("GET", place(ann))
                == #"401 {"error" : "Invalid auth token: its key is not known"}"#)
        // A file that holds no keys leaves the last ones in force.
        try File.write(file, Array("{}".utf8))
        try eventually("the tree has seen it", within: .seconds(30), details: { tree.child.tail }) {
            pause(.milliseconds(200))
            return tree.child.says("jwks.json: expected an object with a list")
        }
        #expect(answer("GET", place(stranger)) == "200 " + body)
    }

    @Test("A member who is removed is told so, and his stream ends")
    func revoked() throws {
        let directory = "/tmp/firebridge-\(uniqueName("rules"))"
        guard unsafe mkdir(directory, 0o700) == 0 else { throw SetupFailure("no \(directory)") }
        defer { _ = shell("rm -rf '\(directory)'") }
        let tree = try TreeProcess(in: directory, guardedBy: .shippedRules)
        defer { tree.child.process.send(.kill) }
        try tree.put("conversations/c1/info", #"{"members":{"ann":true}}"#)
        // {"alg":"none"} . {"sub":"ann"} .
        let ann = "auth=eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ."
        var options = HTTPClient.Options()
        options.allowPlainHTTP = true
        let http = HTTPClient(options)
        _ = http.start(
            HTTPRequest(
                "GET", tree.url(of: "streaming/c1", as: ann),
                headers: [("Accept", "text/event-stream")], timeout: nil, isStream: true))
        var seen = ""
        var isOver = false
        func listen(until condition: () -> Bool) throws {
            try eventually("the stream says more", within: .seconds(30), details: { seen }) {
                _ = http.wait(timeout: .milliseconds(50))
                while let event = http.nextEvent() {
                    switch event {
                    case .data(_, let piece): seen += String(decoding: piece, as: UTF8.self)
                    case .head: break
                    case .response, .failed: isOver = true
                    }
                }
                return condition()
            }
        }
        try listen { seen.hasSuffix("\n\n") }
        try tree.put("streaming/c1/1", "1")
        try listen { seen.contains(#"data: {"path":"/1","data":1}"#) }
        try tree.put("conversations/c1/info/members/ann", "null")
        try tree.put("streaming/c1/1", "2")
        try listen { isOver }
        #expect(seen.hasSuffix("event: cancel\ndata: null\n\n"))
        #expect(!seen.contains("2}"))
    }

    @Test("Rules and keys that cannot be used are told line by line, and end it with 78")
    func refused() throws {
        let directory = "/tmp/firebridge-\(uniqueName("rules"))"
        guard unsafe mkdir(directory, 0o700) == 0 else { throw SetupFailure("no \(directory)") }
        defer { _ = shell("rm -rf '\(directory)'") }
        let file = "\(directory)/rules.json"
        try File.write(
            file, Array("{\"rules\": {\n  \".read\": \"auht != null\",\n  \".write\": 3}}".utf8))
        let rules = try Child("tree", ["tree", "--rules", file], in: directory)
        #expect(try rules.exit(within: .seconds(30)) == .code(78))
        #expect(
            rules.lines == [
                "firebridge: tree: \(file):2:13: Unknown variable 'auht'. In .read of /: auht != null",
                "firebridge: tree: \(file):3:13: Expected '.write' to be a boolean or an "
                    + "expression in a string, found a number",
            ])
        let keys = try Child("tree", ["tree", "--jwks", file], in: directory)
        #expect(try keys.exit(within: .seconds(30)) == .code(78))
        #expect(keys.says("--jwks: \(file): expected an object with a list \"keys\""))
        let none = try Child("tree", ["tree", "--rules", "\(directory)/none"], in: directory)
        #expect(try none.exit(within: .seconds(30)) == .code(78))
    }

    @Test("The official SDK for JavaScript sees what the shipped rules let it see")
    func officialSDK() throws {
        let clients = shared + "/clients"
        guard isThere(clients + "/node_modules/firebase/package.json"),
            shell("command -v node >/dev/null") == 0
        else {
            print("skipped: no node, or no firebase in \(clients)")
            return
        }
        let directory = "/tmp/firebridge-\(uniqueName("rules"))"
        guard unsafe mkdir(directory, 0o700) == 0 else { throw SetupFailure("no \(directory)") }
        defer { _ = shell("rm -rf '\(directory)'") }
        let tree = try TreeProcess(in: directory, guardedBy: .shippedRules)
        defer { tree.child.process.send(.kill) }
        let script = repository + "/Tests/clients/firebase_rules_check.mjs"
        let address = String(tree.base.dropFirst("http://".count))
        let status = shell(
            "node '\(script)' '\(address)' '\(clients)' >'\(directory)/sdk.log' 2>&1")
        let log = (try? File.read("\(directory)/sdk.log", bytesMax: 1 << 20)) ?? []
        #expect(status == 0, "\(String(decoding: log, as: UTF8.self))")
    }
}
