import Testing

@testable import Page

@Suite("The page of a tree") struct PageTests {
    private func answer(
        _ target: String, method: String = "GET", accept: String? = nil, tag: String? = nil,
        mode: Page.Mode = .tree
    ) -> PageAnswer? {
        Page(mode).answer(
            method: method, target: Array(target.utf8), accept: accept, knownTag: tag)
    }

    private let browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

    @Test("A browser gets the page at /, with any query; whoever asks for no HTML gets the tree's")
    func index() throws {
        let page = try #require(answer("/?ns=demo", accept: browser))
        #expect(page.status == 200)
        #expect(page.header("Content-Type") == "text/html; charset=utf-8")
        #expect(page.header("Vary") == "Accept")
        #expect(answer("/", accept: "*/*") == nil)
        #expect(answer("/", accept: "application/json") == nil)
        #expect(answer("/") == nil)
    }

    @Test(
        "What may be in a database is the tree's",
        arguments: ["/.json", "/.json?ns=demo", "/a/b.json", "/.page/x.json", "/.pages/main.mjs"])
    func database(_ target: String) {
        #expect(answer(target, accept: browser) == nil)
    }

    @Test("Writes are the tree's, wherever they go", arguments: ["PUT", "POST", "PATCH", "DELETE"])
    func writes(_ method: String) {
        #expect(answer("/", method: method, accept: browser) == nil)
        #expect(answer("/.page/main.mjs", method: method) == nil)
    }

    @Test("Each file goes with its type; one that is not there is a 404")
    func files() throws {
        let types = ["mjs": "text/javascript", "css": "text/css", "svg": "image/svg+xml"]
        for file in PageFile.embedded where file.name != "index.html" {
            let found = try #require(answer("/.page/\(file.name)"))
            #expect(found.status == 200 && !found.body.isEmpty)
            let ending = String(file.name.split(separator: ".").last!)
            let type = try #require(types[ending])
            #expect(found.header("Content-Type")?.hasPrefix(type) == true)
        }
        #expect(answer("/.page/nothing.mjs")?.status == 404)
        #expect(answer("/.page/../secret")?.status == 404)
    }

    @Test("All that the page and its modules name is there")
    func references() {
        let names = Set(PageFile.embedded.map(\.name))
        for file in PageFile.embedded {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for match in text.matches(of: /(?:from "\.|"\/\.page)\/([\w.]+)"/) {
                #expect(names.contains(String(match.output.1)), "\(file.name): \(match.output.1)")
            }
        }
    }

    @Test("A file that the browser has is not sent again")
    func unchanged() throws {
        let tag = try #require(answer("/.page/style.css")?.header("ETag"))
        let again = try #require(answer("/.page/style.css", tag: tag))
        #expect(again.status == 304 && again.body.isEmpty)
        #expect(answer("/.page/style.css", tag: "\"other\"")?.status == 200)
    }

    @Test("The policy lets nothing in from elsewhere and nothing stand in line")
    func policy() throws {
        for target in ["/", "/.page/worker.mjs"] {
            let page = try #require(answer(target, accept: browser))
            let policy = try #require(page.header("Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; "))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(policy.contains("require-trusted-types-for 'script'"))
            for word in ["unsafe", "http", "*", "data:", "blob:"] {
                #expect(!policy.contains(word), "\(word)")
            }
            #expect(page.header("X-Content-Type-Options") == "nosniff")
            // No other site may read it, whatever the tree says of its nodes.
            #expect(page.header("Access-Control-Allow-Origin") == nil)
        }
    }

    @Test("Nothing in the page's files needs what the policy forbids")
    func inline() {
        for file in PageFile.embedded {
            let text = String(decoding: file.bytes, as: UTF8.self)
            #expect(!text.contains(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/))
            #expect(!text.contains(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/), "\(file.name)")
            guard file.name == "index.html" else { continue }
            #expect(!text.contains(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/))
        }
    }

    @Test("The demo's page knows that it is the demo's")
    func mode() throws {
        let tree = try #require(answer("/", accept: browser))
        let demo = try #require(answer("/", accept: browser, mode: .demo))
        #expect(String(decoding: tree.body, as: UTF8.self).contains("data-mode=\"tree\""))
        #expect(String(decoding: demo.body, as: UTF8.self).contains("data-mode=\"demo\""))
        #expect(tree.header("ETag") != demo.header("ETag"))
    }
}

extension PageAnswer {
    fileprivate func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
