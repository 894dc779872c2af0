import Testing

@testable import Page

@Suite("The demo's doors") struct DemoRequestTests {
    private func read(
        _ method: String, _ target: String, host: String? = "127.0.0.1:9000",
        origin: String? = nil, site: String? = nil, body: String = ""
    ) -> DemoRequest? {
        let headers = ["Host": host, "Origin": origin, "Sec-Fetch-Site": site]
        return DemoRequest(
            method: method, target: Array(target.utf8), header: { headers[$0] ?? nil },
            body: Array(body.utf8))
    }

    @Test("The page's own buttons are obeyed")
    func own() {
        let origin = "http://127.0.0.1:9000"
        #expect(read("POST", "/.demo/break", origin: origin) == .control(.breakDatabase))
        #expect(
            read("POST", "/.demo/kill", origin: origin, site: "same-origin")
                == .control(.killBridge))
        #expect(
            read("POST", "/.demo/regenerate", origin: origin, body: "é/1")
                == .control(.regenerate(conversation: "é/1")))
    }

    @Test(
        "Another site's are not, nor those that no browser vouches for",
        arguments: [
            nil, "null", "http://evil.example", "http://127.0.0.1:9001", "https://127.0.0.1:9000",
        ] as [String?])
    func foreign(_ origin: String?) {
        #expect(read("POST", "/.demo/break", origin: origin)?.status == 403)
    }

    @Test("What a browser calls cross-site is refused")
    func crossSite() {
        let origin = "http://127.0.0.1:9000"
        #expect(read("POST", "/.demo/kill", origin: origin, site: "cross-site")?.status == 403)
        #expect(read("POST", "/.demo/kill", origin: origin, site: "same-site")?.status == 403)
    }

    @Test(
        "A name that may have been pointed here is refused, for figures too",
        arguments: ["evil.example:9000", "1.2.3", "127.0.0.1.evil.example", "", "256.1.1.1"])
    func rebinding(_ host: String) {
        #expect(
            read("POST", "/.demo/break", host: host, origin: "http://\(host)")?.status == 403)
        #expect(read("GET", "/.demo/figures", host: host)?.status == 403)
    }

    @Test(
        "Addresses and localhost are not",
        arguments: ["127.0.0.1", "10.1.2.3:80", "[::1]:9000", "[::1]", "localhost:9000"])
    func addresses(_ host: String) {
        #expect(read("GET", "/.demo/figures", host: host) == .figures(after: 0))
        #expect(
            read("POST", "/.demo/break", host: host, origin: "http://\(host)")
                == .control(.breakDatabase))
    }

    @Test("Figures are told from a number on")
    func figures() {
        #expect(read("GET", "/.demo/figures?after=17") == .figures(after: 17))
        #expect(read("GET", "/.demo/figures?after=x")?.status == 400)
        #expect(read("POST", "/.demo/figures")?.status == 405)
    }

    @Test("A button is pressed by POST, never by following a link")
    func links() {
        let origin = "http://127.0.0.1:9000"
        #expect(read("GET", "/.demo/kill", origin: origin)?.status == 405)
        #expect(read("POST", "/.demo/other", origin: origin)?.status == 404)
    }

    @Test("A conversation's id that is no line of text is refused")
    func conversations() {
        let origin = "http://127.0.0.1:9000"
        let bodies = ["", "a\nclosing", "a\u{7F}", String(repeating: "x", count: 769)]
        for body in bodies {
            let asked = read("POST", "/.demo/regenerate", origin: origin, body: body)
            #expect(asked?.status == 404)
        }
    }

    @Test("A button goes to the demo's process as one line")
    func lines() {
        #expect(DemoControl.breakDatabase.line == "control break")
        #expect(DemoControl.killBridge.line == "control kill")
        #expect(DemoControl.regenerate(conversation: "é 1").line == "control regenerate é 1")
    }

    @Test("All other paths are the tree's", arguments: ["/", "/.demo.json", "/.demo/x.json", "/a"])
    func others(_ target: String) {
        #expect(read("GET", target) == nil)
    }
}

extension DemoRequest {
    fileprivate var status: Int? {
        if case .refused(let status, _) = self { status } else { nil }
    }
}
