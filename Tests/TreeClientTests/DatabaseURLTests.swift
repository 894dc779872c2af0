import Testing

@testable import TreeClient

@Suite struct DatabaseURLTests {
    @Test(arguments: [
        ("https://x.firebaseio.com", "https://x.firebaseio.com/.json"),
        ("https://x.firebaseio.com/", "https://x.firebaseio.com/.json"),
        ("HTTPS://X.Firebaseio.com:443", "https://x.firebaseio.com:443/.json"),
        ("http://127.0.0.1:9000/?ns=demo", "http://127.0.0.1:9000/.json?ns=demo"),
        ("http://localhost?ns=demo", "http://localhost/.json?ns=demo"),
        ("http://[::1]:9000/a/b", "http://[::1]:9000/a/b.json"),
        ("http://tree:9000//a%20b/%C3%A9/", "http://tree:9000/a%20b/%C3%A9.json"),
        ("http://tree.default.svc.cluster.local", "http://tree.default.svc.cluster.local/.json"),
        ("http://10.1.2.3", "http://10.1.2.3/.json"),
        ("http://172.16.0.9", "http://172.16.0.9/.json"),
        ("https://db.example.org/a%252Eb", "https://db.example.org/a%252Eb.json"),
    ])
    func `A URL names its root`(text: String, root: String) throws {
        #expect(try DatabaseURL(parsing: text).node([], query: []) == root)
    }

    @Test(arguments: [
        "", "x.firebaseio.com", "ftp://x.firebaseio.com", "file:///etc/passwd", "https://",
        "https:///a", "https://user@x.firebaseio.com", "https://u:p@x.firebaseio.com/",
        "https://x.firebaseio.com/#a", "https://x.firebaseio.com/?auth=canary",
        "https://x.firebaseio.com/?ns=a&ns=b", "https://x.firebaseio.com/?ns=a&auth=canary",
        "https://x.firebaseio.com/?ns=", "https://x.firebaseio.com/?ns=a%26auth",
        "https://x.firebaseio.com/.json", "https://x.firebaseio.com/a/../b",
        "https://x.firebaseio.com/a%2Eb", "https://x.firebaseio.com/a%2Fb",
        "https://x.firebaseio.com/a%zz", "https://x.firebaseio.com/%00",
        "https://x.firebaseio.com/%ff",
        "https://x.firebaseio.com:0", "https://x.firebaseio.com:65536",
        "https://x.firebaseio.com:a",
        "https://x.firebaseio.com\\@evil.example", "https://x firebaseio.com", "https://é.example",
        "https://x%2e.example", "http://x.firebaseio.com", "http://db.example.org",
        "http://8.8.8.8",
        "http://172.32.0.1", "http://127.0.0.1.example.org", "http://[2001:db8::1]",
    ])
    func `A URL that leads elsewhere, or says more than where, is refused`(text: String) {
        let error = #expect(throws: TreeClientError.self) { try DatabaseURL(parsing: text) }
        #expect(error?.description.hasPrefix("expected ") == true)
        #expect(error?.description.contains("canary") == false)
    }

    @Test func `A path's keys are encoded, the percent sign of an escaped key too`() throws {
        let url = try DatabaseURL(parsing: "http://127.0.0.1:9000/sandbox/x?ns=demo")
        let path = Array("streaming/a%2Eb/é ?&=+~_-/0".utf8)
        #expect(
            url.node(path, query: ["shallow=true"])
                == "http://127.0.0.1:9000/sandbox/x/"
                + "streaming/a%252Eb/%C3%A9%20%3F%26%3D%2B~_-/0.json"
                + "?shallow=true&ns=demo")
        #expect(url.description == "http://127.0.0.1:9000/sandbox/x?ns=demo")
    }

    @Test(arguments: [
        "http://tree:9000", "http://10.0.0.1", "http://tree.example.internal",
    ])
    func `Credentials are not sent in plain text beyond this machine`(text: String) throws {
        let url = try DatabaseURL(parsing: text)
        for credentials: Credentials in [
            .secret(file: "f"), .accessToken(file: "f"), .serviceAccount(file: "f"),
            .metadataServer(host: "h"),
        ] {
            #expect(credentials.objection(to: url) != nil)
            let local = try DatabaseURL(parsing: "http://127.0.0.1:9000")
            #expect(credentials.objection(to: local) == nil)
        }
        #expect(Credentials.none.objection(to: url) == nil)
        #expect(Credentials.emulator.objection(to: url) == nil)
    }
}

@Suite struct RedirectPolicyTests {
    let policy: RedirectPolicy
    let here = "https://db.example.org/.json?print=silent"

    init() throws { policy = try RedirectPolicy(database: URLParts("https://db.example.org")) }

    @Test(arguments: [
        ("https://db.example.org/x.json", "https://db.example.org/x.json"),
        ("https://s-1.firebaseio.com/.json?ns=a", "https://s-1.firebaseio.com/.json?ns=a"),
        (
            "https://X.europe-west1.FIREBASEDATABASE.app/",
            "https://x.europe-west1.firebasedatabase.app/"
        ),
        ("/y.json?a=b", "https://db.example.org/y.json?a=b"),
        ("//s.firebaseio.com/z", "https://s.firebaseio.com/z"),
        ("https://db.example.org/x#frag", "https://db.example.org/x"),
    ])
    func `A redirect to the database's own hosts is followed`(location: String, to: String) {
        #expect(policy.target(status: 307, location: location, from: here) == to)
        #expect(policy.target(status: 308, location: location, from: here) == to)
        for status in [300, 301, 302, 303, 304, 305, 306] {
            #expect(policy.target(status: status, location: location, from: here) == nil)
        }
    }

    @Test(arguments: [
        nil, "", "x.json", "http://db.example.org/", "http://s.firebaseio.com/",
        "https://evil.example/", "https://evilfirebaseio.com/",
        "https://firebaseio.com.evil.example/",
        "https://s.firebaseio.com@evil.example/", "https://s.firebaseio.com\\.evil.example/",
        "https://evil.example/s.firebaseio.com", "https://evil.example?.firebaseio.com",
        "//evil.example/", "ftp://s.firebaseio.com/", "javascript:alert(1)", "https://x y/",
        "https://db.example.org./",
    ])
    func `Any other is not`(location: String?) {
        #expect(policy.target(status: 307, location: location, from: here) == nil)
    }

    @Test func `Plain HTTP is followed only from a plain database on this machine to itself`()
        throws
    {
        let local = try RedirectPolicy(database: URLParts("http://127.0.0.1:9000"))
        let from = "http://127.0.0.1:9000/.json"
        let target = "http://127.0.0.1:9000/a.json"
        #expect(local.target(status: 307, location: "/a.json", from: from) == target)
        #expect(local.target(status: 307, location: target, from: from) == target)
        for other in ["http://127.0.0.1:9001/", "http://127.0.0.1/", "http://localhost:9000/"] {
            #expect(local.target(status: 307, location: other, from: from) == nil)
        }
        let container = try RedirectPolicy(database: URLParts("http://tree:9000"))
        #expect(container.target(status: 307, location: "/a", from: "http://tree:9000/") == nil)
    }
}
